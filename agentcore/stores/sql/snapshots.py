"""Snapshots: a copy of the whole database in a folder of its own, swept away even when its process was killed."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import orjson
from sqlalchemy import Engine

from agentcore.stores.sql.engine import driver_connection
from agentcore.stores.sql.processes import is_gone, machine, process_mark

_PREFIX = "snapshot-"
_OWNER = "owner.json"


def snapshot_folder(beside: Path | None) -> Path:
    """Create a folder in the folder *beside* or, where that is None, among the system's temporary ones.

    Beside the database there is as much room and the same secrecy as for the database itself.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=beside))
    owner = {"host": machine(), "pid": os.getpid(), "mark": process_mark(os.getpid())}
    (folder / _OWNER).write_bytes(orjson.dumps(owner))
    return folder


def sweep_snapshots(beside: Path) -> None:
    """Remove the snapshots of processes that are gone: a forgotten text must not live on in one."""
    for folder in beside.glob(f"{_PREFIX}*"):
        try:
            owner = orjson.loads((folder / _OWNER).read_bytes())
            orphaned = is_gone(str(owner["host"]), int(owner["pid"]), str(owner["mark"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if orphaned:
            shutil.rmtree(folder, ignore_errors=True)


def copy_database(source: Engine, target: Path) -> None:
    """Copy the last committed state; outside a transaction, because the driver's backup opens its own."""
    with driver_connection(source) as driver, closing(sqlite3.connect(target)) as copy:
        copy.execute("PRAGMA synchronous=OFF")
        driver.backup(copy)
