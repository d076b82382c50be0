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
from tests.writing_twice import WRITES_TWICE, TwiceStorage


@pytest.fixture(scope="session")
def shared_clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture(scope="session")
def shared_storage(shared_clock: ManualClock) -> Iterator[SqlStorage]:
    storage = (TwiceStorage if WRITES_TWICE else SqlStorage)(None, clock=shared_clock)
    asyncio.run(storage.start())
    yield storage
    asyncio.run(storage.stop())


@pytest.fixture(scope="session")
def shared_twice(shared_clock: ManualClock) -> Iterator[SqlStorage]:
    storage = TwiceStorage(None, clock=shared_clock)
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


REFUSED_ONCE = (
    "tests/dream/cycle/test_undo.py",
    "tests/dream/documents/test_delivery.py",
    "tests/dream/laws/test_undo_laws.py::test_apply_and_undo",
    "tests/dream/laws/test_undo_laws.py::test_an_undo_or_redo",
    "tests/dream/passes/test_retention.py",
)
"""What has to come to the same where each write is done twice, its first commit being refused."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what has to hold on both databases on both, and what is written once however often it is tried."""
    if "world" in metafunc.fixturenames and not WRITES_TWICE:
        named = metafunc.definition.nodeid
        kinds = ["postgres"] * named.startswith(ON_BOTH) + ["twice"] * named.startswith(REFUSED_ONCE)
        if kinds:
            metafunc.parametrize("world_storage", ["memory", *kinds], indirect=True)


_SHARED = {"memory": "shared_storage", "postgres": "shared_postgres", "twice": "shared_twice"}


@pytest.fixture
def world_storage(request: pytest.FixtureRequest) -> SqlStorage:
    """The shared store, in memory unless a test runs on another."""
    return request.getfixturevalue(_SHARED[getattr(request, "param", "memory")])


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
