"""Keeps sessions of several peers: who takes part, who observes whom, and what each of them says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentcore.domain.conversation import Turn
from agentcore.domain.scope import Scope
from agentcore.domain.session_peer import SessionPeer, observers_of
from agentcore.domain.text import MAX_TURN
from agentcore.errors import InvalidOptionsError, UnknownRecordError
from agentcore.hosting.checks import clean_instant, clean_member, clean_name, clean_text
from agentcore.hosting.conversation import Role, role_trusts
from agentcore.hosting.switches import UNCHANGED, Setting, Switchboard, clean_setting
from agentcore.stores.values import SwitchLevel, SwitchSetting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from agentcore.hosting.fan_out import FanOut
    from agentcore.hosting.options import ConversationOptions
    from agentcore.ids import IdFactory
    from agentcore.stores.storage import ReadView, Storage, UnitOfWork


class PeerSessions:
    """Opens sessions of several peers, in whatever workspace; lives as long as the host.

    Args:
        storage: Where they are kept.
        ids: Names new turns.
        fan_out: Brings what is said to those who observe it.
        options: How far turns are trusted.
    """

    def __init__(
        self, storage: Storage, *, ids: IdFactory, fan_out: FanOut, options: ConversationOptions | None = None
    ) -> None:
        self.storage = storage
        self.ids = ids
        self.fan_out = fan_out
        self.trust = role_trusts(options)

    async def open(
        self,
        session_id: str,
        *,
        workspace: str,
        peers: Iterable[SessionPeer | str] = (),
        dream: Setting = UNCHANGED,
        learning: Setting = UNCHANGED,
    ) -> PeerSession:
        """Return a session, with these peers in it beside those who are; see `Host.session`."""
        named = clean_name("session id", session_id)
        joining = [_checked(workspace, one) for one in peers]
        switch = SwitchSetting(level=SwitchLevel.SHARED_SESSION, session_id=named)
        clean_setting(dream=dream, learning=learning)

        def told(view: ReadView) -> tuple[tuple[SessionPeer, ...], SwitchSetting]:
            switched = view.switches.shared_session(named)
            return tuple(view.fan_out.sessions.of_session(named)), switched or switch

        def work(unit: UnitOfWork) -> None:
            for one in joining:
                unit.fan_out.sessions.put(one, named)

        place = _place(workspace)
        if joining:
            await self.storage.write(place, work)
        if not dream is learning is UNCHANGED:
            await Switchboard(self.storage).configure(place, switch, dream=dream, learning=learning)
        members, found = await self.storage.read(place, told)
        return PeerSession(
            id=named, workspace=workspace, peers=members, dream=found.dream, learning=found.learning, sessions=self
        )

    async def peer(self, name: str, *, workspace: str, observe_me: Setting = UNCHANGED) -> SessionPeer:
        """Return what holds of a peer wherever its session says nothing; see `Host.peer`."""
        one = _checked(workspace, name)
        clean_setting(observe_me=observe_me)

        def found(view: ReadView) -> SessionPeer:
            return view.fan_out.sessions.everywhere(one.name)

        def work(unit: UnitOfWork) -> SessionPeer:
            said = replace(found(unit), observe_me=observe_me)
            unit.fan_out.sessions.put(said)
            return said

        place = _place(workspace)
        return await (self.storage.read(place, found) if observe_me is UNCHANGED else self.storage.write(place, work))


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSession:
    """A session of several peers as it stands; what is changed is told by the session that is returned.

    Args:
        id: Its id, in the workspace.
        workspace: The tenant or application.
        peers: Who takes part, by name.
        dream: Whether it brings dreams about; None leaves it to the wider levels.
        learning: Whether anything is learnt from what is said in it; None leaves it to the wider levels.
        sessions: What it is kept with.
    """

    id: str
    workspace: str
    peers: tuple[SessionPeer, ...]
    dream: bool | None
    learning: bool | None
    sessions: PeerSessions

    async def append(
        self,
        peer: str,
        content: str,
        *,
        role: str = "user",
        occurred_at: datetime | None = None,
        learning: bool | None = None,
    ) -> Turn:
        """Log what one of the peers says, in its own scope `workspace/peer/peer`; observers are told of it soon after.

        Args:
            peer: Who says it; one who takes part.
            content: The text, at most 6,000,000 characters.
            role: `user` for people, `assistant` for agents, or `system` or `tool`.
            occurred_at: When it was said, aware; None is now.
            learning: Whether anything is learnt from it, whatever session and workspace say; None leaves it to them.

        Raises:
            UnknownRecordError: nobody of that name takes part.
            InvalidContentError: something cannot be stored; nothing was.
        """
        scope = self.scope(peer)
        clean_setting(learning=learning)
        spoken_by = clean_member(Role, "role", role)
        text, said_at = clean_text("content", content, most=MAX_TURN), clean_instant(occurred_at)

        def work(unit: UnitOfWork) -> Turn:
            speaker, observers = self._members(unit, peer)
            turn = Turn(
                id=self.sessions.ids.new(),
                scope=scope,
                session_id=self.id,
                role=spoken_by.value,
                content=text,
                speaker=peer,
                occurred_at=said_at or unit.now,
                recorded_at=unit.now,
                trust=self.sessions.trust[spoken_by],
                observers=observers,
                learning=False if speaker.observe_me is False else learning,
            )
            unit.fan_out.expect(observers)
            unit.turns.add([turn])
            return turn

        said = await self.sessions.storage.write(scope, work)
        if said.observers:
            self.sessions.fan_out.wake()
        return said

    def _members(self, unit: UnitOfWork, peer: str) -> tuple[SessionPeer, tuple[str, ...]]:
        """Return a peer as it takes part now, and who observes it."""
        members = {one.name: one for one in unit.fan_out.sessions.of_session(self.id)}
        speaker = members.get(peer)
        if speaker is None:
            raise UnknownRecordError(kind="peer", value=peer)
        return speaker, observers_of(speaker, members.values())

    async def add(self, *peers: SessionPeer | str) -> PeerSession:
        """Have peers take part from now on, or change what holds of those who do."""
        return await self.sessions.open(self.id, workspace=self.workspace, peers=peers)

    async def remove(self, *names: str) -> PeerSession:
        """Have peers take part no longer; what they said and observed stays.

        Raises:
            UnknownRecordError: nobody of that name takes part.
        """

        def work(unit: UnitOfWork) -> None:
            for name in names:
                if not unit.fan_out.sessions.remove(name, self.id):
                    raise UnknownRecordError(kind="peer", value=name)

        await self.sessions.storage.write(_place(self.workspace), work)
        return await self.sessions.open(self.id, workspace=self.workspace)

    def scope(self, observed: str, *, by: str | None = None) -> Scope:
        """Return the scope of what *by* knows of *observed*; of what the peer's own memory holds where *by* is None.

        Raises:
            InvalidScopeError: no peer can have that name.
        """
        return Scope(self.workspace, observed if by is None else by, observed)


def _place(workspace: str) -> Scope:
    """Return a scope by which the workspace is written to; nothing is kept in it."""
    default = Scope.default()
    return Scope(workspace, default.observer, default.observed)


def _checked(workspace: str, peer: SessionPeer | str) -> SessionPeer:
    one = SessionPeer(name=peer) if isinstance(peer, str) else peer
    Scope(workspace, one.name, one.name)
    clean_setting(observe_me=one.observe_me)
    if one.observe_others not in {True, False}:
        raise InvalidOptionsError(field="observe_others", value=one.observe_others, allowed="give True or False")
    return one
