"""Driver errors become the sentences of `agentcore.errors`."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DatabaseError, DBAPIError

from agentcore.errors import StorageCorruptError, StorageUnavailableError

_PROBLEMS = (
    ("database is locked", "is locked by another process", "end that process or try again"),
    ("database table is locked", "is locked by another process", "end that process or try again"),
    ("database or disk is full", "cannot grow because the disk is full", "free some space and run again"),
    ("readonly database", "is read-only", "make the file and its folder writable, or choose another data directory"),
    ("unable to open", "cannot be opened", "check that its folder exists and is writable"),
    ("disk i/o error", "cannot be read or written", "check the disk, its free space and permissions"),
)
_CORRUPT = ("file is not a database", "malformed", "encrypted")


@contextmanager
def storage_faults(path: str) -> Iterator[None]:
    """Translate what the driver raises about *path*; programming errors pass unchanged."""
    try:
        yield
    except DBAPIError as error:
        message = str(error.orig).lower()
        for sign, problem, remedy in _PROBLEMS:
            if sign in message:
                raise StorageUnavailableError(path=path, problem=problem, remedy=remedy) from error
        if isinstance(error, DatabaseError) and any(sign in message for sign in _CORRUPT):
            raise StorageCorruptError(path=path) from error
        raise
