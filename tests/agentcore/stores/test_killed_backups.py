"""A process killed while it backs up or restores leaves whole backups, and a memory as it was or wholly restored."""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentcore.domain.records import text_of
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.backup import backup_folder, examined
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, an_entry

pytestmark = pytest.mark.slow

POINTS = int(os.environ.get("KILLED_BACKUPS", "6"))
SCRIPT = Path(__file__).with_name("backing_up.py")
SECRET = "Ana is pregnant since the first week of May."
ENTRIES = [an_entry(f"e{number}", f"Ana has {number} lamps in her house. " * 20) for number in range(1_500)]


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def seconds_of(*arguments: object) -> float:
    """How long the work takes that is going to be killed."""
    with started(*arguments) as process:
        begun = time.monotonic()
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        return time.monotonic() - begun


def kill_somewhere(taken: float, chance: random.Random, *arguments: object) -> None:
    with started(*arguments) as process:
        time.sleep(chance.uniform(0, taken))
        process.kill()


async def texts(path: Path, open_storage: Any) -> set[str | None]:
    storage = await open_storage(path)
    found = await storage.read(SCOPE, lambda view: {text_of(one) for one in view.records()})
    await storage.stop()
    return found


async def filled(storage: SqlStorage) -> None:
    await storage.write(SCOPE, lambda unit: unit.entries.add([*ENTRIES, an_entry("secret", SECRET)]))


async def test_whatever_is_killed_each_backup_that_is_there_is_whole(path: Path, open_storage: Any):
    storage = await open_storage(path)
    await filled(storage)
    await storage.stop()
    taken = await asyncio.to_thread(seconds_of, "backup", path)
    chance = random.Random(1)
    for _ in range(POINTS):
        await asyncio.to_thread(kill_somewhere, taken, chance, "backup", path)
    storage = await open_storage(path)
    await storage.backup()
    kept = sorted(backup_folder(path.parent).iterdir())
    assert [one.name for one in kept if ".partial" in one.name] == []
    assert {examined(one).entries for one in kept} == {len(ENTRIES) + 1}


async def test_whatever_is_killed_a_restore_is_done_or_not_and_brings_nothing_back(
    path: Path, clock: ManualClock, open_storage: Any
):
    del clock
    storage = await open_storage(path)
    await filled(storage)
    backup = (await storage.backup()).path
    await storage.write(SCOPE, lambda unit: unit.forget("secret"))
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("later", "It came later.")]))
    await storage.stop()
    now = (await storage_file(path), await texts(path, open_storage))
    taken = await asyncio.to_thread(seconds_of, "restore", path, backup)
    restored = await texts(path, open_storage)
    assert restored == now[1] - {"It came later."}
    chance = random.Random(2)
    for _ in range(POINTS):
        await asyncio.to_thread(path.write_bytes, now[0])
        await asyncio.to_thread(kill_somewhere, taken, chance, "restore", path, backup)
        assert await texts(path, open_storage) in (now[1], restored)
        assert not list(path.parent.glob("snapshot-*"))


async def storage_file(path: Path) -> bytes:
    return await asyncio.to_thread(path.read_bytes)
