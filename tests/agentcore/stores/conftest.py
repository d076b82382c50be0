"""Storages for the tests of the SQL store, stopped at the end whatever happens."""

import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path

import pytest

from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts import START

Opener = Callable[..., Awaitable[SqlStorage]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "agentcore.db"


@pytest.fixture
async def open_storage(clock: ManualClock) -> AsyncGenerator[Opener]:
    opened: list[SqlStorage] = []

    async def start(path: Path | None = None, **options: object) -> SqlStorage:
        storage = SqlStorage(path, **({"clock": clock} | options))
        await storage.start()
        opened.append(storage)
        return storage

    yield start
    for storage in opened:
        await storage.stop()


@pytest.fixture
async def storage(open_storage: Opener, path: Path) -> SqlStorage:
    return await open_storage(path)


@pytest.fixture
def guarded() -> Generator[Path]:
    """A folder that whoever is unprivileged may use, until a test takes its permissions away."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
        folder.chmod(0o777)
