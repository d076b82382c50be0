"""Holds the services of one scope."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Unpack

from agentcore.domain.scope import Scope
from agentcore.errors import ServiceMissingError
from agentcore.hosting.switches import UNCHANGED, addressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentcore.hosting.context import Context
    from agentcore.hosting.conversation import Conversation
    from agentcore.hosting.erasing import Eraser
    from agentcore.hosting.feedback import FeedbackLog
    from agentcore.hosting.memory import Memory
    from agentcore.hosting.off_limits import OffLimits
    from agentcore.hosting.peer_session import PeerSessions
    from agentcore.hosting.skills import Skills
    from agentcore.hosting.switches import Setting, Switchboard
    from agentcore.hosting.tool_calls import ToolCallLog
    from agentcore.hosting.tools.agent_tools import AgentTools, ToolArguments
    from agentcore.hosting.wisps import WispLog
    from agentcore.hosting.workspace import AgentWorkspace
    from agentcore.stores.values import SwitchSetting
    from dream.cycle.card import Card
    from dream.cycle.claims import Claims
    from dream.cycle.desk import Desk
    from dream.cycle.dreams import Dreams
    from dream.cycle.hypotheses import Hypotheses

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFactories:
    """What makes each service of a scope, or None for one it was built without; the switchboard is of all scopes."""

    memory: Callable[[Scope], Memory | None]
    conversation: Callable[[Scope], Conversation | None]
    skills: Callable[[Scope], Skills | None]
    feedback: Callable[[Scope], FeedbackLog | None]
    wisps: Callable[[Scope], WispLog | None]
    tool_calls: Callable[[Scope], ToolCallLog | None]
    workspace: Callable[[Scope], AgentWorkspace | None]
    context: Callable[[Scope], Context | None]
    dreams: Callable[[Scope], Dreams | None]
    off_limits: Callable[[Scope], OffLimits]
    switchboard: Switchboard
    eraser: Eraser
    peer_sessions: PeerSessions


class ScopedHost:
    """The services of a host, bound to one scope; lives as long as the host, and is cheap to make anew.

    Every property raises `ServiceMissingError` where the host was built without the service. A service may be
    fetched at any time; using it outside `async with host` raises `HostNotStartedError`.

    Args:
        scope: Whose records they keep.
        factories: What makes them.
    """

    def __init__(self, scope: Scope, factories: ServiceFactories) -> None:
        self._scope = scope
        self._factories = factories

    @property
    def scope(self) -> Scope:
        """Whose records the services keep."""
        return self._scope

    @cached_property
    def memory(self) -> Memory:
        """What the agent knows."""
        return _present(self._factories.memory(self._scope), "memory", "with_memory")

    @cached_property
    def conversation(self) -> Conversation:
        """What was said."""
        return _present(self._factories.conversation(self._scope), "conversation log", "with_conversation_log")

    @cached_property
    def skills(self) -> Skills:
        """What the agent can look up."""
        return _present(self._factories.skills(self._scope), "skills", "with_skills")

    @cached_property
    def feedback(self) -> FeedbackLog:
        """How the agent did."""
        return _present(self._factories.feedback(self._scope), "feedback log", "with_feedback")

    @cached_property
    def wisps(self) -> WispLog:
        """What its wisps did."""
        return _present(self._factories.wisps(self._scope), "wisp log", "with_wisps")

    @cached_property
    def tool_calls(self) -> ToolCallLog:
        """What tools it called."""
        return _present(self._factories.tool_calls(self._scope), "log of tool calls", "with_tool_calls")

    @cached_property
    def workspace(self) -> AgentWorkspace:
        """The documents that it shares with its people."""
        return _present(self._factories.workspace(self._scope), "workspace", "with_workspace")

    @cached_property
    def context(self) -> Context:
        """What a turn should see of all that."""
        return _present(self._factories.context(self._scope), "context", "with_memory")

    @property
    def desk(self) -> Desk:
        """What a person does to the memory by hand: edits, merges, answers to questions."""
        return self.dreams.desk

    @property
    def card(self) -> Card:
        """The peer card: what is kept at hand about whomever the memory is about."""
        return self.dreams.card

    @property
    def hypotheses(self) -> Hypotheses:
        """What dreams guessed, until somebody decides."""
        return self.dreams.hypotheses

    @property
    def claims(self) -> Claims:
        """What was taken from what was said, on its way to become facts."""
        return self.dreams.claims

    @property
    def dreams(self) -> Dreams:
        """What tends the memory in idle time, by the options that are in force when it is fetched."""
        return _present(self._factories.dreams(self._scope), "dreams", "with_dreaming")

    @cached_property
    def off_limits(self) -> OffLimits:
        """The topics about which nothing is to be kept."""
        return self._factories.off_limits(self._scope)

    async def configure(
        self,
        where: Scope | str | None = None,
        *,
        workspace: str | None = None,
        dream: Setting = UNCHANGED,
        learning: Setting = UNCHANGED,
    ) -> SwitchSetting:
        """Switch dreams, or learning altogether, off and on again; stored, for every process.

        The narrowest level that says something decides: the scope before its workspace, before the options of the
        host. A session that is off does not bring a dream about, and nothing said in it enters a prompt.

        Args:
            where: A scope, the id of a session of this scope, or None for this scope itself.
            workspace: All scopes of a workspace instead; with the id of a session, that session in all of them.
            dream: Whether dreams tend it: True, False, or None for what the wider level says.
            learning: Whether anything is learnt from what is said and signalled there; without that there are no
                dreams. What came in while it was off is not learnt from later either.

        Returns:
            How the switch now stands.

        Raises:
            InvalidOptionsError: a setting, or what it is about, is not possible.
            InvalidContentError: no session can have that id.

        Example:
            >>> import asyncio
            >>> from agentcore import AgentHostBuilder
            >>> async def main() -> None:
            ...     async with AgentHostBuilder(None).with_conversation_log().build() as host:
            ...         print((await host.configure("session-7", learning=False)).learning)
            >>> asyncio.run(main())
            False
        """
        scope, switch = addressed(self._scope, where, workspace)
        return await self._factories.switchboard.configure(scope, switch, dream=dream, learning=learning)

    async def session(
        self, session_id: str, *, dream: Setting = UNCHANGED, learning: Setting = UNCHANGED
    ) -> SwitchSetting:
        """Set the switches of a session of this scope, before its first message or later; see `configure`."""
        return await self.configure(session_id, dream=dream, learning=learning)

    def tools(self, **settings: Unpack[ToolArguments]) -> AgentTools:
        """Return what the agent's model may do with the scope: a tool for each service the host was built with.

        Args:
            **settings: Any of `trust` (of what the model asks to remember; `Trust.INFERRED`), `session_id` (the
                conversation its feedback is about; `tools`), and `confirm_forget` (asks a person whether an entry shall
                be deleted for good; without it `forget` sets aside).

        Raises:
            InvalidContentError: a setting cannot have its value.
            TypeError: there is no such setting.

        Example:
            >>> from agentcore import AgentHostBuilder
            >>> AgentHostBuilder(None).with_memory().build().tools().names
            ('remember', 'recall', 'forget')
        """
        from agentcore.hosting.tools.agent_tools import AgentTools, ToolSettings  # noqa: PLC0415 - for models

        memory, feedback = self._factories.memory(self._scope), self._factories.feedback(self._scope)
        return AgentTools(
            memory,
            feedback,
            ToolSettings(**settings),
            workspace=self._factories.workspace(self._scope),
            dreams=self._factories.dreams(self._scope),
        )


def _present(service: T | None, name: str, method: str) -> T:
    if service is None:
        raise ServiceMissingError(service=name, method=method)
    return service
