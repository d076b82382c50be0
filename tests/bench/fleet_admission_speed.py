"""How long a fleet takes to choose what it offers next: `python -m tests.bench.fleet_admission_speed`.

It starts a PostgreSQL of its own that syncs every commit, and stores the due times of `--scopes` scopes of `--tenants`
tenants; of these, more and more are due.
"""

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from agentcore.clock import SystemClock
from agentcore.stores.sql import SqlStorage
from dream.stores import dream_stores
from tests.bench.machine import described
from tests.postgres_server import Server

_FOR = timedelta(minutes=5)
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
_TAKE_BACK = "UPDATE agentcore.schedules SET offered_until = NULL WHERE offered_until IS NOT NULL"


@contextmanager
def a_server() -> Iterator[Server]:
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


async def main(given: argparse.Namespace) -> None:
    print(
        described(),
        "\n\n| due | limit of a tenant | offered | median ms | most ms |\n|---|---|---|---|---|",
        flush=True,
    )
    with a_server() as server:
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


def arguments(told: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=10_000)
    parser.add_argument("--due", type=int, nargs="+", default=[500, 10_000, 100_000, 1_000_000])
    parser.add_argument("--most", type=int, default=500)
    parser.add_argument("--times", type=int, default=7)
    return parser.parse_args(told)


if __name__ == "__main__":
    asyncio.run(main(arguments()))
