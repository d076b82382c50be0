"""Leases between processes: a dead holder on this machine is known at once, anybody else is waited for."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from agentcore.errors import LeaseLostError
from agentcore.stores import Lease
from agentcore.stores.sql import SqlStorage, is_gone, machine, process_mark
from agentcore.stores.sql.schema import leases
from agentcore.testing.contracts.samples import SCOPE

_HOUR = timedelta(hours=1)

_HOLD = """
import asyncio, sys
from datetime import timedelta
from pathlib import Path
from agentcore.stores.sql.sql_storage import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, START

async def hold():
    storage = SqlStorage(Path(sys.argv[1]), clock=ManualClock(START))
    await storage.start()
    lease = await storage.write(
        SCOPE, lambda unit: unit.leases.acquire("dream", holder="child", duration=timedelta(hours=1))
    )
    print(lease.pid, flush=True)
    sys.stdin.read()

asyncio.run(hold())
"""


@pytest.fixture
def holder(path: Path) -> Generator[Callable[[], subprocess.Popen[str]]]:
    """Start a process that holds the lease until its input ends."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert int(process.stdout.readline()) == process.pid
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(timeout=10)
        process.stdin.close()
        process.stdout.close()


async def acquire(storage: SqlStorage, name: str = "mine") -> Lease | None:
    return await storage.write(SCOPE, lambda unit: unit.leases.acquire("dream", holder=name, duration=_HOUR))


async def pretend(storage: SqlStorage, **values: Any) -> None:
    """Let the lease have been taken by somebody else."""
    await storage.write(SCOPE, lambda unit: unit.transaction.connection.execute(update(leases).values(**values)))


async def test_a_living_process_keeps_its_lease_and_a_dead_one_loses_it_at_once(storage: SqlStorage, holder: Any):
    process = holder()
    assert await acquire(storage) is None
    theirs = await storage.write(SCOPE, lambda unit: unit.leases.holder("dream"))
    assert (theirs.holder, theirs.pid, theirs.host) == ("child", process.pid, machine())
    bury(process)
    assert await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")) is None
    mine = await acquire(storage)
    assert (mine.holder, mine.token) == ("mine", theirs.token + 1)
    with pytest.raises(LeaseLostError, match="'dream' was lost"):
        await storage.write(SCOPE, lambda unit: unit.leases.renew(theirs, duration=_HOUR))


async def test_a_process_that_nobody_has_buried_is_dead_too(storage: SqlStorage, holder: Any):
    leave_unburied(holder())
    assert await acquire(storage) is not None


async def test_another_process_under_the_same_number_does_not_keep_a_lease(storage: SqlStorage):
    await acquire(storage, "past")
    kernel = process_mark(os.getpid()).rpartition(".")[0]
    await pretend(storage, process_started=f"{kernel}.1")
    assert await acquire(storage) is not None


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"host": "another-machine", "pid": 2**22 + 1},
        {"process_started": "another-boot.4026531836.1", "pid": 2**22 + 1},
        {"process_started": "", "pid": 2**22 + 1},
    ],
    ids=["machine", "kernel", "unknown"],
)
async def test_who_cannot_be_seen_from_here_is_waited_for(storage: SqlStorage, clock: Any, elsewhere: dict[str, Any]):
    await acquire(storage, "remote")
    await pretend(storage, **elsewhere)
    assert await acquire(storage) is None
    clock.advance(_HOUR)
    assert await acquire(storage) is not None


def test_this_process_is_not_gone():
    mark = process_mark(os.getpid())
    assert not is_gone(machine(), os.getpid(), mark)
    assert is_gone(machine(), 2**22 + 1, mark)
    assert not is_gone("another-machine", 2**22 + 1, mark)


def bury(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(timeout=10)


def leave_unburied(process: subprocess.Popen[str]) -> None:
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
