"""Backs a database up while it is in use, and puts a backup in its place without bringing back what was forgotten.

A backup is one SQLite file without the pages that were freed. It is written under another name, read back whole, and
only then given its own: a kill leaves none, or a whole one.

A restore prepares a copy of the backup beside the database: migrates it, and has it forget and erase what was forgotten
and erased since. That copy then replaces the database's content in one transaction, or not at all.
"""

import errno
import os
import secrets
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Final

from agentcore.errors import InvalidBackupError, StorageUnavailableError
from agentcore.stores.sql.engines.reading_only import ReadingPlace
from agentcore.stores.sql.leases import is_gone, machine, process_mark
from agentcore.stores.sql.schema import KNOWN_REVISIONS, RETIRED_REVISIONS

_BUSY_SECONDS: Final = 10
_PARTIAL: Final = ".partial"
_SUFFIX: Final = ".agentcore-backup.db"
_BEFORE: Final = "-before-migration-of-"
_RECORDS: Final = ("entries", "turns", "skills")
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_ALLOW: Final = "let this user write there, or make that folder yourself and give it to this user"
_TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup that was read back and found whole.

    Args:
        path: The file.
        size: Its size in bytes.
        revision: The revision of its schema.
        entries: Entries in it, of all scopes.
        turns: Turns of conversations in it.
        skills: Skills in it.
    """

    path: Path
    size: int
    revision: str
    entries: int
    turns: int
    skills: int


def backup_folder(data_dir: Path) -> Path:
    """Return where backups go by default: beside the data folder, so that they outlive it.

    Where this process may not write beside it, as in a service that may write to its own folder alone, they go into it.

    Example:
        >>> backup_folder(Path("/nowhere/agent-data")).as_posix()
        '/nowhere/agent-data-backups'
    """
    data_dir = data_dir.absolute()
    beside = data_dir.with_name(f"{data_dir.name}-backups")
    nearest = beside if beside.exists() else beside.parent
    return beside if not nearest.exists() or os.access(nearest, os.W_OK) else data_dir / "backups"


def write_backup(database: Path, folder: Path, at: datetime, *, mark: str = "") -> Backup:
    """Copy the last committed state of *database* into a new file of *folder*, and read it back.

    Args:
        database: The database, which others may use meanwhile.
        folder: Where the file goes; made if it is not there, for its owner alone.
        at: When, for the file's name.
        mark: What the name says besides.

    Raises:
        StorageUnavailableError: the folder or the file cannot be written, or the database not read.
        InvalidBackupError: what was written is damaged; nothing is left of it.
    """
    name = f"{at:%Y%m%dT%H%M%S}{at.microsecond:06d}Z{mark}"
    with _said_of(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sweep(folder)
        partial = _new_file(folder)
    try:
        with _said_of(database):
            _copy(database, partial)
        found = examined(partial)
        with _said_of(folder):
            _flush(partial)
            target = _linked(partial, folder, name)
            _flush(folder)
    finally:
        for left in (partial, partial.with_name(f"{partial.name}-journal")):
            left.unlink(missing_ok=True)
    return replace(found, path=target)


def examined(path: Path) -> Backup:
    """Return what a backup holds, after reading all of it.

    Raises:
        InvalidBackupError: it is not there, is damaged or no backup, or comes from a version that cannot be read here.
    """
    if not path.is_file():
        problem = "it is a folder: name a file in it" if path.is_dir() else "there is no such file"
        raise InvalidBackupError(path=str(path), problem=problem)
    try:
        with closing(_reading(f"{_address(path)}&immutable=1")) as driver:
            (verdict,) = driver.execute("PRAGMA integrity_check(1)").fetchone()
            tables = {str(name) for (name,) in driver.execute(_TABLES)}
            if verdict != "ok":
                raise InvalidBackupError(path=str(path), problem="it is damaged")
            if not tables >= {"alembic_version", *_RECORDS}:
                raise InvalidBackupError(path=str(path), problem="it is no backup of a memory")
            (revision,) = driver.execute("SELECT version_num FROM alembic_version").fetchone()
            counts = {name: driver.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _RECORDS}  # noqa: S608 - constants
    except sqlite3.Error as error:
        raise InvalidBackupError(path=str(path), problem="it is damaged, or no backup of a memory") from error
    if revision in RETIRED_REVISIONS:
        raise InvalidBackupError(path=str(path), problem="it is too old for this version; see docs: back up and move")
    if revision not in KNOWN_REVISIONS:
        raise InvalidBackupError(path=str(path), problem="a later version wrote it; upgrade agentcore-dream")
    return Backup(path=path, size=path.stat().st_size, revision=str(revision), **counts)


def _linked(partial: Path, folder: Path, name: str) -> Path:
    """Give a file its name, or the next that is free: no backup takes the place of another."""
    for ending in chain((_SUFFIX,), (f"-{number}{_SUFFIX}" for number in count(2))):
        target = folder / f"{name}{ending}"
        try:
            os.link(partial, target)
        except FileExistsError:
            continue
        return target
    raise AssertionError


def copy_before_migration(database: Path, found: str, at: datetime) -> Backup:
    """Back up a database that is about to be migrated from the revision *found*; the copy of an earlier one goes.

    Raises:
        StorageUnavailableError: there is no room for the copy, and so nothing is migrated.
    """
    folder = backup_folder(database.parent)
    made = write_backup(database, folder, at, mark=f"{_BEFORE}{found}")
    for earlier in folder.glob(f"*{_BEFORE}*{_SUFFIX}"):
        if earlier != made.path:
            earlier.unlink(missing_ok=True)
    return made


def _copy(database: Path, target: Path) -> None:
    is_writable = os.access(database.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
    place = None if is_writable else ReadingPlace(database)
    try:
        with closing(_reading(_address(database) if place is None else place.address)) as driver:
            driver.execute("VACUUM INTO ?", (str(target),))
    finally:
        if place is not None:
            place.remove()


def _address(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"


def _reading(address: str) -> sqlite3.Connection:
    return sqlite3.connect(address, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)


def _new_file(folder: Path) -> Path:
    """Make an empty file for its owner alone, named after the process that writes it."""
    pid = os.getpid()
    owner = f"{machine()}~{pid}~{process_mark(pid)}".replace(os.sep, "-")
    path = folder / f"{owner}~{secrets.token_hex(4)}{_PARTIAL}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def _sweep(folder: Path) -> None:
    """Remove what processes left that were killed while they wrote."""
    for left in folder.glob(f"*{_PARTIAL}*"):  # its journal, too
        with suppress(ValueError, OSError):
            host, pid, mark, _ = left.name.split("~")
            if is_gone(host, int(pid), mark):
                left.unlink()


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _said_of(path: Path) -> Generator[None]:
    """Say what the system or the database refuses about a path in one sentence."""
    try:
        yield
    except OSError as error:
        problem = f"cannot be written ({os.strerror(error.errno or 0)})"
        remedy = _ALLOW if error.errno in _FORBIDDEN else "free some space, or name another folder"
        raise StorageUnavailableError(path=str(path), problem=problem, remedy=remedy) from error
    except sqlite3.Error as error:
        remedy = "free some space, end what holds the database, and try again"
        raise StorageUnavailableError(
            path=str(path), problem=f"cannot be backed up ({error})", remedy=remedy
        ) from error
