"""Peers who talk in sessions, and a reader without a model: each turn that may be learnt from becomes a fact."""

from dataclasses import dataclass
from typing import Any

from agentcore import Host, MemoryEntry, Scope, SessionPeer, Turn
from agentcore.domain import SourceKind, SourceRef
from agentcore.hosting.fan_out import FanOut
from agentcore.stores import Storage

WORKSPACE = "acme"


def peer(name: str, *, me: bool | None = None, others: bool = False) -> SessionPeer:
    return SessionPeer(name=name, observe_me=me, observe_others=others)


def scope_of(observer: str, observed: str, workspace: str = WORKSPACE) -> Scope:
    return Scope(workspace, observer, observed)


@dataclass
class Company:
    """A host, and the peers of one workspace."""

    host: Host
    workspace: str = WORKSPACE

    @property
    def storage(self) -> Storage:
        return self.host._parts.storage

    @property
    def fan_out(self) -> FanOut:
        found = self.host._parts.fan_out
        assert found is not None
        return found

    async def session(self, session_id: str, *peers: SessionPeer | str, **settings: Any) -> Any:
        return await self.host.session(session_id, workspace=self.workspace, peers=peers, **settings)

    async def read(self, *names: str) -> None:
        """Learn from what these peers said: `ana: text` of each turn that no fact cites yet."""
        for name in names:
            scope = scope_of(name, name, self.workspace)
            if not await self.may_learn(name):
                continue
            turns = await self.storage.read(scope, _learnable)
            memory = self.host.for_scope(scope).memory
            for turn in turns:
                if not await self.storage.read(scope, lambda view, one=turn: _learnt(view, one)):
                    await memory.remember(turn.content, sources=[SourceRef(SourceKind.TURN, turn.id)])
            await self.fan_out.follow(scope)

    async def may_learn(self, name: str) -> bool:
        """Whether the gate of a peer's own scope lets dreams learn."""
        asked = await self.host.for_scope(scope_of(name, name, self.workspace)).dreams.explain()
        return {gate.name.value: gate.is_open for gate in asked.decision.gates}["learning"]

    async def knows(self, observer: str, observed: str) -> list[str]:
        """What *observer* knows of *observed*, sorted."""
        found = await self.host.for_scope(scope_of(observer, observed, self.workspace)).memory.list(limit=1_000)
        return sorted(entry.content for entry in found)

    async def heard(self, observer: str, observed: str) -> list[str]:
        """What *observer* can recall word by word."""
        scope = scope_of(observer, observed, self.workspace)
        pages = await self.host.for_scope(scope).conversation.page()
        return sorted(turn.content for turn in pages)

    async def entry(self, observer: str, observed: str, text: str) -> MemoryEntry:
        found = await self.host.for_scope(scope_of(observer, observed, self.workspace)).memory.list(status=None)
        (one,) = [entry for entry in found if entry.content == text]
        return one


def _learnable(view: Any) -> list[Turn]:
    rows = view.learnable.turns.material(after=0, also=(), limit=1_000)
    return list(view.turns.get_many([row.id for row in rows]))


def _learnt(view: Any, turn: Turn) -> bool:
    return bool(view.entries.derived_from(SourceKind.TURN.value, turn.id))
