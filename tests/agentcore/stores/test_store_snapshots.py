"""Snapshots of a scope; and copies that stand beside the database, which never outlive their process for long."""

import asyncio
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentcore.domain import Decay, Scope
from agentcore.errors import HostNotStartedError
from agentcore.stores.sql import SqlStorage, machine, process_mark, snapshot_folder
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE, an_entry


def snapshots(path: Path) -> list[str]:
    return sorted(folder.name for folder in path.parent.glob("snapshot-*"))


def leave_behind(path: Path, **owner: Any) -> Path:
    """Make a snapshot's folder as another process would."""
    path.parent.mkdir(exist_ok=True)
    folder = snapshot_folder(path.parent)
    (folder / "agentcore.db").write_bytes(b"secrets")
    usual = orjson.loads((folder / "owner.json").read_bytes())
    (folder / "owner.json").write_bytes(orjson.dumps(usual | owner))
    return folder


async def test_a_snapshot_leaves_nothing_beside_the_database(storage: SqlStorage, path: Path):
    beside = sorted(path.parent.iterdir())
    async with storage.snapshot(SCOPE) as copy:
        await copy.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        assert sorted(path.parent.iterdir()) == beside
    assert sorted(path.parent.iterdir()) == beside


async def test_a_snapshot_whose_user_is_cancelled_is_closed(storage: SqlStorage):
    kept: list[SqlStorage] = []

    async def use() -> None:
        async with storage.snapshot(SCOPE) as copy:
            kept.append(copy)
            await asyncio.Event().wait()

    for steps in range(12):
        using = asyncio.create_task(use())
        for _ in range(steps):
            await asyncio.sleep(0.002)
        using.cancel()
        with pytest.raises(asyncio.CancelledError):
            await using
    for copy in kept:
        with pytest.raises(HostNotStartedError):
            await copy.scopes()


async def test_a_snapshot_holds_one_scope_alone(storage: SqlStorage):
    other = Scope(SCOPE.workspace, SCOPE.observer, "somebody-else")
    for scope in (SCOPE, other):
        await storage.write(scope, lambda unit: unit.entries.add([an_entry("a", scope=unit.scope)]))
    async with storage.snapshot(SCOPE) as copy:
        assert await copy.read(SCOPE, lambda view: [one.id for one in view.records()]) == ["a"]
        assert await copy.read(other, lambda view: list(view.records())) == []


async def test_a_snapshot_reads_importance_as_its_original_does(path: Path, clock: ManualClock):
    storage = SqlStorage(path, clock=clock, decay=Decay(grace=timedelta(0), half_life=timedelta(days=1)))
    await storage.start()
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a", base=0.8)]))
    clock.advance(timedelta(days=1))
    async with storage.snapshot(SCOPE) as copy:
        assert (await copy.read(SCOPE, lambda view: view.entries.get("a"))).importance == pytest.approx(0.4)
    await storage.stop()


async def test_what_a_killed_process_left_is_swept_away(open_storage: Any, path: Path):
    dead = leave_behind(path, pid=2**22 + 1)
    living = leave_behind(path)
    elsewhere = leave_behind(path, host="another-machine", pid=2**22 + 1)
    unmarked = leave_behind(path)
    (unmarked / "owner.json").unlink()
    begun = snapshot_folder(path.parent)
    (begun / "owner.json").unlink()
    await open_storage(path)
    assert snapshots(path) == sorted(folder.name for folder in (living, elsewhere, unmarked))
    assert not dead.exists()
    assert not begun.exists()


def test_a_snapshot_is_its_owners_alone(path: Path):
    folder = leave_behind(path)
    assert folder.stat().st_mode & 0o077 == 0
    owner = orjson.loads((folder / "owner.json").read_bytes())
    assert owner == {"host": machine(), "pid": os.getpid(), "mark": process_mark(os.getpid())}
