"""Measures one sample before and after a real dream, in a temporary folder."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from agentcore.clock import SystemClock
from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry, SourceKind, SourceRef, Status
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.hosting.builder import AgentHostBuilder
from agentcore.hosting.host import Host
from agentcore.ids import IdFactory
from agentcore.llm.settings import ChatOptions
from agentcore.stores.storage import Origin, ReadView, UnitOfWork
from agentcore.testing.ids import SequentialIds
from dream.domain.change import JournalRow
from dream.domain.report import PassOutcome, RunReport
from dream.interfaces.benchmark.qa import Stage, ask_all
from dream.interfaces.benchmark.result import Cost, Result
from dream.interfaces.benchmark.samples import BenchmarkSample
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.importer import import_file


def kinds_of_change(rows: Iterable[JournalRow]) -> Counter[str]:
    """Count the changes of a run by what happened to the record, such as `entry_archived`."""
    return Counter(f"{row.kind.value}_{_kind(row)}" for row in rows)


def _kind(row: JournalRow) -> str:
    before, after = row.record_before, row.record_after
    if before is None or after is None:
        return "added" if before is None else "removed"
    if isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry):
        if before.status is not after.status:
            return "restored" if after.is_active else after.status.value
        return "updated" if before.content == after.content else "rewritten"
    return "updated"


def unsupported_changes(view: ReadView, rows: Sequence[JournalRow]) -> Counter[str]:
    """Count, by what is wrong, the changes of a run that rest on nothing; looked up in the stores, not in the report.

    Unsupported are: an entry added without a source (`no_source`), with one that is not there (`unknown_source`), or
    trusted more than one of them (`trust_raised`); an entry superseded by none (`no_successor`) or by one that is not
    there (`unknown_successor`); and a record that is gone (`removed`).
    """
    return Counter(fault for row in rows for fault in _faults(view, row))


def _faults(view: ReadView, row: JournalRow) -> Iterator[str]:
    if row.after is None:
        yield "removed"
    entry = row.record_after
    if row.kind is not RecordKind.ENTRY or not isinstance(entry, MemoryEntry):
        return
    if row.before is None:
        yield from _faults_of_origin(view, entry)
    if entry.status is Status.SUPERSEDED and entry.successor is None:
        yield "no_successor"
    if entry.successor is not None and view.entries.get(entry.successor) is None:
        yield "unknown_successor"


def _faults_of_origin(view: ReadView, entry: MemoryEntry) -> Iterator[str]:
    if not entry.sources:
        yield "no_source"
    named = {source.id for source in entry.sources if source.kind is SourceKind.ENTRY}
    parents = view.entries.get_many(named)
    turns = {source.id for source in entry.sources if source.kind is SourceKind.TURN}
    if len(parents) < len(named) or len(view.turns.get_many(turns)) < len(turns):
        yield "unknown_source"
    if any(parent.trust < entry.trust for parent in parents):
        yield "trust_raised"


STAGES = 3
"""Times each question is asked."""

AFTERWARDS = timedelta(days=1)
"""How long after a sample's last turn everything happens."""
_AS_SAID = Scope("bench", "agent", "turns")
"""Where the memory lies that holds the turns as they were said."""


class StandingClock(SystemClock):
    """A clock on which no time passes, though waiting on it takes as long as it should; lives as long as a trial.

    Args:
        instant: What it shows.
    """

    def __init__(self, instant: datetime) -> None:
        self._instant = instant

    def now(self) -> datetime:
        """Return the one instant."""
        return self._instant


@dataclass(frozen=True, slots=True)
class BenchmarkTrial:
    """One sample in one host; lives as long as the measurement.

    Everything in it happens a day after the sample's last turn, and ids are counted: the same sample and the same
    answers of a model give the same figures.

    Args:
        sample: What is measured.
        host: Its memory, new and empty.
        ids: Names the records.
        asked: Called after each question.
    """

    sample: BenchmarkSample
    host: Host
    ids: IdFactory
    asked: Callable[[], None]

    async def result(self) -> Result:
        """Import, measure, dream, measure, dream again, and undo."""
        watch = _CallCounter()
        turn_ids = await self._import()
        watch.lap("import")
        turns, before = await self._ask(turn_ids, _AS_SAID), await self._ask(turn_ids)
        export = await self._export()
        watch.lap("questions")
        report = await self.host.dreams.run()
        watch.lap("dream")
        after = await self._ask(turn_ids)
        watch.lap("questions")
        replaced = await self.host.storage.read(Scope.default(), _replaced)
        cost = await self._cost(report, export)
        watch.lap("replay_and_undo")
        return Result(
            name=self.sample.name,
            turns=turns,
            before=before.judged(replaced),
            after=after.judged(replaced),
            cost=cost,
            faults=self.sample.faults,
            seconds=watch.laps,
        )

    async def _import(self) -> dict[str, str]:
        """Import the sample, and its turns once more as entries of another memory; return the turns' ids."""
        storage, clock = self.host.storage, self.host.clock
        await import_file(
            storage,
            Scope.default(),
            self.sample.path,
            file_format=Format.LOCOMO,
            sample=self.sample.name,
            clock=clock,
            ids=self.ids,
        )
        sessions = await storage.read(Scope.default(), lambda view: _turns(view, self.sample.sessions))
        as_said = [self._entry(turn) for turns in sessions.values() for turn in turns]

        def add(unit: UnitOfWork) -> None:
            unit.entries.add(as_said)

        await storage.write(_AS_SAID, add, origin=Origin.IMPORT)
        found: dict[str, str] = {}
        for session, turns in sessions.items():
            for dialogue_id, turn in zip(self.sample.sessions[session], turns, strict=True):
                found.setdefault(dialogue_id, turn.id)
        return found

    def _entry(self, turn: Turn) -> MemoryEntry:
        said = turn.occurred_at
        return MemoryEntry(
            id=self.ids.new(),
            scope=_AS_SAID,
            content=f"[{said.day} {said:%B %Y}] {turn.speaker}: {turn.content}",
            created_at=said,
            recorded_at=turn.recorded_at,
            last_seen_at=said,
            sources=(SourceRef(SourceKind.TURN, turn.id),),
        )

    async def _ask(self, turn_ids: Mapping[str, str], scope: Scope | None = None) -> Stage:
        memory = self.host.for_scope(scope or Scope.default()).memory
        return await ask_all(self.host.storage, memory, self.sample.questions, turn_ids, self.asked)

    async def _export(self) -> list[bytes]:
        lines: list[bytes] = []
        await export_scope(self.host.storage, Scope.default(), lines.append)
        return lines

    async def _cost(self, report: RunReport, export: Sequence[bytes]) -> Cost:
        """Count what the run did, then run once more, undo both, and compare with the export from before."""
        dreams = self.host.dreams
        rows = await dreams.diff(report.run_id)
        unsupported = await self.host.storage.read(Scope.default(), lambda view: unsupported_changes(view, rows))
        replay = await dreams.run()
        for run in (replay, report):
            await dreams.undo(run.run_id)
        return Cost(
            outcomes=Counter([report.outcome.value]),
            failures=Counter(f"{one.name}: {one.reason}" for one in report.passes if one.outcome is PassOutcome.FAILED),
            changes=kinds_of_change(rows),
            refused=Counter(item.code for one in report.passes for item in one.refused),
            calls=sum(one.calls for one in report.passes),
            input_tokens=sum(one.input_tokens for one in report.passes),
            output_tokens=sum(one.output_tokens for one in report.passes),
            backlog=sum(one.backlog for one in report.passes),
            unsupported=unsupported,
            replayed=replay.changes,
            replay_calls=sum(one.calls for one in replay.passes),
            undone=int(await self._export() == export),
            samples=1,
        )


async def measure(
    sample: BenchmarkSample, *, model: ChatOptions | None, asked: Callable[[], None] = lambda: None
) -> Result:
    """Measure a dream of one sample in a temporary folder, which is gone afterwards.

    Args:
        sample: What to measure.
        model: Which model the dream asks; None leaves the passes out that ask one.
        asked: Called after each question, `STAGES` times as often as the sample has questions.
    """
    ids = SequentialIds()
    with TemporaryDirectory(prefix="dream-bench-") as folder:
        builder = AgentHostBuilder(Path(folder), clock=StandingClock(sample.ended_at + AFTERWARDS), ids=ids)
        builder.with_memory().with_skills().with_conversation_log().with_feedback()
        builder.with_wisps().with_tool_calls().with_dreaming(in_background=False)
        if model is not None:
            builder.with_llm(model)
        async with builder.build() as host:
            return await BenchmarkTrial(sample, host, ids, asked).result()


class _CallCounter:
    """Adds up where the time goes."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = asyncio.get_running_loop().time()

    def lap(self, name: str) -> None:
        """Count the time since the last lap under *name*."""
        now = asyncio.get_running_loop().time()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now


def _turns(view: ReadView, sessions: Mapping[str, Sequence[str]]) -> dict[str, list[Turn]]:
    return {name: view.turns.session(name) for name in sessions}


def _replaced(view: ReadView) -> set[str]:
    entries = view.entries.select(EntryFilter(statuses=frozenset()))
    return {entry.id for entry in entries if entry.successor is not None}
