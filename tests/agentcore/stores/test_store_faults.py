"""What is wrong with a database file is said in one sentence, and nothing is lost or half-written."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from agentcore.errors import (
    HostNotStartedError,
    StorageCorruptError,
    StorageError,
    StorageTooNewError,
    StorageUnavailableError,
)
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.engines.sqlite import sqlite_engine
from agentcore.stores.sql.schema import REVISION
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, START, an_entry

_SOON = timedelta(milliseconds=40)
_NOBODY = 65_534


@contextmanager
def unprivileged() -> Generator[None]:
    """Be bound by permissions, which the superuser is not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def put(path: Path, content: bytes) -> bytes:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return content


def content(path: Path) -> bytes:
    return path.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def allow(path: Path, mode: int) -> None:
    path.chmod(mode)


def damage(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 4)
        file.write(b"\xff" * (size // 2))


async def sentence_of_opening(path: Path, **options: Any) -> str:
    storage = SqlStorage(path, clock=ManualClock(START), **options)
    with pytest.raises(StorageError) as refused:
        await storage.start()
    with pytest.raises(HostNotStartedError):
        await storage.read(SCOPE, lambda view: view.revision)
    return checked(str(refused.value), path)


def checked(sentence: str, path: Path) -> str:
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "sqlite" not in sentence.lower()
    return sentence


async def filled(path: Path, entries: int = 1) -> None:
    storage = SqlStorage(path, clock=ManualClock(START))
    await storage.start()
    many = [an_entry(str(number)) for number in range(entries)]
    await storage.write(SCOPE, lambda unit: unit.entries.add(many))
    await storage.stop()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path):
    before = put(path, b"Dear diary, " * 500)
    assert "not a readable database" in await sentence_of_opening(path)
    assert content(path) == before
    assert names(path.parent) == [path.name]


async def test_another_programs_database_is_refused_and_left_alone(path: Path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as foreign:
        foreign.execute("CREATE TABLE alembic_version (version_num TEXT)")
        foreign.execute("CREATE TABLE bookmarks (url TEXT)")
        foreign.commit()
    before = content(path)
    assert "another program's" in await sentence_of_opening(path)
    assert content(path) == before
    assert names(path.parent) == [path.name]


async def test_a_database_without_its_revision_is_refused(path: Path):
    await filled(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM alembic_version")
        database.commit()
    assert "damaged" in await sentence_of_opening(path)


async def test_a_newer_schema_is_refused_and_left_alone(path: Path):
    await filled(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    storage = SqlStorage(path, clock=ManualClock(START))
    with pytest.raises(StorageTooNewError, match=r"schema 9999.*upgrade agentcore-dream\.$"):
        await storage.start()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
        database.execute("UPDATE alembic_version SET version_num = ?", (REVISION,))
        database.commit()
    await storage.start()
    assert await storage.read(SCOPE, lambda view: view.revision) == 1
    await storage.stop()


@pytest.mark.parametrize("revision", [f"000{number}" for number in range(1, 9)])
async def test_a_schema_from_before_the_first_release_is_refused_and_left_alone(revision: str, path: Path):
    await filled(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        database.commit()
    before = content(path)
    assert await sentence_of_opening(path) == (
        f"The database {path} has schema {revision}, from before the first release: "
        "open it once with agentcore-dream 0.1.0 at commit e0de29d6ee6b (2026-11-22), then with this version."
    )
    assert content(path) == before
    assert names(path.parent) == [path.name]


async def test_a_damaged_page_is_found_when_it_is_read(path: Path):
    await filled(path, entries=2_000)
    damage(path)
    storage = SqlStorage(path, clock=ManualClock(START))
    with pytest.raises(StorageCorruptError) as refused:
        await read_everything(storage)
    checked(str(refused.value), path)
    await storage.stop()


@pytest.mark.parametrize("damage", ["tags = '[\"tea'", "content = CAST(x'ff41' AS TEXT)"])
async def test_a_damaged_value_is_found_when_it_is_read(path: Path, damage: str):
    await filled(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE entries SET {damage}")
        database.commit()
    storage = SqlStorage(path, clock=ManualClock(START))
    with pytest.raises(StorageCorruptError) as refused:
        await read_everything(storage)
    checked(str(refused.value), path)
    await storage.stop()


async def test_an_empty_file_becomes_a_database(path: Path):
    put(path, b"")
    await filled(path)
    assert content(path).startswith(b"SQLite format 3")


async def test_a_folder_in_the_files_place_is_said_so(path: Path):
    await filled(path)
    assert "cannot be opened" in await sentence_of_opening(path.parent)


async def test_a_file_in_the_folders_place_is_said_so(path: Path):
    await filled(path)
    assert "cannot be created" in await sentence_of_opening(path / "a.db")


async def test_a_folder_that_cannot_be_made_is_said_so(guarded: Path):
    allow(guarded, 0o555)
    with unprivileged():
        assert "cannot be created: make that folder writable" in await sentence_of_opening(guarded / "data" / "a.db")
    assert names(guarded) == []


async def test_a_new_database_in_a_read_only_folder_is_said_so(guarded: Path):
    allow(guarded, 0o555)
    with unprivileged():
        assert "cannot be created: make that folder writable" in await sentence_of_opening(guarded / "a.db")


async def test_an_older_database_in_a_read_only_folder_is_said_so(guarded: Path):
    path = guarded / "a.db"
    await filled(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE alembic_version SET version_num = '0020'")
        database.commit()
    allow(path, 0o444)
    allow(guarded, 0o555)
    before = content(path)
    with unprivileged():
        sentence = await sentence_of_opening(path)
    assert "writable" in sentence
    assert content(path) == before


async def test_a_read_only_file_is_said_so_at_the_first_write(guarded: Path, open_storage: Any):
    path = guarded / "a.db"
    await filled(path)
    allow(path, 0o444)
    with unprivileged():
        storage = await open_storage(path)
        assert await storage.read(SCOPE, lambda view: view.revision) == 1
        with pytest.raises(StorageUnavailableError, match="is read-only: make the file and its folder") as refused:
            await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("new")]))
        await storage.stop()
    checked(str(refused.value), path)


async def test_a_snapshot_needs_no_place_on_the_disk(guarded: Path, open_storage: Any):
    with unprivileged():
        storage = await open_storage(guarded / "a.db")
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    allow(guarded, 0o555)
    with unprivileged():
        async with storage.snapshot(SCOPE) as copy:
            assert await copy.read(SCOPE, lambda view: view.revision) == 1
    allow(guarded, 0o777)


async def test_a_full_disk_leaves_nothing_half_written(storage: SqlStorage, path: Path):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("before")]))
    limit_pages(storage, 1)
    many = [an_entry(str(number), "Long. " * 200) for number in range(500)]
    with pytest.raises(StorageUnavailableError, match="disk is full: free some space and run again") as refused:
        await storage.write(SCOPE, lambda unit: (unit.settings.put("a", "b"), unit.entries.add(many)))
    checked(str(refused.value), path)
    state = await storage.read(
        SCOPE, lambda view: ([record.id for record in view.records()], view.settings.get("a"), view.revision)
    )
    assert state == (["before"], None, 1)
    limit_pages(storage, 2**30)
    await storage.write(SCOPE, lambda unit: unit.entries.add(many))
    assert await storage.read(SCOPE, lambda view: view.revision) == 2


async def test_a_memory_that_may_not_grow_is_said_so(open_storage: Any):
    storage = await open_storage(None)
    limit_pages(storage, 1)
    many = [an_entry(str(number), "Long. " * 200) for number in range(500)]
    with pytest.raises(StorageUnavailableError, match="The database in memory cannot grow"):
        await storage.write(SCOPE, lambda unit: unit.entries.add(many))
    assert await storage.read(SCOPE, lambda view: view.revision) == 0


async def test_a_lock_that_lasts_is_said_so_and_reads_go_on(open_storage: Any, path: Path):
    storage = await open_storage(path, busy_timeout=_SOON)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageUnavailableError, match="is locked by another process: end that process") as refused:
            await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        assert await storage.read(SCOPE, lambda view: view.revision) == 0
        assert await storage.scopes() == []
        other.execute("ROLLBACK")
    checked(str(refused.value), path)
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))


async def test_a_database_can_be_opened_while_another_process_writes(open_storage: Any, path: Path):
    await filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        storage = await open_storage(path, busy_timeout=_SOON)
        assert await storage.read(SCOPE, lambda view: view.revision) == 1


@pytest.mark.parametrize("lock", ["EXCLUSIVE", "IMMEDIATE"])
async def test_a_new_file_that_another_process_holds_is_said_so(path: Path, lock: str):
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        assert "is locked by another process" in await sentence_of_opening(path, busy_timeout=_SOON)


async def test_a_storage_is_used_between_its_start_and_its_stop(path: Path, clock: ManualClock):
    storage = SqlStorage(path, clock=clock)
    for _ in range(2):
        for use in (storage.read, storage.write):
            with pytest.raises(HostNotStartedError):
                await use(SCOPE, lambda view: view.revision)
        with pytest.raises(HostNotStartedError):
            await storage.scopes()
        with pytest.raises(HostNotStartedError):
            await storage.snapshot(SCOPE).__aenter__()
        await storage.start()
        await storage.stop()
        await storage.stop()


async def test_what_was_committed_is_there_after_a_restart(storage: SqlStorage, open_storage: Any, path: Path):
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
    await storage.stop()
    again = await open_storage(path)
    assert await again.read(SCOPE, lambda view: list(view.records())) == [an_entry("a")]
    assert await again.scopes() == [SCOPE]


def test_what_the_database_refuses_is_not_repeated_in_the_error():
    engine = sqlite_engine(None, writes=True)
    with engine.connect() as connection, pytest.raises(DBAPIError) as refused:
        connection.execute(text("SELECT :told FROM nowhere"), {"told": "Ana likes tea"})
    assert "Ana likes tea" not in str(refused.value)


async def read_everything(storage: SqlStorage) -> None:
    await storage.start()
    await storage.read(SCOPE, lambda view: list(view.records()))


def limit_pages(storage: SqlStorage, count: int) -> None:
    pooled = storage._database.writer.raw_connection()
    pooled.driver_connection.execute(f"PRAGMA max_page_count={count}")
    pooled.close()
