"""Opens a database that cannot be written, because its folder is read-only or the disk is full, to be read."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from agentcore.errors import StorageUnavailableError

_UNWRITABLE: Final = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
)
_PRIMARY: Final = 0xFF


def is_unwritable(refusal: StorageUnavailableError) -> bool:
    """Tell whether the database was refused since it cannot be written; not if it is locked or not there."""
    cause = refusal.__cause__
    code = getattr(getattr(cause, "orig", cause), "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY in _UNWRITABLE


class ReadingPlace:
    """Where a database is read that cannot be written; lives until the storage is closed.

    SQLite reads a database with a write-ahead log only where it can make a file beside it, or finds one there. So it is
    told that nobody changes the file; where the log holds something, both are read in a temporary copy.

    Args:
        path: The database.
    """

    def __init__(self, path: Path) -> None:
        self._copy: Path | None = None
        self.address = f"{path.absolute().as_uri()}?mode=ro"
        if self._is_readable():
            return
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            self._copy = Path(tempfile.mkdtemp(prefix="agentcore-"))
            for one in (path, log):
                shutil.copyfile(one, self._copy / one.name)
            self.address = f"{(self._copy / path.name).as_uri()}?mode=rw"
        else:
            self.address = f"{self.address}&immutable=1"

    def _is_readable(self) -> bool:
        try:
            with closing(sqlite3.connect(self.address, uri=True)) as driver:
                driver.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error:
            return False
        return True

    def remove(self) -> None:
        """Remove the copy, if there is one."""
        if self._copy is not None:
            shutil.rmtree(self._copy, ignore_errors=True)
