"""Several at once: threads, storages on one file, processes, and callers who change their mind."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentcore.domain import EntryFilter
from agentcore.stores import FeedPosition, ReadView, UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, START, a_turn, an_entry

_HOLD_THE_LOCK = """
import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(0.2)
other.execute("UPDATE scopes SET observed = observed")
other.execute("COMMIT")
"""

_WRITE_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from agentcore.stores.sql.sql_storage import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, START, a_turn, an_entry

async def write_for_ever():
    storage = SqlStorage(Path(sys.argv[1]), clock=ManualClock(START))
    await storage.start()
    number = 0
    while True:
        number += 1
        entries = [an_entry(f"{number}-{part}", "Long. " * 500) for part in range(20)]
        await storage.write(SCOPE, lambda unit: (unit.entries.add(entries), unit.turns.add([a_turn(str(number))])))
        print(number, flush=True)

asyncio.run(write_for_ever())
"""


def child(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)


@pytest.fixture
def lock_holder(path: Path) -> Generator[Any]:
    """Start a process that holds the write lock for 200 ms; return once it does."""
    started: list[subprocess.Popen[str]] = []

    def start() -> None:
        process = child(_HOLD_THE_LOCK, path)
        started.append(process)
        assert process.stdout.readline() == "held\n"

    yield start
    for process in started:
        assert process.wait(timeout=10) == 0
        process.stdout.close()


async def test_a_foreground_write_waits_for_another_process_rather_than_fail(storage: SqlStorage, lock_holder: Any):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    lock_holder()
    assert await storage.read(SCOPE, lambda view: view.revision) == 1
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("b")]))
    assert await storage.read(SCOPE, lambda view: view.revision) == 2


async def test_reads_go_on_while_a_write_is_under_way(storage: SqlStorage):
    """The writer waits for what this loop does meanwhile: a stalled loop would never let it go."""
    begun, go_on = threading.Event(), threading.Event()

    def write_slowly(unit: UnitOfWork) -> None:
        unit.entries.add([an_entry("a")])
        begun.set()
        assert go_on.wait(10)

    writing = asyncio.create_task(storage.write(SCOPE, write_slowly))
    await asyncio.to_thread(begun.wait, 10)
    counts = [await storage.read(SCOPE, lambda view: view.entries.count(EntryFilter())) for _ in range(3)]
    go_on.set()
    await writing
    assert counts == [0, 0, 0]
    assert await storage.read(SCOPE, lambda view: view.entries.count(EntryFilter())) == 1


async def test_a_write_goes_on_while_reads_are_under_way(storage: SqlStorage):
    """And what they see stays what it was when they began."""
    begun, go_on = threading.Barrier(3), threading.Event()

    def read_slowly(view: ReadView) -> tuple[int, int]:
        before = view.entries.count(EntryFilter())
        begun.wait(10)
        assert go_on.wait(10)
        return before, view.entries.count(EntryFilter())

    reading = [asyncio.create_task(storage.read(SCOPE, read_slowly)) for _ in range(2)]
    await asyncio.to_thread(begun.wait, 10)
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    go_on.set()
    assert await asyncio.gather(*reading) == [(0, 0), (0, 0)]


async def test_work_never_runs_on_the_event_loops_thread(open_storage: Any, path: Path):
    for storage in (await open_storage(None), await open_storage(path)):
        for use in (storage.read, storage.write):
            assert await use(SCOPE, lambda _view: threading.get_ident()) != threading.get_ident()


async def test_storages_on_one_file_see_what_the_others_commit(open_storage: Any, path: Path):
    storages = [await open_storage(path) for _ in range(3)]

    def count_up(unit: UnitOfWork) -> None:
        number = int(unit.settings.get("count") or 0) + 1
        unit.settings.put("count", str(number))
        unit.entries.add([an_entry(str(number))])

    await asyncio.gather(*(storage.write(SCOPE, count_up) for _ in range(10) for storage in storages))
    for storage in storages:
        state = await storage.read(SCOPE, lambda view: (view.settings.get("count"), view.revision))
        assert state == ("30", 30)
        page = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(29, 99), limit=9))
        assert len(page.rows) == 1


async def test_a_new_file_can_be_opened_by_several_at_once(tmp_path: Path):
    for attempt in range(4):
        storages = [SqlStorage(tmp_path / f"{attempt}.db", clock=ManualClock(START)) for _ in range(3)]
        await asyncio.gather(*(storage.start() for storage in storages))
        await asyncio.gather(*(storage.write(SCOPE, lambda unit: unit.settings.put("a", "b")) for storage in storages))
        await asyncio.gather(*(storage.stop() for storage in storages))


async def test_a_new_file_that_another_process_is_creating_is_waited_for(open_storage: Any, tmp_path: Path):
    """There the database itself does not wait, but says at once that the file is locked."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(open_storage(path))
        await asyncio.sleep(0.1)
        assert not opening.done()
        other.execute("ROLLBACK")
        storage = await opening
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))


def test_a_killed_writer_leaves_whole_transactions(path: Path):
    process = child(_WRITE_UNTIL_KILLED, path)
    told = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=10)
    told += process.stdout.readlines()
    process.stdout.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (turns,) = database.execute("SELECT count(*) FROM turns").fetchone()
        (entries,) = database.execute("SELECT count(*) FROM entries").fetchone()
        (revision,) = database.execute("SELECT revision FROM scopes").fetchone()
    assert (entries, revision) == (20 * turns, turns)
    assert turns >= len(told)


async def test_a_cancelled_caller_whose_turn_has_not_come_writes_nothing(storage: SqlStorage):
    begun, go_on = threading.Event(), threading.Event()
    first = asyncio.create_task(storage.write(SCOPE, lambda _unit: (begun.set(), go_on.wait(10))))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")])))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    go_on.set()
    await first
    assert await storage.read(SCOPE, lambda view: view.revision) == 0


async def test_a_cancelled_caller_returns_when_its_write_is_over(storage: SqlStorage):
    """So that nothing it wrote happens behind its back, however often it is cancelled."""
    begun, go_on = threading.Event(), threading.Event()

    def write_slowly(unit: UnitOfWork) -> None:
        begun.set()
        assert go_on.wait(10)
        unit.turns.add([a_turn("a")])

    writing = asyncio.create_task(storage.write(SCOPE, write_slowly))
    await asyncio.to_thread(begun.wait, 10)
    for _ in range(3):
        writing.cancel()
        await asyncio.sleep(0.01)
        assert not writing.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert await storage.read(SCOPE, lambda view: view.turns.count()) == 1


async def test_stopping_waits_for_what_is_under_way(open_storage: Any, path: Path):
    storage = await open_storage(path)
    writes = [
        asyncio.create_task(storage.write(SCOPE, lambda unit, n=n: unit.entries.add([an_entry(str(n))])))
        for n in range(20)
    ]
    await asyncio.sleep(0)
    await storage.stop()
    await asyncio.gather(*writes)
    again = await open_storage(path)
    assert await again.read(SCOPE, lambda view: view.revision) == 20
