"""A storage that does every write twice: its first commit is refused, as when another writer came in its way."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from agentcore.errors import StorageError, StorageUnavailableError
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.engines.database import Database

WRITES_TWICE = bool(os.environ.get("AGENTCORE_TWICE"))
"""Whether all stores that tests share are such ones; tests that foresee ids fail then, and others say what is wrong."""


class _RefusingFirst:
    """A database of one writer whose first commit of each write is refused."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._refusal: StorageError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        with self._database.writing() as connection:
            yield connection
            if self._refusal is None:
                problem = "was being written to by others"
                self._refusal = StorageUnavailableError(path=self._database.name, problem=problem, remedy="run again")
                raise self._refusal
            self._refusal = None

    def tries_again(self, error: StorageError, failures: int) -> bool:
        return error is self._refusal or self._database.tries_again(error, failures)


class TwiceStorage(SqlStorage):
    """See the module; one writer."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        database: Any = _RefusingFirst(self._database)
        self._database = database
