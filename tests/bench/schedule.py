"""The schedule: a tick over a million scopes, and activity that comes without records.

`python -m tests.bench.schedule FOLDER SCOPES` measures one folder in this process.
"""

import asyncio
import resource
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agentcore import Scope
from agentcore.clock import SystemClock
from agentcore.domain import to_micros
from agentcore.hosting import ActivityRecorder
from agentcore.ids import RandomIds
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import FILE_NAME, SqlStorage
from agentcore.testing import ManualClock
from dream.cycle import Planner
from dream.options import DreamOptions
from dream.options.levels import OptionLevels
from dream.stores import dream_stores
from dream.stores.schedules import StoredState, encode_state
from dream.triggers import PassWork
from tests.bench.figures import Figure, middle
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
_DUE = 100
_TICK_MS = 50.0
_A_SECOND = 10_000
_SECONDS = 3
_REPETITIONS = 7
_ANYWHERE = Scope.default()


async def measure(folder: Path, scopes: int) -> dict[str, Any]:
    """Fill the tables, and time ticks that decide on all that is due; then record activity for some seconds."""
    clock = ManualClock(_NOW)
    storage = SqlStorage(folder / FILE_NAME, clock=clock)
    await storage.start()
    planner = Planner(OptionLevels(DreamOptions()), RandomIds())
    await asyncio.to_thread(_fill, folder / FILE_NAME, scopes, planner.terms.options_hash)
    # As after a restart: what was filled in is no part of what the first tick writes.
    await storage.stop()
    storage = SqlStorage(folder / FILE_NAME, clock=clock)
    await storage.start()
    found: list[int] = []

    def tick(unit: UnitOfWork) -> None:
        """What a service does when something is due, up to the passes: look for news, decide on each, store it."""
        planner.plan_changed(unit, limit=50)
        due = [key for kind in dream_stores(unit).fleet.due(unit.now, limit=_DUE) for key in kind]
        dream_stores(unit).fleet.next_due(unit.now)
        planner.plan(unit, due)
        found.append(len(due))

    ticks: list[float] = []
    for _ in range(_REPETITIONS):
        began = time.perf_counter()
        await storage.write(_ANYWHERE, tick)
        ticks.append((time.perf_counter() - began) * 1e3)
    plans = await asyncio.to_thread(_plans, folder / FILE_NAME)
    recorded = await _record(storage)
    await storage.stop()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ticks": ticks, "found": found, "plans": plans, "memory": memory, **recorded}


async def _record(storage: SqlStorage) -> dict[str, Any]:
    clock = SystemClock()
    recorder = ActivityRecorder(storage=storage, clock=clock)
    await recorder.start()
    # Twice as much as has to be kept up with, so that it shows what room there is.
    scopes = [Scope("fleet", "agent", f"p{number:07}") for number in range(2 * _A_SECOND)]
    began = time.perf_counter()
    for tenth in range(_SECONDS * 10):
        for scope in scopes[(tenth % 10) * 2_000 : (tenth % 10 + 1) * 2_000]:
            recorder.touch(scope)
        await asyncio.sleep(max(0.0, began + (tenth + 1) / 10 - time.perf_counter()))
    offered = time.perf_counter() - began
    await recorder.stop()
    return {"records": 2 * _SECONDS * _A_SECOND, "seconds": time.perf_counter() - began, "offered": offered}


def _fill(path: Path, scopes: int, options_hash: str) -> None:
    """Register scopes that have dreamed once, each of a peer of its own; a hundred of them are due."""
    early, late = to_micros(_NOW - timedelta(days=10)), to_micros(_NOW + timedelta(days=1))
    work = (PassWork("exact-fold", _NOW - timedelta(hours=20)),)
    used = _NOW - timedelta(hours=30)
    state = encode_state(StoredState(work=work, last_success_at=used, last_attempt_at=used, used_until=used))
    step = max(1, scopes // _DUE)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous=OFF")
        rows = ((n, "fleet", "agent", f"p{n:07}", 1, 0, 0) for n in range(1, scopes + 1))
        database.executemany("INSERT INTO scopes VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        rows = ((n, "fleet", f"p{n:07}", early, None) for n in range(1, scopes + 1))
        database.executemany("INSERT INTO peers VALUES (?, ?, ?, ?, ?)", rows)
        due = (
            (n, early, early + n if n % step == 0 else late, "interval", options_hash, state)
            for n in range(1, scopes + 1)
        )
        database.executemany("INSERT INTO schedules VALUES (?, ?, ?, ?, ?, ?)", due)


def _plans(path: Path) -> list[str]:
    """Return how the database finds what is due, what changed, and what is next."""
    asked = (
        "SELECT scope_id FROM schedules WHERE due_at <= 1 ORDER BY due_at LIMIT 100",
        "SELECT min(due_at) FROM schedules WHERE due_at IS NOT NULL",
        "SELECT pk FROM peers WHERE changed_since IS NOT NULL ORDER BY changed_since LIMIT 50",
        "SELECT scope_id FROM schedules WHERE options_hash < 'x' OR options_hash > 'x' LIMIT 50",
    )
    with closing(sqlite3.connect(path)) as database:
        return [str(row[3]) for sql in asked for row in database.execute(f"EXPLAIN QUERY PLAN {sql}")]


def figures(stores: Stores) -> list[Figure]:
    """Measure in a process of its own."""
    size = 10_000 if stores.quick else 1_000_000
    with tempfile.TemporaryDirectory(dir=stores.folder) as folder:
        measured = fresh("schedule", folder, size)
    if measured["found"][0] != _DUE:
        raise RuntimeError(f"{measured['found'][0]} scopes were due, not {_DUE}")
    for plan in measured["plans"]:
        print(f"- {plan}", file=sys.stderr)
    if any(plan.startswith("SCAN") and "USING" not in plan for plan in measured["plans"]):
        raise RuntimeError("the database looks at every row")
    rate = measured["records"] / measured["seconds"]
    return [
        middle(f"tick over {size:,} scopes, {_DUE} due", measured["ticks"][1:], "ms", most=_TICK_MS),
        Figure("- the first one of the process", measured["ticks"][0], "ms"),
        Figure("activity recorded without records, per second", rate, "", least=_A_SECOND),
        Figure("- from the last of it to all of it stored", (measured["seconds"] - measured["offered"]) * 1e3, "ms"),
        Figure("peak memory of that process", measured["memory"], "MiB"),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1]), int(sys.argv[2])))
