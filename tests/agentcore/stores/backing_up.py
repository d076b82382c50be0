"""Backs up, or restores, in a process of its own that says when it begins, so that a test can kill it."""

import asyncio
import sys
from pathlib import Path

from agentcore.clock import SystemClock
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.restore import restore_backup


async def back_up(database: Path) -> None:
    """Back the database up."""
    storage = SqlStorage(database, clock=SystemClock())
    await storage.start()
    print("begun", flush=True)
    await storage.backup()
    print("done", flush=True)
    await storage.stop()


async def restore(database: Path, backup: Path) -> None:
    """Put the backup in the database's place."""
    print("begun", flush=True)
    await restore_backup(backup, database.parent, SystemClock())
    print("done", flush=True)


if __name__ == "__main__":
    paths = [Path(name) for name in sys.argv[2:]]
    asyncio.run(back_up(*paths) if sys.argv[1] == "backup" else restore(*paths))
