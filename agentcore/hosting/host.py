"""Holds the services of an agent, living together from `async with` to its end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, Unpack

from agentcore.domain.scope import Scope
from agentcore.errors import ServiceMissingError
from agentcore.hosting.lifecycle import Lifecycle
from agentcore.hosting.switches import UNCHANGED, addressed
from agentcore.stores.sql.sql_storage import SqlStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta
    from pathlib import Path

    from agentcore.clock import Clock
    from agentcore.domain.capability import Capability
    from agentcore.domain.session_peer import SessionPeer
    from agentcore.hosting.context import Context
    from agentcore.hosting.conversation import Conversation
    from agentcore.hosting.erasing import Eraser, ErasureCertificate
    from agentcore.hosting.feedback import FeedbackLog
    from agentcore.hosting.lifecycle import HostedService
    from agentcore.hosting.memory import Memory
    from agentcore.hosting.off_limits import OffLimits
    from agentcore.hosting.peer_session import PeerSession, PeerSessions
    from agentcore.hosting.services import HostServices
    from agentcore.hosting.skills import Skills
    from agentcore.hosting.switches import Setting, Switchboard
    from agentcore.hosting.tokens import AccessTokens
    from agentcore.hosting.tool_calls import ToolCallLog
    from agentcore.hosting.tools.agent_tools import AgentTools, ToolArguments
    from agentcore.hosting.wisps import WispLog
    from agentcore.hosting.workspace import AgentWorkspace
    from agentcore.llm.gate import BusyGate
    from agentcore.stores.sql.backup import Backup
    from agentcore.stores.storage import Storage
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

    @cached_property
    def dreams(self) -> Dreams:
        """What tends the memory in idle time."""
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
            workspace: All scopes of a workspace instead.
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


class Host(Lifecycle):
    """An agent's services; built by `AgentHostBuilder`, alive within `async with`, used once.

    The services it carries itself are the default scope's; `for_scope` gives another's. How it starts and stops,
    and which errors leave the block, is said at `Lifecycle`.

    Args:
        parts: What the services are made of.
        factories: What makes the services.
        services: What is started, in this order, and stopped in reverse.
        shutdown_timeout: The time all stops together may take.
    """

    def __init__(
        self,
        *,
        parts: HostServices,
        factories: ServiceFactories,
        services: Sequence[HostedService],
        shutdown_timeout: timedelta,
    ) -> None:
        super().__init__(services, shutdown_timeout=shutdown_timeout)
        self._parts = parts
        self._factories = factories
        self._default = ScopedHost(Scope.default(), factories)

    def __repr__(self) -> str:
        """Tell where the host stands and what it was built with."""
        return f"<Host {self.state.value}: {', '.join(sorted(one.value for one in self.capabilities))}>"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What the host was built with."""
        return self._parts.capabilities

    @property
    def clock(self) -> Clock:
        """Where instants come from."""
        return self._parts.clock

    @property
    def gate(self) -> BusyGate:
        """Tells dreams that a person is being served; see `BusyGate.foreground`."""
        return self._parts.gate

    @property
    def storage(self) -> Storage:
        """Where everything is kept; open within `async with`."""
        return self._parts.storage

    @cached_property
    def tokens(self) -> AccessTokens:
        """The bearer tokens of its clients, for all scopes."""
        from agentcore.hosting.tokens import AccessTokens  # noqa: PLC0415 - hosts that serve nobody have none

        return AccessTokens(self._parts.storage, clock=self._parts.clock)

    async def erase(
        self,
        scope: Scope | None = None,
        *,
        workspace: str | None = None,
        observed: str | None = None,
        preview: bool = False,
    ) -> ErasureCertificate:
        """Remove for good all that a scope holds, or all scopes of a workspace, or all that are about a peer.

        Records, books, documents of workspaces and files of indexes go; a dream on one of them is stopped. What is
        left is that it happened: an older export brings nothing back, and a restored backup has to erase it again.

        Args:
            scope: The one scope.
            workspace: All scopes of a workspace; with *observed*, those of them that are about a peer.
            observed: All scopes that are about this peer.
            preview: Change nothing, and return what would go.

        Returns:
            What went, by kind, and what is beyond reach.

        Raises:
            InvalidOptionsError: neither a scope nor the others are given, or both.

        Example:
            >>> import asyncio
            >>> from agentcore import AgentHostBuilder
            >>> async def main() -> None:
            ...     async with AgentHostBuilder(None).with_memory().build() as host:
            ...         await host.memory.remember("Ana likes tea.")
            ...         print((await host.erase(host.memory.scope)).removed["entries"], await host.memory.count())
            >>> asyncio.run(main())
            1 0
        """
        eraser = self._factories.eraser
        chosen = await eraser.chosen(scope, workspace=workspace, observed=observed)
        return await (eraser.preview(chosen) if preview else eraser.erase(chosen))

    def for_scope(self, scope: Scope | str) -> ScopedHost:
        """Return the same services bound to *scope*, which may be written as `workspace/observer/observed`."""
        return ScopedHost(Scope.parse(scope) if isinstance(scope, str) else scope, self._factories)

    @property
    def memory(self) -> Memory:
        """The default scope's memory."""
        return self._default.memory

    @property
    def conversation(self) -> Conversation:
        """The default scope's conversation log."""
        return self._default.conversation

    @property
    def skills(self) -> Skills:
        """The default scope's skills."""
        return self._default.skills

    @property
    def feedback(self) -> FeedbackLog:
        """The default scope's feedback."""
        return self._default.feedback

    @property
    def wisps(self) -> WispLog:
        """The default scope's wisp runs."""
        return self._default.wisps

    @property
    def tool_calls(self) -> ToolCallLog:
        """The default scope's tool calls."""
        return self._default.tool_calls

    @property
    def workspace(self) -> AgentWorkspace:
        """The default scope's documents."""
        return self._default.workspace

    @property
    def context(self) -> Context:
        """What a turn of the default scope should see."""
        return self._default.context

    @property
    def desk(self) -> Desk:
        """What a person does to the default scope's memory by hand."""
        return self._default.desk

    @property
    def card(self) -> Card:
        """The default scope's peer card."""
        return self._default.card

    @property
    def hypotheses(self) -> Hypotheses:
        """What dreams guessed about the default scope, kept beside the memory until somebody decides."""
        return self._default.hypotheses

    @property
    def claims(self) -> Claims:
        """The default scope's claims, on their way to become facts."""
        return self._default.claims

    @property
    def dreams(self) -> Dreams:
        """The default scope's dreams."""
        return self._default.dreams

    @property
    def off_limits(self) -> OffLimits:
        """The default scope's off-limits topics."""
        return self._default.off_limits

    async def configure(
        self,
        where: Scope | str | None = None,
        *,
        workspace: str | None = None,
        dream: Setting = UNCHANGED,
        learning: Setting = UNCHANGED,
    ) -> SwitchSetting:
        """Switch dreams or learning off and on, of a scope or a session of the default one; see `ScopedHost`."""
        return await self._default.configure(where, workspace=workspace, dream=dream, learning=learning)

    async def backup(self, folder: Path | None = None) -> Backup:
        """Back up the memory of all scopes as it is now, while it is in use, and read the copy back.

        The key of forgotten texts, settings, directives and documents of workspaces are no part of it.

        Args:
            folder: Where to; by default a folder beside the data directory.

        Raises:
            StorageUnavailableError: the memory is in no file, or the folder cannot be written.
        """
        storage = self._parts.storage
        if not isinstance(storage, SqlStorage):
            raise ServiceMissingError(service="backup", method="with_storage")
        return await storage.backup(folder)

    async def session(
        self,
        session_id: str,
        *,
        workspace: str = "default",
        peers: Iterable[SessionPeer | str] = (),
        dream: Setting = UNCHANGED,
        learning: Setting = UNCHANGED,
    ) -> PeerSession:
        """Open a session in all scopes of a workspace, and have these peers take part beside those who do.

        Args:
            session_id: Its id, in the workspace.
            workspace: The tenant or application.
            peers: Their names, or what holds of them there beside: who may be observed, and who observes others.
            dream: Whether it brings dreams about; see `configure`.
            learning: Whether anything is learnt from what is said in it.
        """
        opened = self._factories.peer_sessions.open
        return await opened(session_id, workspace=workspace, peers=peers, dream=dream, learning=learning)

    async def peer(self, name: str, *, workspace: str = "default", observe_me: Setting = UNCHANGED) -> SessionPeer:
        """Say, or ask, whether a peer may be observed where its session says nothing; True if nothing was ever said."""
        return await self._factories.peer_sessions.peer(name, workspace=workspace, observe_me=observe_me)

    def tools(self, **settings: Unpack[ToolArguments]) -> AgentTools:
        """Return what the agent's model may do with the default scope; see `ScopedHost.tools`."""
        return self._default.tools(**settings)


def _present(service: T | None, name: str, method: str) -> T:
    if service is None:
        raise ServiceMissingError(service=name, method=method)
    return service
