"""How fast, fair and idle a fleet's queue is, and how long a choice takes: `python -m tests.bench.fleet_speed`.

It starts a PostgreSQL of its own that syncs every commit. The queue is measured beside pgqueuer's own in turns; the
choice among `--scopes` scopes of `--tenants` tenants, of which more and more are due. `--only` picks some of these.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from pgqueuer.core.qm import QueueManager
from sqlalchemy import update

from agentcore import Scope
from agentcore.clock import SystemClock
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.schema import schedules
from dream.cycle.fleet.pg_queue import SETTINGS, PgQueue
from dream.cycle.fleet.worker import asyncpg_url
from dream.cycle.scheduling.queue import Offer
from dream.stores import dream_stores
from tests.bench.fleet import seed as seed_memories
from tests.bench.machine import described
from tests.postgres_server import Server

_FOR = timedelta(minutes=5)
_AT_ONCE, _BATCH, _DREAM_SECONDS = 100, 50, 0.1
_SCOPES = """
INSERT INTO agentcore.scopes (workspace, observer, observed)
SELECT 'tenant' || (CASE WHEN n %% 2 = 0 AND %(half)s THEN 0 ELSE n %% %(tenants)s END), 'agent', 'p' || n
FROM generate_series(0, %(scopes)s - 1) n
"""
_SCHEDULES = """
INSERT INTO agentcore.schedules (scope_id, registered_at, due_at, reason, options_hash, state, workspace)
SELECT pk, 0, (extract(epoch FROM now()) + 86400 + random() * 86400) * 1e6, 'interval', '', '{}', workspace
FROM agentcore.scopes ORDER BY random()
"""
_FALL_DUE = """
UPDATE agentcore.schedules SET due_at = (extract(epoch FROM now()) - 3600 * random()) * 1e6, offered_until = NULL
WHERE scope_id IN (SELECT scope_id FROM agentcore.schedules WHERE due_at > extract(epoch FROM now()) * 1e6
  ORDER BY random() LIMIT %s)
"""
_OF_TENANT = """
INSERT INTO agentcore.scopes (workspace, observer, observed) SELECT %s, 'agent', 'p' || n FROM generate_series(1, %s) n
"""
_ALL_DUE = """
INSERT INTO agentcore.schedules (scope_id, registered_at, due_at, reason, options_hash, state, workspace)
SELECT pk, 0, (extract(epoch FROM now()) - random()) * 1e6, 'interval', '', '{}', workspace FROM agentcore.scopes
"""
_EACH_AT_ONCE = """
[dreaming.schedule]
trigger = { kind = "interval", every = "P1D", initial_delay = "PT0S" }
"""
_COUNT = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'idle'"
_TAKE_BACK = "UPDATE agentcore.schedules SET offered_until = NULL WHERE offered_until IS NOT NULL"


@contextmanager
def a_server() -> Generator[Server]:
    """A PostgreSQL as in use: every commit is synced."""
    folder = Path(tempfile.mkdtemp(prefix="agentcore-bench-"))
    folder.chmod(0o755)
    synced = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "autovacuum": "on"}
    server = Server(folder / "server", shared_buffers="512MB", **synced)
    server.create()
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def run(server: Server, database: str, *statements: str, values: Any = None) -> None:
    with server.connect(database) as connection:
        for one in statements:
            connection.execute(one, values)


def seed(server: Server, database: str, *, scopes: int, tenants: int, half: bool = False) -> None:
    """Store scopes whose dreams are due tomorrow; with *half*, every second one is of the first tenant."""
    run(server, database, _SCOPES, values={"scopes": scopes, "tenants": tenants, "half": half})
    run(server, database, _SCHEDULES, "VACUUM ANALYZE agentcore.scopes", "VACUUM ANALYZE agentcore.schedules")


async def choose(storage: SqlStorage, *, most: int, per_tenant: int) -> tuple[float, int]:
    """Return how many milliseconds one choice takes, and how many scopes it offers."""
    began = time.perf_counter()
    offered = await storage.write(
        None, lambda unit: dream_stores(unit).offers.admit(most=most, per_tenant=per_tenant, until=unit.now + _FOR)
    )
    return (time.perf_counter() - began) * 1_000, len(offered)


async def measured(server: Server, storage: SqlStorage, *, most: int, per_tenant: int, times: int) -> str:
    taken: list[float] = []
    count = 0
    for _ in range(times):
        run(server, "fleet", _TAKE_BACK)
        took, count = await choose(storage, most=most, per_tenant=per_tenant)
        taken.append(took)
    run(server, "fleet", _TAKE_BACK, "VACUUM agentcore.schedules")
    return f"{count:,} | {statistics.median(taken):.0f} | {max(taken):.0f}"


async def own_rate(url: str, count: int) -> float:
    """Return how many jobs a second pgqueuer alone runs that do nothing, enqueued 500 at a time."""
    queue = PgQueue(asyncpg_url(url), at_once=_AT_ONCE, clock=SystemClock())
    manager = QueueManager(await queue.opened(), channel=SETTINGS.channel)
    done = 0

    @manager.entrypoint("nothing", accepts_context=False)
    async def nothing(_: object) -> None:
        nonlocal done
        done += 1
        if done == count:
            manager.shutdown.set()

    began = time.perf_counter()
    for start in range(0, count, 500):
        some = range(start, min(count, start + 500))
        await manager.queries.enqueue(["nothing"] * len(some), [b"{}" for _ in some], [0 for _ in some])
    await manager.run(dequeue_timeout=timedelta(seconds=5), batch_size=_BATCH, max_concurrent_tasks=_AT_ONCE)
    taken = time.perf_counter() - began
    await queue.close()
    return count / taken


async def our_rate(url: str, count: int) -> float:
    """Return how many offers a second come to a handler that does nothing, offered 500 at a time."""
    queue = PgQueue(asyncpg_url(url), at_once=_AT_ONCE, clock=SystemClock())
    await queue.withdraw([0])  # opens it
    done, is_done = 0, asyncio.Event()

    async def handle(_: Offer) -> None:
        nonlocal done
        done += 1
        if done == count:
            is_done.set()

    began = time.perf_counter()
    for start in range(0, count, 500):
        some = range(start, min(count, start + 500))
        await queue.offer([Offer(key=n, scope=Scope("acme", "agent", f"p{n}"), number=1) for n in some])
    serving = asyncio.ensure_future(queue.serve(handle))
    await is_done.wait()
    taken = time.perf_counter() - began
    serving.cancel()
    await asyncio.wait({serving})
    return count / taken


async def queue_rates(server: Server, given: argparse.Namespace) -> None:
    """Print our rate beside pgqueuer's, run in turns."""
    url = server.database("queue")
    own: list[float] = []
    ours: list[float] = []
    for _ in range(given.times):
        own.append(await own_rate(url, given.jobs))
        ours.append(await our_rate(url, given.jobs))
    ratio = statistics.median(one / other for one, other in zip(ours, own, strict=True))
    print(f"\n| {given.jobs:,} no-ops, {given.times} rounds in turns | per second, median | ratio |\n|---|---|---|")
    print(f"| pgqueuer alone | {statistics.median(own):,.0f} | 1 |")
    print(f"| offer to handler called | {statistics.median(ours):,.0f} | {ratio:.2f} |", flush=True)


async def idle(server: Server, given: argparse.Namespace) -> None:
    """Print how many transactions a second one worker causes that has nothing to do, and what it costs."""
    url, seconds = server.database("idle"), given.idle_seconds
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("AGENTCORE", "OPENAI"))
        }
        command = [sys.executable, "-m", "dream", "--data", folder, "work", "--database", url]
        worker = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            await asyncio.sleep(15)
            before, used = transactions(server), processor_seconds(worker.pid)
            await asyncio.sleep(seconds)
            count, spent = transactions(server) - before, processor_seconds(worker.pid) - used
        finally:
            worker.terminate()
            worker.wait()
    print("\n| an idle worker | transactions a second | processor |\n|---|---|---|")
    print(f"| {seconds:.0f} s | {count / seconds:.1f} | {100 * spent / seconds:.1f} % |", flush=True)


def transactions(server: Server) -> int:
    with server.connect() as connection:
        ((count,),) = connection.execute(_COUNT).fetchall()
    return int(count)


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def others_wait(server: Server, name: str, *, large: int, small: int) -> list[float]:
    """Return after how many seconds dreams of nine small tenants end, beside a large one's, all due at once."""
    url = server.database(name)
    storage = SqlStorage(url, clock=SystemClock())
    await storage.start()
    for tenant, count in enumerate([large, *[small] * 9]):
        run(server, name, _OF_TENANT, values=(f"tenant{tenant}", count))
    run(server, name, _ALL_DUE, "ANALYZE agentcore.scopes", "ANALYZE agentcore.schedules")
    queue = PgQueue(asyncpg_url(url), at_once=_AT_ONCE, clock=SystemClock())
    ended: list[tuple[str, float]] = []
    over: list[tuple[int, int]] = []
    began = time.perf_counter()

    async def handle(offer: Offer) -> None:
        await asyncio.sleep(_DREAM_SECONDS)
        ended.append((offer.scope.workspace, time.perf_counter() - began))
        over.append((offer.key, offer.number))

    serving = asyncio.ensure_future(queue.serve(handle))
    while len(ended) < large + 9 * small:
        done, over = over, []
        chosen = await storage.write(None, lambda unit: looked(unit, done))  # noqa: B023 - awaited
        await queue.offer(
            [Offer(key=one.key, scope=one.scope, number=one.number, priority=one.priority) for one in chosen]
        )
        await asyncio.sleep(0.2)
    serving.cancel()
    await asyncio.wait({serving})
    await storage.stop()
    return [at for workspace, at in ended if workspace != "tenant0"]


def looked(unit: Any, done: list[tuple[int, int]]) -> Any:
    """Choose as a worker does: take back what is done, and offer twice what it can hold."""
    is_done = schedules.c.scope_id.in_([key for key, _ in done])
    unit.transaction.connection.execute(update(schedules).where(is_done).values(due_at=None))
    offers = dream_stores(unit).offers
    offers.release(done)
    return offers.admit(most=2 * _AT_ONCE, per_tenant=1_000_000, until=unit.now + _FOR)


async def fairness(server: Server, given: argparse.Namespace) -> None:
    """Print what a tenant with half of all work costs the others."""
    alike = await others_wait(server, "alike", large=given.small, small=given.small)
    half = await others_wait(server, "half", large=9 * given.small, small=given.small)
    print("\n| dreams of nine tenants end after | median s | last s |\n|---|---|---|")
    for name, found in (("the tenth has as many", alike), ("the tenth has half of all", half)):
        print(f"| {name} | {statistics.median(found):.2f} | {max(found):.2f} |")
    ratio = statistics.median(half) / statistics.median(alike)
    print(f"| ratio | {ratio:.2f} | {max(half) / max(alike):.2f} |", flush=True)


_STANDS_STILL = 60
"""Seconds after which no more dreams are waited for: a scope with nothing to do dreams no more."""


async def dreams(server: Server, given: argparse.Namespace) -> None:
    """Print how many dreams a second two workers end that have no model and next to nothing to do."""
    url, count = server.database("dreams"), given.dreams
    await seed_memories(url, count, 10)
    statement = "SELECT count(*), max(finished_at) - min(finished_at) FROM agentcore.runs WHERE finished"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "agentcore.toml").write_text(_EACH_AT_ONCE)
        command = [sys.executable, "-m", "dream", "--data", folder, "work", "--database", url, "--at-once", "20"]
        none = subprocess.DEVNULL
        workers = [subprocess.Popen(command, stdout=none, stderr=none) for _ in range(2)]
        ended, spent, stood = 0, 0, 0
        while ended < count and stood < _STANDS_STILL:
            await asyncio.sleep(1)
            with server.connect("dreams") as connection:
                ((now, spent),) = connection.execute(statement).fetchall()
            ended, stood = now, stood + 1 if now == ended else 0
        for one in workers:
            one.terminate()
            one.wait()
    print("\n| two workers, no model | dreams a second |\n|---|---|")
    print(f"| {ended:,} | {ended / spent * 1e6:.1f} |", flush=True)


async def admission(server: Server, given: argparse.Namespace) -> None:
    """Print how long the choice takes."""
    print("\n| due | limit of a tenant | offered | median ms | most ms |\n|---|---|---|---|---|", flush=True)
    storage = SqlStorage(server.database("fleet"), clock=SystemClock())
    await storage.start()
    seed(server, "fleet", scopes=given.scopes, tenants=given.tenants)
    due = 0
    for more in given.due:
        run(server, "fleet", _FALL_DUE, values=[more - due])
        run(server, "fleet", "VACUUM ANALYZE agentcore.schedules")
        due = more
        for per_tenant in (1_000_000, 1):
            found = await measured(server, storage, most=given.most, per_tenant=per_tenant, times=given.times)
            shown = "none" if per_tenant > 1 else per_tenant
            print(f"| {due:,} | {shown} | {found} |", flush=True)
    await storage.stop()


_PARTS = {"queue": queue_rates, "dreams": dreams, "idle": idle, "fairness": fairness, "admission": admission}


async def main(given: argparse.Namespace) -> None:
    print(described(), flush=True)
    with a_server() as server:
        for name in given.only:
            await _PARTS[name](server, given)


def arguments(told: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--due", type=int, nargs="+", default=[500, 10_000, 100_000, 1_000_000])
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--idle-seconds", type=float, default=30)
    parser.add_argument("--dreams", type=int, default=1_000, help="scopes that dream once")
    parser.add_argument("--small", type=int, default=200, help="scopes of a small tenant")
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS))
    return parser.parse_args(told)


if __name__ == "__main__":
    asyncio.run(main(arguments()))
