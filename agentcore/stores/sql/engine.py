"""Engines: one that writes, one that can only read."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL, Connection
from sqlalchemy.pool import StaticPool

BUSY_TIMEOUT_MS = 10_000
"""How long a writer waits for another process; a step holds the file for about 50 ms."""

_CACHE_KIB = 65_536


def sqlite_engine(path: Path | None, *, writes: bool) -> Engine:
    """Open an engine on the file *path*, or on a private database in memory when it is None.

    The writing engine begins IMMEDIATE, so that a transaction never fails half-way for want of the write lock; the
    reading one is barred from writing by the database itself.
    """
    url = URL.create("sqlite+pysqlite", database=str(path) if path else ":memory:")
    options: dict[str, Any] = {"connect_args": {"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000}}
    if path is None:
        options["poolclass"] = StaticPool
    engine = create_engine(url, **options)
    begin = "BEGIN IMMEDIATE" if writes else "BEGIN"

    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None
        pragmas = [
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            f"cache_size=-{_CACHE_KIB}",
            "temp_store=MEMORY",
        ]
        if writes:
            pragmas += ["journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"]
        elif path is not None:
            pragmas += ["query_only=ON"]
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine
