"""Two processes on one store: one dreams, and nobody waits for it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentcore.domain.scope import Scope
from dream.cycle.lease import DREAM_LEASE
from dream.domain.report import Outcome
from tests.bench.kill import AS_OF, fill, host

HOLDER = """
import asyncio, sys
from pathlib import Path
from datetime import timedelta
from agentcore.domain.scope import Scope
from dream.cycle.lease import dream_lease
from tests.bench.kill import host

async def main():
    async with host(Path(sys.argv[1])) as opened:
        async with dream_lease(opened.dreams._parts, Scope.default(), timedelta(seconds=60)) as lease:
            print(lease.pid, flush=True)
            await asyncio.Event().wait()

asyncio.run(main())
"""
DREAMER = """
import asyncio, sys
from pathlib import Path
from tests.bench.kill import dream

asyncio.run(dream(Path(sys.argv[1])))
"""


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    await fill(tmp_path / "store")
    return tmp_path / "store"


async def test_while_one_process_dreams_another_says_who_does_and_changes_nothing(store: Path):
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(store)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        try:
            async with host(store) as opened:
                report = await opened.dreams.run()
                assert report.outcome is Outcome.DEFERRED
                assert "lease_held" in (report.reason or "")
                assert str(pid) in (report.reason or "")
                assert await opened.dreams.runs() == []
        finally:
            holder.kill()


async def test_the_lease_of_a_process_that_was_killed_is_free_at_once(store: Path):
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(store)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        pid = int(holder.stdout.readline())
        os.kill(pid, signal.SIGKILL)
    async with host(store) as opened:
        assert await opened.storage.read(Scope.default(), lambda view: view.leases.holder(DREAM_LEASE)) is None
        report = await opened.dreams.run(now=AS_OF)
        assert report.outcome is Outcome.COMPLETED


async def test_what_a_person_says_while_another_process_dreams_is_kept_and_hardly_waits(store: Path):
    waits: list[float] = []
    with subprocess.Popen([sys.executable, "-c", DREAMER, str(store)]) as dreamer:
        async with host(store) as opened:
            said = 0
            while dreamer.poll() is None or said < 20:
                began = time.perf_counter()
                await opened.memory.remember(f"Said beside a dream, number {said}")
                waits.append(time.perf_counter() - began)
                said += 1
            assert await opened.memory.count() >= said
            kept = await opened.memory.list(limit=10_000)
            assert {f"Said beside a dream, number {n}" for n in range(said)} <= {entry.content for entry in kept}
    assert dreamer.returncode == 0
    assert max(waits) < 5.0
