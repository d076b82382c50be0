"""A small world to dream in: one scope of a store, with a clock and ids that a test controls."""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentcore.domain import Capability, EntryFilter, MemoryEntry, Scope, Status, SubjectTime
from agentcore.hosting import ActivityRecorder, BusySource, BusyWatch, HostServices, Memory
from agentcore.ids import IdFactory
from agentcore.llm import BusyGate
from agentcore.recall import Recall
from agentcore.stores import Origin, Storage, UnitOfWork
from agentcore.testing import ManualClock, SequentialIds
from agentcore.workspace import Workspaces
from dream.cycle import Dreams, Runner
from dream.domain import JournalRow, PassReport, RunReport
from dream.interfaces.exchange import export_scope
from dream.options import DreamOptions
from dream.passes import DreamPass, PassSlot
from dream.stores import dream_stores

NOW = datetime(2025, 6, 14, 9, tzinfo=UTC)
DAY = timedelta(days=1)

_scopes = itertools.count()


def fresh_scope() -> Scope:
    return Scope("dreams", "agent", f"test-{next(_scopes)}")


@dataclass
class World:
    """Everything a dream needs, on one scope."""

    storage: Storage
    recall: Recall
    clock: ManualClock
    ids: IdFactory = field(default_factory=SequentialIds)
    gate: BusyGate = field(default_factory=BusyGate)
    scope: Scope = field(default_factory=fresh_scope)
    holder: str = "this-world"
    busy_sources: tuple[BusySource, ...] = ()
    options: DreamOptions = field(default_factory=DreamOptions)
    chat: Any = None
    capabilities: frozenset[Capability] = frozenset(Capability) - {Capability.LLM, Capability.WORKSPACE}
    workspaces: Workspaces | None = None
    data_dir: Path | None = None
    shares_endpoint: bool = False

    @property
    def parts(self) -> HostServices:
        return HostServices(
            storage=self.storage,
            clock=self.clock,
            ids=self.ids,
            gate=self.gate,
            activity=ActivityRecorder(storage=self.storage, clock=self.clock),
            watch=self.watch,
            chat=self.chat,
            recall=self.recall,
            capabilities=self.capabilities
            | ({Capability.LLM} if self.chat else set())
            | ({Capability.WORKSPACE} if self.workspaces else set()),
            workspaces=self.workspaces,
            data_dir=self.data_dir,
            shares_endpoint=self.shares_endpoint,
        )

    @property
    def watch(self) -> BusyWatch:
        return BusyWatch(
            storage=self.storage, clock=self.clock, gate=self.gate, holder=self.holder, sources=self.busy_sources
        )

    @property
    def dreams(self) -> Dreams:
        return Dreams(self.parts, self.options, self.scope)

    @property
    def memory(self) -> Memory:
        return Memory(self.scope, storage=self.storage, recall=self.recall, ids=self.ids)

    def elsewhere(self) -> "World":
        """Another scope of the same store."""
        return replace(self, scope=fresh_scope())

    def entry(self, content: str, **fields: Any) -> MemoryEntry:
        """An entry first said now, unless told otherwise; subject times may be given as text."""
        said = fields.setdefault("created_at", self.clock.now())
        if isinstance(fields.get("subject_time"), str):
            fields["subject_time"] = SubjectTime.parse(fields["subject_time"])
        given = {"id": self.ids.new(), "scope": self.scope, "recorded_at": said, "last_seen_at": said}
        return MemoryEntry(content=content, **(given | fields))

    async def add(self, *contents: str | MemoryEntry, **fields: Any) -> list[MemoryEntry]:
        """Store texts, each a minute after the one before, or entries as they are; return them."""
        start = fields.pop("created_at", self.clock.now())
        entries = [
            content
            if isinstance(content, MemoryEntry)
            else self.entry(content, created_at=start + timedelta(minutes=place), **fields)
            for place, content in enumerate(contents)
        ]
        await self.write(lambda unit: unit.entries.add(entries))
        return await self.by_id(entry.id for entry in entries)

    async def write(self, work: Callable[[UnitOfWork], Any], *, origin: Origin = Origin.HOST) -> Any:
        return await self.storage.write(self.scope, work, origin=origin)

    async def change(self, entry: MemoryEntry, *, origin: Origin = Origin.HOST, **fields: Any) -> MemoryEntry:
        """Rewrite what is stored under the entry's id."""
        stored = await self.get(entry)
        await self.write(lambda unit: unit.entries.replace([(stored, replace(stored, **fields))]), origin=origin)
        return await self.get(entry)

    async def get(self, entry: MemoryEntry | str) -> MemoryEntry:
        entry_id = entry if isinstance(entry, str) else entry.id
        found = await self.storage.read(self.scope, lambda view: view.entries.get(entry_id))
        assert found is not None, entry_id
        return found

    async def by_id(self, ids: Iterable[str]) -> list[MemoryEntry]:
        wanted = list(ids)
        stored = await self.storage.read(self.scope, lambda view: view.entries.get_many(wanted))
        found = {entry.id: entry for entry in stored}
        return [found[entry_id] for entry_id in wanted]

    async def entries(self, *statuses: Status) -> list[MemoryEntry]:
        """All entries in these states (in any, if none is named), by id."""
        where = EntryFilter(statuses=frozenset(statuses))
        found = await self.storage.read(self.scope, lambda view: view.entries.select(where))
        return sorted(found, key=lambda entry: entry.id)

    async def active(self) -> list[MemoryEntry]:
        return await self.entries(Status.ACTIVE)

    async def export(self) -> bytes:
        """The scope's export without its first line, which names the scope."""
        lines: list[bytes] = []
        await export_scope(self.storage, self.scope, lines.append)
        return b"".join(lines[1:])

    async def revision(self) -> int:
        return await self.storage.read(self.scope, lambda view: view.revision)

    async def journal(self) -> list[JournalRow]:
        """The journal of every run of the scope, oldest first."""
        runs = await self.dreams.runs(limit=1_000)
        return [row for run in reversed(runs) for row in await self.dreams.diff(run.run_id)]

    async def positions(self) -> dict[str, int | None]:
        """How far each pass has looked."""

        def read(view: Any) -> dict[str, int | None]:
            cursors = dream_stores(view).cursors
            return {name: cursors.position(name) for name in cursors.readers()}

        return await self.storage.read(self.scope, read)

    async def run_passes(self, *passes: DreamPass, **asked: Any) -> RunReport:
        """Run a cycle of these passes alone."""
        order = tuple(PassSlot(one, "a test asked for it") for one in passes)
        return await Runner(self.parts, self.options, order).run(self.scope, **asked)


def of_pass(report: RunReport, name: str) -> PassReport:
    """The report of one pass of a run."""
    return next(item for item in report.passes if item.name == name)


def codes(report: PassReport) -> list[str]:
    """The codes of what was refused, in order."""
    return [str(item.code) for item in report.refused]
