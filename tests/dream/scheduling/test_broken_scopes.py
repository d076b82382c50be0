"""One scope's failure ends no other's dreams: each way of being broken beside a scope that is well, through a day."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dreaming import NOW

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import EntryFilter
from agentcore.errors import AgentcoreError, StorageUnavailableError, StorageUnreachableError
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from dream import DreamOptions, RunReport
from dream.domain import Outcome

GOOD, BAD = Scope("acme", "agent", "good"), Scope("acme", "agent", "bad")
HOUR = timedelta(hours=1)


@dataclass
class Trouble:
    """What is wrong with the bad scope."""

    root: Path
    folders: dict[Scope, Path] = field(default_factory=dict[Scope, Path])
    raises: Exception | None = None
    refuses: Exception | None = None

    def folder(self, scope: Scope) -> Path | None:
        if scope == BAD and self.raises is not None:
            raise self.raises
        return self.folders.get(scope)


class PartlyBrokenStorage(SqlStorage):
    """A storage that refuses one scope, once it is told to."""

    def __init__(self, trouble: Trouble, clock: ManualClock) -> None:
        super().__init__(None, clock=clock)
        self._trouble = trouble

    async def read(self, scope: Any, work: Any) -> Any:
        self._refuse(scope)
        return await super().read(scope, work)

    async def write(self, scope: Any, work: Any, **told: Any) -> Any:
        self._refuse(scope)
        return await super().write(scope, work, **told)

    def _refuse(self, scope: Scope) -> None:
        if scope == BAD and self._trouble.refuses is not None:
            raise self._trouble.refuses


def link_to_itself(trouble: Trouble) -> None:
    (trouble.folders[BAD] / "MEMORY.md").symlink_to("MEMORY.md")


def file_for_parent(trouble: Trouble) -> None:
    (trouble.root / "gone").write_text("This was a folder.")
    trouble.folders[BAD] = trouble.root / "gone" / "bad"


def looping_folder(trouble: Trouble) -> None:
    (trouble.root / "loop").symlink_to(trouble.root / "loop")
    trouble.folders[BAD] = trouble.root / "loop" / "bad"


def name_too_long(trouble: Trouble) -> None:
    trouble.folders[BAD] = trouble.root / ("x" * 300)


def raising_function(trouble: Trouble) -> None:
    trouble.raises = KeyError("no such tenant")


def memory_is_a_folder(trouble: Trouble) -> None:
    (trouble.folders[BAD] / "MEMORY.md").mkdir()


def store_refuses_it(trouble: Trouble) -> None:
    trouble.refuses = StorageUnavailableError(path="here", problem="is broken", remedy="mend it")


def store_raises_anything(trouble: Trouble) -> None:
    trouble.refuses = ZeroDivisionError("a mistake of the program")


OF_THE_WORKSPACE = {
    link_to_itself: "MEMORY.md cannot be read: too many levels of symbolic links; check the folder",
    file_for_parent: "cannot be a workspace: not a directory; check the folder",
    looping_folder: "cannot be a workspace: too many levels of symbolic links; check the folder",
    name_too_long: "cannot be a workspace: file name too long; check the folder",
    raising_function: "the function given to with_workspace failed (KeyError: 'no such tenant'); mend it",
    memory_is_a_folder: "MEMORY.md cannot be read: it is no file; move it out of the workspace",
}
OF_THE_STORE = {
    store_refuses_it: "is broken: mend it",
    store_raises_anything: "ZeroDivisionError: a mistake of the program",
}


@dataclass
class Day:
    """What a host's service did in a day."""

    reports: list[RunReport]
    folder: Path
    active: list[str]
    said: list[str] = field(default_factory=list[str])

    def of(self, scope: Scope) -> list[tuple[Any, ...]]:
        """The scope's dreams: when, why and what each pass did."""
        return [
            (run.started_at, run.trigger, run.outcome, [(one.name, one.outcome, one.accepted) for one in run.passes])
            for run in self.reports
            if run.scope == scope
        ]


async def a_day(root: Path, trouble: Callable[[Trouble], None] | None, *, has_bad: bool = True) -> Day:
    """Let a host with both scopes live through a day, something new on each of them every five hours."""
    known = Trouble(root)
    for scope in (GOOD, BAD):
        known.folders[scope] = root / scope.observed
        known.folders[scope].mkdir(parents=True)
    clock = ManualClock(NOW)
    storage = PartlyBrokenStorage(known, clock)
    builder = AgentHostBuilder(None, clock=clock).with_storage(storage).with_memory().with_workspace(known.folder)
    day = Day([], known.folders[GOOD], [])
    async with builder.with_dreaming(DreamOptions()).build() as host:
        host.dreams.on_report(day.reports.append)
        scopes = [GOOD, BAD] if has_bad else [GOOD]
        for number in range(5):
            for scope in reversed(scopes):
                if number and scope == BAD and trouble in OF_THE_STORE:
                    continue
                await host.for_scope(scope).memory.remember(f"Ana likes tea number {number}")
                await host.for_scope(scope).memory.remember(f"Ana likes tea number {number}.")
            if trouble is not None and number == 0:
                trouble(known)
            await pass_time(host, clock, 5 * HOUR)
        day.said = await what_it_says(host) if has_bad else []
        found = await host.storage.read(GOOD, lambda view: view.entries.select(EntryFilter()))
        day.active = sorted(entry.content for entry in found)
        assert host.dreams.service is not None
        assert host.dreams.service.failure is None
    return day


async def what_it_says(host: Host) -> list[str]:
    """What explain, status and a run say of the bad scope."""
    dreams = host.for_scope(BAD).dreams
    said: list[str] = []
    asks: list[Callable[[], Any]] = [dreams.explain, dreams.status, dreams.run]
    for ask in asks:
        try:
            told = await ask()
        except AgentcoreError as error:
            said.append(str(error))
        else:
            if isinstance(told, RunReport):
                said.append("; ".join(str(one.reason) for one in told.passes))
            else:
                said.append(" ".join(getattr(told, "schedule", told).warnings))
    return said


async def pass_time(host: Host, clock: ManualClock, duration: timedelta) -> None:
    end = clock.now() + duration
    while clock.now() < end:
        await settle(clock)
        clock.advance(min(timedelta(minutes=20), end - clock.now()))
    await settle(clock)


async def settle(clock: ManualClock) -> None:
    """Wait until the service sleeps, and nothing wakes it for a while."""
    for _ in range(3):
        await asyncio.sleep(0.004)
    for _ in range(500):
        if clock.sleepers >= 1 and not _busy():
            return
        await asyncio.sleep(0.002)


def _busy() -> bool:
    return any(task.get_name().startswith("dream-") for task in asyncio.all_tasks())


_ALONE: list[Day] = []


@pytest.fixture
async def alone(tmp_path_factory: pytest.TempPathFactory) -> Day:
    """The day of the good scope without the other."""
    if not _ALONE:
        _ALONE.append(await a_day(tmp_path_factory.mktemp("alone"), None, has_bad=False))
    return _ALONE[0]


@pytest.mark.parametrize(("trouble", "sentence"), [*OF_THE_WORKSPACE.items(), *OF_THE_STORE.items()])
async def test_a_scope_that_is_broken_in_whatever_way_costs_its_neighbour_no_dream_and_says_what_is_wrong(
    trouble: Callable[[Trouble], None],
    sentence: str,
    alone: Day,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
):
    day = await a_day(tmp_path, trouble)
    assert len(alone.of(GOOD)) >= 5
    assert day.of(GOOD) == alone.of(GOOD)
    assert day.active == alone.active
    assert len(day.said) == 3
    for told in day.said:  # by explain, by status, by a run
        assert sentence in told
    if trouble in OF_THE_WORKSPACE:
        by_themselves = [run[:3] for run in day.of(BAD) if run[1] != "manual"]
        assert by_themselves == [run[:3] for run in day.of(GOOD)]
        return
    assert day.of(BAD) == []
    failed = [record.__dict__["scope"] for record in caplog.records if record.message.startswith("dream_failed ")]
    # It backs off: a minute, then twice as long each time up to an hour.
    assert 5 <= len(failed) <= 40
    assert set(failed) == {str(BAD)}


async def test_a_scope_that_failed_outside_its_passes_tells_why_until_a_dream_succeeds(
    tmp_path: Path,
):
    known = Trouble(tmp_path)
    clock = ManualClock(NOW)
    builder = AgentHostBuilder(None, clock=clock).with_storage(PartlyBrokenStorage(known, clock))
    async with builder.with_memory().with_dreaming().build() as host:
        bad = host.for_scope(BAD)
        await bad.memory.remember("Ana likes tea")
        store_refuses_it(known)
        await pass_time(host, clock, HOUR)
        known.refuses = None
        told = await bad.dreams.explain()
        assert told.failures >= 3
        assert [warning for warning in told.warnings if "is broken: mend it" in warning]
        assert [gate.name.value for gate in told.waits_for] == ["back_off"]
        await pass_time(host, clock, 2 * HOUR)
        told = await bad.dreams.explain()
        assert (told.failures, told.warnings) == (0, ())
        (run,) = await bad.dreams.runs()
        assert isinstance(run.started_at, datetime)


class LosingStorage(SqlStorage):
    """A storage that loses its server in some transactions on the bad scope, once it is told in which."""

    left = 0
    lost: range = range(0)

    async def write(self, scope: Any, work: Any, **told: Any) -> Any:
        if scope == BAD:
            self.left -= 1
            if -self.left - 1 in self.lost:
                raise StorageUnreachableError(path="here", problem="is out of reach", remedy="wait")
        return await super().write(scope, work, **told)


@pytest.mark.parametrize("losses", [1, 4])
@pytest.mark.parametrize("write", range(7))
async def test_a_lost_connection_is_no_failure_of_the_scope_whose_dream_ends_when_its_server_is_back(
    write: int, losses: int
):
    clock = ManualClock(NOW)
    storage = LosingStorage(None, clock=clock)
    reports: list[RunReport] = []
    builder = AgentHostBuilder(None, clock=clock).with_storage(storage).with_memory()
    async with builder.with_dreaming().build() as host:
        host.dreams.on_report(reports.append)
        await host.for_scope(BAD).memory.remember("Ana likes tea")
        storage.left, storage.lost = 0, range(write, write + losses)
        while -storage.left <= write:
            await pass_time(host, clock, timedelta(minutes=10))
        assert losses > 1 or (await host.for_scope(BAD).dreams.explain()).failures == 0
        for _ in range(3 * losses):
            await pass_time(host, clock, timedelta(minutes=1))
    assert [one.outcome for one in reports] == [Outcome.COMPLETED]
