"""Who serves people, between processes: a dead process on this machine does not count from its death on."""

import subprocess
import sys
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from agentcore.stores.sql import SqlStorage, machine
from agentcore.stores.sql.schema import busy_holders, change_feed
from agentcore.testing.contracts.samples import SCOPE

_HOUR = timedelta(hours=1)

_SERVE = """
import asyncio, os, sys
from datetime import timedelta
from pathlib import Path
from agentcore.stores.sql.sql_storage import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, START

async def serve():
    storage = SqlStorage(Path(sys.argv[1]), clock=ManualClock(START))
    await storage.start()
    await storage.write(SCOPE, lambda unit: unit.busy.announce("child", duration=timedelta(hours=1)))
    print(os.getpid(), flush=True)
    sys.stdin.read()

asyncio.run(serve())
"""


@pytest.fixture
def server(path: Path, storage: SqlStorage) -> Generator["subprocess.Popen[str]"]:
    """A process that says it serves a person, until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    yield process
    process.kill()
    process.wait(timeout=10)
    process.stdin.close()
    process.stdout.close()


async def holders(storage: SqlStorage) -> list[str]:
    return [found.holder for found in await storage.read(SCOPE, lambda view: view.busy.holders())]


async def announce(storage: SqlStorage, holder: str) -> None:
    await storage.write(SCOPE, lambda unit: unit.busy.announce(holder, duration=_HOUR))


async def test_a_process_counts_while_it_lives_and_not_a_moment_longer(
    storage: SqlStorage, server: "subprocess.Popen[str]"
):
    (found,) = await storage.read(SCOPE, lambda view: view.busy.holders())
    assert (found.holder, found.host, found.pid) == ("child", machine(), server.pid)
    server.kill()
    server.wait(timeout=10)
    assert await holders(storage) == []


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "another-machine", "pid": 2**22 + 1},
        {"process_started": "another-boot.4026531836.1", "pid": 2**22 + 1},
        {"process_started": "", "pid": 2**22 + 1},
    ],
    ids=["machine", "kernel", "unknown"],
)
async def test_who_cannot_be_seen_from_here_counts_until_it_expires(
    storage: SqlStorage, clock: Any, elsewhere: dict[str, Any]
):
    await announce(storage, "remote")
    pretence = update(busy_holders).values(**elsewhere)
    await storage.write(SCOPE, lambda unit: unit.transaction.connection.execute(pretence))
    assert await holders(storage) == ["remote"]
    clock.advance(_HOUR)
    assert await holders(storage) == []


async def test_what_the_dead_left_behind_is_swept_away_once_expired(storage: SqlStorage, clock: Any):
    for number in range(3):
        await announce(storage, f"dead-{number}")
    clock.advance(_HOUR)
    await announce(storage, "alive")
    count = select(func.count()).select_from(busy_holders)
    assert await storage.read(SCOPE, lambda view: view.transaction.connection.execute(count).scalar()) == 1


async def test_an_announcement_leaves_no_row_in_the_change_feed(storage: SqlStorage):
    for _ in range(2):
        await announce(storage, "one")
    await storage.write(SCOPE, lambda unit: unit.busy.withdraw("one"))
    count = select(func.count()).select_from(change_feed)
    assert await storage.read(SCOPE, lambda view: view.transaction.connection.execute(count).scalar()) == 0
