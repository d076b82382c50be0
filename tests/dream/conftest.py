"""One store in memory for all tests of a process; each test has a scope, a clock's start and ids of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from dreaming import NOW, World

from agentcore.recall import Recall
from agentcore.stores.sql import FILE_NAME, SqlStorage
from agentcore.testing import ManualClock


@pytest.fixture(scope="session")
def shared_clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture(scope="session")
def shared_storage(shared_clock: ManualClock) -> Iterator[SqlStorage]:
    storage = SqlStorage(None, clock=shared_clock)
    asyncio.run(storage.start())
    yield storage
    asyncio.run(storage.stop())


@pytest.fixture
async def world(shared_storage: SqlStorage, shared_clock: ManualClock) -> AsyncIterator[World]:
    """A scope of the shared store, which begins at NOW."""
    shared_clock.set(NOW)
    recall = Recall(shared_storage)
    await recall.start()
    yield World(shared_storage, recall, shared_clock)
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
