"""Holds the services of an agent, living together from `async with` to its end."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Unpack

from agentcore.domain.scope import Scope
from agentcore.errors import ServiceMissingError
from agentcore.hosting.lifecycle import Lifecycle
from agentcore.hosting.scoped_host import ScopedHost, ServiceFactories
from agentcore.hosting.switches import UNCHANGED
from agentcore.stores.sql.sql_storage import SqlStorage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta
    from pathlib import Path

    from agentcore.clock import Clock
    from agentcore.domain.capability import Capability
    from agentcore.domain.session_peer import SessionPeer
    from agentcore.hosting.context import Context
    from agentcore.hosting.conversation import Conversation
    from agentcore.hosting.erasing import ErasureCertificate
    from agentcore.hosting.feedback import FeedbackLog
    from agentcore.hosting.lifecycle import HostedService
    from agentcore.hosting.memory import Memory
    from agentcore.hosting.off_limits import OffLimits
    from agentcore.hosting.peer_session import PeerSession
    from agentcore.hosting.representation import Representation, Wanted
    from agentcore.hosting.services import HostServices
    from agentcore.hosting.skills import Skills
    from agentcore.hosting.switches import Setting
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

    async def representation(
        self, scope: Scope | str, query: str | None = None, **wanted: Unpack[Wanted]
    ) -> Representation:
        """Return what is known of the peer of a scope: its card, then entries (see `Memory.representation`)."""
        return await self.for_scope(scope).memory.representation(query, **wanted)

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
        """Back up the memory of all scopes as it is now, while it is in use, read the copy back, and tell where it is.

        The key of forgotten texts, settings, directives and documents of workspaces are no part of it.

        Args:
            folder: Where to; by default a folder beside the data directory.

        Raises:
            StorageUnavailableError: the memory is in no file, or the folder cannot be written.
        """
        return await self._sql_storage("backup").backup(folder)

    async def require_writable(self) -> None:
        """Try whether something can be written to the database now.

        Raises:
            StorageError: it is full, read-only, locked, or of another version by now.
        """
        await self._sql_storage("database").require_writable()

    def _sql_storage(self, service: str) -> SqlStorage:
        storage = self._parts.storage
        if not isinstance(storage, SqlStorage):
            raise ServiceMissingError(service=service, method="with_storage")
        return storage

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
