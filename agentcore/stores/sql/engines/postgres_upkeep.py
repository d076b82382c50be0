"""Looks after the tables of a PostgreSQL beside what hosts do: clears dead rows, and counts what was imported."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from agentcore.errors import HostNotStartedError
from agentcore.stores.sql.engines.postgres import SCHEMA
from agentcore.stores.sql.schema import metadata

if TYPE_CHECKING:
    import psycopg

_log = logging.getLogger(__name__)

_FEW: Final = 1_000
_SHARE: Final = 5


class Upkeep:
    """Work on the tables on a thread of its own; lives as long as the storage.

    Args:
        engine: Returns what connects.
        name: What the log calls the database.
    """

    def __init__(self, engine: Callable[[], Engine], name: str) -> None:
        self._engine = engine
        self._name = name
        self._thread: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._copied: Counter[str] = Counter()
        self._known: Counter[str] = Counter()

    def clear(self) -> None:
        """Have dead rows of every table cleared; those that an older reader still sees are left to the server."""
        self._begin("VACUUM", [table.name for table in metadata.sorted_tables])

    def count(self, copied: Mapping[str, int]) -> None:
        """Have the server gather statistics of tables that grew by much: until then it reads whole tables.

        Args:
            copied: How many rows came at once, by table.
        """
        if not copied:
            return
        with self._lock:
            self._copied.update(copied)
            much = {name: max(_FEW, self._known[name] // _SHARE) for name in copied}
            grown = [name for name in copied if self._copied[name] >= much[name]]
            for name in grown:
                self._known[name] += self._copied.pop(name)
        self._begin("ANALYZE", grown)

    def finish(self) -> None:
        """Wait for what is under way."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown()

    def _begin(self, command: str, tables: Iterable[str]) -> None:
        named = ", ".join(f"{SCHEMA}.{name}" for name in tables)
        if named:
            with self._lock:
                self._thread = self._thread or ThreadPoolExecutor(1, thread_name_prefix="agentcore-upkeep")
                self._thread.submit(self._do, command, named)

    def _do(self, command: str, tables: str) -> None:
        refused: list[str] = []

        def hear(notice: "psycopg.errors.Diagnostic") -> None:
            refused.append(notice.message_primary or "")

        try:
            with self._engine().connect() as connection:
                driver = cast("psycopg.Connection[Any]", connection.connection.dbapi_connection)
                driver.add_notice_handler(hear)
                try:
                    connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql(f"{command} {tables}")
                finally:
                    driver.remove_notice_handler(hear)
        except (DBAPIError, HostNotStartedError):
            _log.warning("upkeep_failed database=%s command=%s", self._name, command, exc_info=True)
        if refused:
            _log.warning(
                "upkeep_refused database=%s problem=%s tables=%d: have their owner run %s on the schema %s",
                *(self._name, refused[0], len(refused), command, SCHEMA),
            )
