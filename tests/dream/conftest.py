"""One store in memory for all tests of a process; each test has a scope, a clock's start and ids of its own."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from dreaming import NOW, World

from agentcore.recall import Recall
from agentcore.stores.sql import FILE_NAME, SqlStorage
from agentcore.testing import ManualClock
from tests.postgres_server import Server


@pytest.fixture(scope="session")
def shared_clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture(scope="session")
def shared_storage(shared_clock: ManualClock) -> Iterator[SqlStorage]:
    storage = SqlStorage(None, clock=shared_clock)
    asyncio.run(storage.start())
    yield storage
    asyncio.run(storage.stop())


@pytest.fixture(scope="session")
def shared_postgres(postgres_server: Server, worker_id: str, shared_clock: ManualClock) -> Iterator[SqlStorage]:
    storage = SqlStorage(postgres_server.database(f"dreams_{worker_id}"), clock=shared_clock)
    asyncio.run(storage.start())
    yield storage
    asyncio.run(storage.stop())


ON_BOTH = (
    "tests/dream/cycle/test_resume.py",
    "tests/dream/cycle/test_undo.py",
    "tests/dream/cycle/test_a_forget_that_holds.py",
    "tests/dream/cycle/test_forgotten_turns.py",
    "tests/dream/laws/test_undo_laws.py::test_apply_and_undo",
    "tests/dream/laws/test_undo_laws.py::test_an_undo_or_redo",
)
"""Kills, undo and forget: whose tests run on PostgreSQL too."""
if os.environ.get("AGENTCORE_POSTGRES") == "all":
    ON_BOTH += ("tests/dream/laws/test_undo_laws.py",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what has to hold on both databases on both."""
    if "world" in metafunc.fixturenames and metafunc.definition.nodeid.startswith(ON_BOTH):
        metafunc.parametrize("world_storage", ["memory", "postgres"], indirect=True)


@pytest.fixture
def world_storage(request: pytest.FixtureRequest) -> SqlStorage:
    """The shared store, in memory unless a test runs on both databases."""
    kind = getattr(request, "param", "memory")
    return request.getfixturevalue("shared_postgres" if kind == "postgres" else "shared_storage")


@pytest.fixture
async def world(world_storage: SqlStorage, shared_clock: ManualClock) -> AsyncIterator[World]:
    """A scope of the shared store, which begins at NOW."""
    shared_clock.set(NOW)
    recall = Recall(world_storage)
    await recall.start()
    yield World(world_storage, recall, shared_clock)
    await recall.stop()


@pytest.fixture
async def world_on_disk(tmp_path: Path) -> AsyncIterator[World]:
    """A store of its own in a file, whose readers do not wait for its writer."""
    clock = ManualClock(NOW)
    storage = SqlStorage(tmp_path / FILE_NAME, clock=clock)
    await storage.start()
    recall = Recall(storage)
    await recall.start()
    yield World(storage, recall, clock)
    await recall.stop()
    await storage.stop()
