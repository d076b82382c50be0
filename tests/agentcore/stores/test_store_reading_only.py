"""A database whose folder is read-only, or whose disk is full, is read all the same, and writes are refused."""

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from test_store_faults import allow, limit_pages, names, unprivileged

from agentcore import AgentHostBuilder
from agentcore.errors import StorageUnavailableError
from agentcore.stores.sql import SqlStorage
from agentcore.testing.contracts.samples import SCOPE, an_entry


@pytest.fixture
def read_only(guarded: Path) -> Generator[Path]:
    """A folder whose database can be read and not written by whoever is unprivileged."""
    yield guarded
    for one in (guarded, *guarded.iterdir()):
        one.chmod(0o777)


def bar(folder: Path) -> None:
    for one in folder.iterdir():
        allow(one, 0o444)
    allow(folder, 0o555)


async def refusal_of(storage: SqlStorage) -> str:
    with pytest.raises(StorageUnavailableError) as refused:
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("new")]))
    return str(refused.value)


async def test_a_read_only_folder_answers_reads(read_only: Path, open_storage: Any):
    path = read_only / "a.db"
    storage = await open_storage(path)
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    await storage.stop()
    bar(read_only)
    with unprivileged():
        storage = await open_storage(path)
        assert await storage.read(SCOPE, lambda view: [one.id for one in view.records()]) == ["a"]
        assert storage.read_here(SCOPE, lambda view: view.revision) == 1
        assert await storage.scopes() == [SCOPE]
        for _ in range(2):
            assert "is read-only: make the file and its folder writable" in await refusal_of(storage)
        with tempfile.TemporaryDirectory() as elsewhere:
            assert (await storage.backup(Path(elsewhere))).entries == 1
        await storage.stop()


async def test_what_a_killed_process_left_in_the_log_is_read_too(read_only: Path, open_storage: Any, tmp_path: Path):
    path = read_only / "a.db"
    storage = await open_storage(tmp_path / "a.db")
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    for name in ("a.db", "a.db-wal"):  # as they are while the process lives
        shutil.copyfile(tmp_path / name, read_only / name)
    bar(read_only)
    with unprivileged():
        storage = await open_storage(path)
        assert await storage.read(SCOPE, lambda view: [one.id for one in view.records()]) == ["a"]
        await storage.stop()
    assert names(read_only) == ["a.db", "a.db-wal"]


async def test_a_host_recalls_in_a_read_only_folder(read_only: Path):
    folder = read_only / "data"
    async with AgentHostBuilder(folder).with_memory().build() as host:
        await host.memory.remember("Ana moved to Lisbon.")
    allow(folder, 0o777)
    bar(folder)
    with unprivileged():
        async with AgentHostBuilder(folder).with_memory().with_conversation_log().build() as host:
            (hit,) = await host.memory.recall("Lisbon")
            assert hit.entry.content == "Ana moved to Lisbon."
            with pytest.raises(StorageUnavailableError, match="read-only"):
                await host.memory.remember("Ana sings.")
    allow(folder, 0o777)
    shutil.rmtree(folder)


async def test_a_full_disk_answers_reads(storage: SqlStorage):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    limit_pages(storage, 1)
    many = [an_entry(str(number), "Long. " * 200) for number in range(500)]
    with pytest.raises(StorageUnavailableError, match="disk is full"):
        await storage.write(SCOPE, lambda unit: unit.entries.add(many))
    assert await storage.read(SCOPE, lambda view: [one.id for one in view.records()]) == ["a"]
