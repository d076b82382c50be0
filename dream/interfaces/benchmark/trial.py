"""Measures what a turn is given of one sample, by a host that never dreams and by one that does."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agentcore.clock import SystemClock
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.hosting.builder import AgentHostBuilder
from agentcore.hosting.host import Host
from agentcore.ids import IdFactory
from agentcore.llm.chat import ChatClient, estimate_tokens
from agentcore.stores.storage import ReadView
from agentcore.testing.ids import SequentialIds
from dream.domain.change import JournalRow
from dream.domain.report import PassOutcome, RunReport
from dream.interfaces.benchmark.qa import Side, ask_all
from dream.interfaces.benchmark.result import Cost, Result
from dream.interfaces.benchmark.samples import BenchmarkSample, SampleQuestion
from dream.interfaces.benchmark.spending import CountedClient
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.importer import import_file
from dream.options import DreamOptions, ModelOptions


def kinds_of_change(rows: Iterable[JournalRow]) -> Counter[str]:
    """Count the changes of a run by what happened to the record, such as `entry_archived`."""
    return Counter(f"{row.kind.value}_{_kind(row)}" for row in rows)


def _kind(row: JournalRow) -> str:
    if row.before is None or row.after is None:
        return "added" if row.before is None else "removed"
    before, after = row.record_before, row.record_after
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


SIDES: Final[tuple[str, str]] = ("without", "after")
"""What is compared: the memory and the log of a host that never dreams, and the same after its dreams."""
MOST_DREAMS: Final = 7
"""Dreams of a sample, one a day, unless an earlier one changes nothing."""
AFTERWARDS: Final = timedelta(days=1)
"""How long after a sample's last turn the first dream is, and how long after the one before each other."""
_QUESTIONS_AT: Final = (MOST_DREAMS + 1) * AFTERWARDS
"""How long after the last turn questions are asked that do not say when."""


_UNBOUNDED: Final = DreamOptions(model=ModelOptions(tokens_per_run=None, tokens_per_day=None))
"""What answers came first decides where a budget ends a dream; without one the same answers give the same figures."""


class StandingClock(SystemClock):
    """A clock on which no time passes, though waiting on it takes as long as it should; lives as long as a trial.

    Args:
        instant: What it shows until it is set.
    """

    def __init__(self, instant: datetime) -> None:
        self.instant = instant

    def now(self) -> datetime:
        """Return the instant."""
        return self.instant


@dataclass(frozen=True, slots=True)
class BenchmarkTrial:
    """One sample; lives as long as the measurement.

    Dreams are a day apart, the first a day after the sample's last turn, and ids are counted: the same sample and the
    same answers of a model give the same figures.

    Args:
        sample: What is measured.
        asked: Called after each question of each side.
    """

    sample: BenchmarkSample
    asked: Callable[[], None]

    async def result(self, model: ChatClient | None) -> Result:
        """Measure both sides, each with a host of its own; then dream once more, and undo."""
        watch = _CallCounter()
        async with self._hosted(None, dreams=False) as (host, clock):
            watch.lap("import")
            without = await self._ask(host, clock)
            watch.lap("questions")
        counted = None if model is None else CountedClient(model)
        async with self._hosted(counted, dreams=True) as (host, clock):
            before = await _export(host)
            watch.lap("import")
            reports = await self._dream(host, clock)
            watch.lap("dream")
            spent = self._spent(counted)
            cost = await _cost(host, reports) + spent
            watch.lap("replay_and_undo")
            after = await self._ask(host, clock)
            watch.lap("questions")
            cost = replace(cost, undone=int(await _undone(host, reports) == before))
            watch.lap("replay_and_undo")
        sides: dict[str, Side] = dict(zip(SIDES, (without, after), strict=True))
        return Result(name=self.sample.name, sides=sides, cost=cost, faults=self.sample.faults, seconds=watch.laps)

    @asynccontextmanager
    async def _hosted(self, model: ChatClient | None, *, dreams: bool) -> AsyncGenerator[tuple[Host, StandingClock]]:
        """Open a host in a folder of its own and import the sample."""
        ids, clock = SequentialIds(), StandingClock(self.sample.ended_at + AFTERWARDS)
        with TemporaryDirectory(prefix="dream-bench-") as folder:
            builder = AgentHostBuilder(Path(folder), clock=clock, ids=ids)
            builder.with_memory().with_skills().with_conversation_log().with_feedback()
            builder.with_wisps().with_tool_calls()
            if dreams:
                builder.with_dreaming(_UNBOUNDED, in_background=False)
            if model is not None:
                builder.with_llm(model)
            async with builder.build() as host:
                await import_sample(host, self.sample, ids)
                yield host, clock

    async def _dream(self, host: Host, clock: StandingClock) -> list[RunReport]:
        reports = [await host.dreams.run()]
        while reports[-1].changes and len(reports) < MOST_DREAMS:
            clock.instant += AFTERWARDS
            reports.append(await host.dreams.run())
        return reports

    def _spent(self, counted: CountedClient | None) -> Cost:
        """Return what the dreams sent beside what there was to read."""
        turns = self.sample.turns.values()
        return Cost(
            tokens_for=Counter() if counted is None else Counter(counted.spent),
            cached_tokens=0 if counted is None else counted.cached,
            turns=len(turns),
            told_tokens=sum(estimate_tokens(turn.content) for turn in turns),
        )

    async def _ask(self, host: Host, clock: StandingClock) -> Side:
        standing = self.sample.ended_at + _QUESTIONS_AT

        def at(question: SampleQuestion) -> None:
            clock.instant = max(standing, question.asked_at or standing)

        return await ask_all(host, self.sample, before=at, asked=self.asked)


async def import_sample(host: Host, sample: BenchmarkSample, ids: IdFactory) -> None:
    """Import a sample into a host's default scope."""
    await import_file(
        host.storage,
        Scope.default(),
        sample.path,
        file_format=sample.file_format,
        sample=sample.name if sample.file_format is Format.LOCOMO else None,
        clock=host.clock,
        ids=ids,
    )


async def measure(
    sample: BenchmarkSample, *, model: ChatClient | None, asked: Callable[[], None] = lambda: None
) -> Result:
    """Measure the dreams of one sample in temporary folders, which are gone afterwards.

    Args:
        sample: What to measure.
        model: What the dreams ask; None leaves the passes out that ask one.
        asked: Called after each question of each side.
    """
    return await BenchmarkTrial(sample, asked).result(model)


async def _export(host: Host) -> list[bytes]:
    lines: list[bytes] = []
    await export_scope(host.storage, Scope.default(), lines.append)
    return lines


async def _cost(host: Host, reports: Sequence[RunReport]) -> Cost:
    """Count what the dreams did; run once more, which should do nothing, and take that back."""
    changes, unsupported = Counter[str](), Counter[str]()
    for report in reports:
        rows = await host.dreams.diff(report.run_id)
        changes.update(kinds_of_change(rows))
        unsupported.update(
            await host.storage.read(Scope.default(), lambda view, rows=rows: unsupported_changes(view, rows))
        )
    again = await host.dreams.run()
    await host.dreams.undo(again.run_id)
    passes = [one for report in reports for one in report.passes]
    return Cost(
        outcomes=Counter(report.outcome.value for report in reports),
        failures=Counter(f"{one.name}: {one.reason}" for one in passes if one.outcome is PassOutcome.FAILED),
        changes=changes,
        refused=Counter(str(item.code) for one in passes for item in one.refused),
        calls=sum(one.calls for one in passes),
        input_tokens=sum(one.input_tokens for one in passes),
        output_tokens=sum(one.output_tokens for one in passes),
        backlog=sum(one.backlog for one in reports[-1].passes),
        unsupported=unsupported,
        replayed=again.changes,
        replay_calls=sum(one.calls for one in again.passes),
        samples=1,
    )


async def _undone(host: Host, reports: Sequence[RunReport]) -> list[bytes]:
    """Take the dreams back, the last one first, and return what is left."""
    for report in reversed(reports):
        await host.dreams.undo(report.run_id)
    return await _export(host)


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
