"""Writers beside each other on one database: the contract, and processes of their own."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcore.domain import Scope
from agentcore.domain.filters import EntryFilter
from agentcore.stores import Storage
from agentcore.testing.contracts import ConcurrencyContract
from agentcore.testing.contracts.samples import SCOPE

PROCESSES = 8
KEY = {"AGENTCORE_FORGET_KEY": "ab" * 32}
"""All of them on a server have the same."""
WRITES = 10
SCOPES = 1_000
OF_EACH = 150

WRITER = """
import asyncio, sys
from pathlib import Path
from agentcore.clock import SystemClock
from agentcore.domain.scope import Scope
from agentcore.stores.sql.sql_storage import SqlStorage
from agentcore.testing.contracts.samples import SCOPE, an_entry

place, number, writes, scopes, of_each = sys.argv[1], *map(int, sys.argv[2:])

async def main():
    storage = SqlStorage(place if "://" in place else Path(place), clock=SystemClock())
    await storage.start()
    def add(name):
        return lambda unit: unit.entries.add([an_entry(name, scope=unit.scope)])
    for turn in range(writes):
        await storage.write(SCOPE, add(f"{number}-{turn}"))
    some = [(number * scopes // 8 + step) % scopes for step in range(of_each)]
    await asyncio.gather(*(storage.write(Scope("many", "agent", str(one)), add(str(number))) for one in some))
    await storage.stop()

asyncio.run(main())
"""


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, path: Path) -> Path | str:
    return path if request.param == "file" else request.getfixturevalue("postgres_url")


@pytest.fixture
async def storage(open_storage: Any, place: Path | str) -> Storage:
    return await open_storage(place)


class TestSideBySide(ConcurrencyContract):
    @pytest.fixture
    def beside(self, open_storage: Any, place: Path | str) -> Any:
        return lambda: open_storage(place)


async def test_eight_processes_write_to_one_scope_and_to_a_thousand(storage: Storage, place: Path | str):
    def started(number: int) -> Any:
        numbers = map(str, (number, WRITES, SCOPES, OF_EACH))
        return asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(place), *numbers, env=os.environ | KEY, stderr=subprocess.PIPE
        )

    processes = [await started(number) for number in range(PROCESSES)]
    said = await asyncio.gather(*(one.communicate() for one in processes))
    assert [(one.returncode, text[1].decode()) for one, text in zip(processes, said, strict=True)] == [(0, "")] * 8
    assert await storage.read(SCOPE, lambda view: view.revision) == PROCESSES * WRITES
    assert await storage.read(SCOPE, lambda view: view.entries.count(EntryFilter())) == PROCESSES * WRITES
    assert len(await storage.scopes()) == SCOPES + 1
    shared = Scope("many", "agent", "130")
    assert await storage.read(shared, lambda view: (view.revision, view.entries.count(EntryFilter()))) == (2, 2)
