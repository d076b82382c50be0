"""Driver errors become the sentences of `agentcore.errors`."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import orjson
from sqlalchemy.exc import DBAPIError

from agentcore.errors import StorageCorruptError, StorageUnavailableError

_LOCKED = ("is locked by another process", "end that process or try again")
_READ_ONLY = ("is read-only", "make the file and its folder writable, or choose another data directory")
_FULL = ("cannot grow because the disk is full", "free some space and run again")
_UNREACHABLE = ("cannot be opened", "check that its folder exists and is writable and that it is a file")
_BROKEN_DISK = ("cannot be read or written", "check the disk, its free space and permissions")

_PROBLEMS = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _BROKEN_DISK,
}
_CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_UNDECODABLE = "Could not decode to UTF-8"
"""What Python's driver says, without a code, of a text that is none."""
_PRIMARY = 0xFF
"""SQLite keeps the primary code in the lowest byte of the extended one."""

UNREADABLE: Final = (ArithmeticError, LookupError, TypeError, ValueError)
"""What is raised where a value of a row is not what the storage writes there; JSON's error is one of them."""


class DamagedRowError(Exception):
    """A row holds a value that the storage never wrote; `storage_faults` says it of the database."""


@contextmanager
def storage_faults(path: str) -> Generator[None]:
    """Translate what the driver raises about *path*, and what a damaged row is; programming errors pass unchanged."""
    try:
        yield
    except (DamagedRowError, orjson.JSONDecodeError) as error:
        # Only the storage writes the JSON in its columns.
        raise StorageCorruptError(path=path) from error
    except DBAPIError as error:
        _translate(error.orig, path)
        raise
    except sqlite3.Error as error:
        _translate(error, path)
        raise


def _translate(error: BaseException | None, path: str) -> None:
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    if code in _PROBLEMS:
        problem, remedy = _PROBLEMS[code]
        raise StorageUnavailableError(path=path, problem=problem, remedy=remedy) from error
    if code in _CORRUPT or (isinstance(error, sqlite3.OperationalError) and _UNDECODABLE in str(error)):
        raise StorageCorruptError(path=path) from error
