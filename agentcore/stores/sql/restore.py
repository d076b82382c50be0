"""Puts a backup in the place of a database; what was forgotten, erased, revoked or switched off since stays so."""

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from agentcore.clock import Clock
from agentcore.domain.off_limits import OffLimitsTopic
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.domain.text import fold_key
from agentcore.errors import InvalidBackupError, StorageCorruptError, StorageUnavailableError
from agentcore.stores.forgetting import Erasure, Forgotten, Tombstone
from agentcore.stores.sql.backup import Backup, backup_folder, examined, write_backup
from agentcore.stores.sql.engines.sqlite import held_alone, snapshot_folder, storage_faults
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.sql_storage import FILE_NAME, SqlStorage
from agentcore.stores.sql.standing import Standing, keep_standing, standing_in
from agentcore.stores.storage import ReadView, UnitOfWork

_TRIES: Final = 3
"""So often a restore begins anew where something is forgotten while it prepares."""
_RECALL: Final = "recall"
_COPIES: Final = (
    "SELECT kind, place, records, made_at, workspace, observer, observed FROM known_copies"
    " LEFT JOIN scopes ON scopes.pk = known_copies.scope_id"
)
_NOTE: Final = (
    "INSERT INTO known_copies (kind, place, records, made_at, scope_id) SELECT ?1, ?2, ?3, ?4, (SELECT pk FROM scopes"
    " WHERE workspace = ?5 AND observer = ?6 AND observed = ?7) WHERE NOT EXISTS"
    " (SELECT 1 FROM known_copies WHERE place = ?2 AND made_at = ?4)"
)
_STATE: Final = (
    "SELECT (SELECT count(*) FROM tombstones), (SELECT max(forgotten_at) FROM tombstones),"
    " (SELECT count(*) FROM erasures), (SELECT max(erased_at) FROM erasures), (SELECT count(*) FROM off_limits_topics)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did.

    Args:
        backup: What stands there now.
        former: The backup that was made of what stood there before; None if nothing that can be read did.
        obeyed: By scope, what of the backup was removed and redacted, since it was forgotten after the backup was made.
    """

    backup: Backup
    former: Backup | None
    obeyed: dict[Scope, Forgotten]


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What people decided on the database that is given up, and a restore keeps.

    Args:
        state: What tells whether anything was decided since it was read.
        erasures: Scopes that were erased.
        tombstones: What was forgotten, by scope.
        topics: What is off limits, by scope.
        copies: Rows about files that hold copies.
        standing: Tokens, switches and settings that hold.
    """

    state: tuple[object, ...]
    erasures: Sequence[Erasure] = ()
    tombstones: dict[Scope, list[Tombstone]] = field(default_factory=dict[Scope, "list[Tombstone]"])
    topics: dict[Scope, list[OffLimitsTopic]] = field(default_factory=dict[Scope, "list[OffLimitsTopic]"])
    copies: Sequence[tuple[object, ...]] = ()
    standing: Standing = field(default_factory=Standing)


async def restore_backup(
    path: Path, data_dir: Path, clock: Clock, *, obeying: bool = True, kept: Collection[str] = ()
) -> Restored:
    """Put a backup in the place of the database of a data folder, which nobody else may have open.

    What stands there is backed up first. What was forgotten there since the backup is forgotten in it, too, and its
    off-limits topics are as they are there. Tokens are those of there, as they are; what is off there stays off.
    A kill at any instant leaves the database as it was, or wholly restored.

    Args:
        path: The backup.
        data_dir: The data folder, made if it is not there.
        clock: Where instants come from.
        obeying: Whether what was forgotten since has to be known; False restores even where the database there is
            damaged and cannot tell.
        kept: Names of the settings of scopes that hold afterwards as well where they hold now, such as a pause.

    Raises:
        InvalidBackupError: the file is no backup, is damaged, or comes from a later version.
        StorageUnavailableError: another process has the database open, or the disk is full.
        StorageCorruptError: the database there cannot tell what was forgotten since.
    """
    await asyncio.to_thread(examined, path)
    await asyncio.to_thread(_make_folder, data_dir)
    database = data_dir / FILE_NAME
    for _ in range(_TRIES):
        staging = await asyncio.to_thread(snapshot_folder, data_dir)
        try:
            done = await _attempt(path, staging / FILE_NAME, database, clock, obeying=obeying, kept=kept)
        finally:
            await asyncio.to_thread(shutil.rmtree, staging, ignore_errors=True)
        if done is not None:
            return done
    remedy = "end the processes that use it and run again"
    raise StorageUnavailableError(path=str(database), problem="changes while it is to be restored", remedy=remedy)


async def _attempt(
    path: Path, prepared: Path, database: Path, clock: Clock, *, obeying: bool, kept: Collection[str]
) -> Restored | None:
    """Restore once; None if something was decided meanwhile."""
    wishes, former = await _given_up(database, clock, obeying=obeying, kept=kept)
    await asyncio.to_thread(_copy_privately, path, prepared)
    obeyed = await _prepare(prepared, database.parent, wishes, clock)
    found = await asyncio.to_thread(examined, prepared)
    if not await asyncio.to_thread(_put_in_place, prepared, database, wishes, kept):
        return None
    return Restored(backup=found, former=former, obeyed=obeyed)


async def _given_up(
    database: Path, clock: Clock, *, obeying: bool, kept: Collection[str]
) -> tuple[_Wishes | None, Backup | None]:
    """Return what people decided on the database that is given up, and a backup of it; nothing if there is none."""
    if not await asyncio.to_thread(database.exists):
        return None, None
    try:
        await asyncio.to_thread(_require_alone, database)
        wishes = await _wishes_of(database, clock, kept)
        folder = backup_folder(database.parent)
        former = await asyncio.to_thread(write_backup, database, folder, clock.now(), mark="-before-restore")
    except (StorageCorruptError, InvalidBackupError) as error:
        if obeying:
            raise StorageCorruptError(path=str(database)) from error
        return None, None
    count = former.entries + former.turns + former.skills
    copy = ("backup", str(former.path), count, to_micros(clock.now()), None, None, None)
    return replace(wishes, copies=(*wishes.copies, copy)), former


async def _wishes_of(database: Path, clock: Clock, kept: Collection[str]) -> _Wishes:
    """Read what was forgotten and what is off limits, in every scope, and what else holds."""
    storage = SqlStorage(database, clock=clock)
    await storage.start()
    try:
        erasures = await storage.erasures()
        found = {scope: await storage.read(scope, _decided) for scope in await storage.scopes()}
    finally:
        await storage.stop()
    state, copies, standing = await asyncio.to_thread(_state_of, database, kept)
    stones = {scope: tombstones for scope, (tombstones, _) in found.items() if tombstones}
    limits = {scope: topics for scope, (_, topics) in found.items() if topics}
    return _Wishes(state, erasures, stones, limits, copies, standing)


def _decided(view: ReadView) -> tuple[list[Tombstone], list[OffLimitsTopic]]:
    return view.tombstones.all(), list(view.of_kind(RecordKind.OFF_LIMITS_TOPIC).every())


async def _prepare(prepared: Path, folder: Path, wishes: _Wishes | None, clock: Clock) -> dict[Scope, Forgotten]:
    """Migrate the copy of a backup and do to it what people decided since; return what that removed, by scope."""
    storage = SqlStorage(prepared, clock=clock, key=ForgetKey.of(folder), keeps_copies=False)
    await storage.start()
    done: dict[Scope, Forgotten] = {}
    try:
        known = {(one.scope, one.erased_at) for one in await storage.erasures()}
        for erasure in wishes.erasures if wishes else ():
            if (erasure.scope, erasure.erased_at) not in known:
                await storage.write(erasure.scope, lambda unit, at=erasure.erased_at: unit.erasure.begin(at))
                await storage.write(erasure.scope, lambda unit: unit.erasure.finish())
        for scope, decided in _by_scope(wishes).items():
            done[scope] = await storage.write(scope, lambda unit, of=decided: _obey(unit, *of))
        for scope, name, value in wishes.standing.settings if wishes else ():
            await storage.write(scope, lambda unit, of=(name, value): unit.settings.put(*of))
    finally:
        await storage.stop()
    if wishes is not None:
        await asyncio.to_thread(keep_standing, prepared, wishes.standing)
        with closing(sqlite3.connect(prepared)) as driver:
            driver.executemany(_NOTE, wishes.copies)
            driver.commit()
    return {scope: one for scope, one in done.items() if one.removed or one.redacted}


def _by_scope(wishes: _Wishes | None) -> dict[Scope, tuple[list[Tombstone], list[OffLimitsTopic]]]:
    if wishes is None:
        return {}
    scopes = sorted({*wishes.tombstones, *wishes.topics})
    return {scope: (wishes.tombstones.get(scope, []), wishes.topics.get(scope, [])) for scope in scopes}


def _obey(unit: UnitOfWork, stones: Sequence[Tombstone], topics: Sequence[OffLimitsTopic]) -> Forgotten:
    store = unit.of_kind(RecordKind.OFF_LIMITS_TOPIC)
    there: dict[str, OffLimitsTopic] = {topic.id: topic for topic in store.every()}
    known = {fold_key(topic.words) for topic in there.values()}
    new = [topic for topic in topics if fold_key(topic.words) not in known]
    reworded = [(there[topic.id], replace(there[topic.id], words=topic.words)) for topic in new if topic.id in there]
    store.apply([*reworded, *((None, topic) for topic in new if topic.id not in there)])
    return unit.obey(stones)


def _put_in_place(prepared: Path, database: Path, wishes: _Wishes | None, kept: Collection[str]) -> bool:
    """Put the prepared database in the place of another, in one transaction; False if somebody decided something."""
    shutil.rmtree(database.parent / _RECALL, ignore_errors=True)
    if wishes is None:
        for left in (database, *(database.with_name(f"{database.name}{end}") for end in ("-wal", "-shm", "-journal"))):
            if left.exists():
                left.replace(left.with_name(f"{left.name}.damaged"))
        prepared.replace(database)
        return True
    with held_alone(database) as driver:
        if driver.execute(_STATE).fetchone() != wishes.state or standing_in(driver, kept) != wishes.standing:
            return False
        with closing(sqlite3.connect(prepared)) as source:
            source.backup(driver)
    return True


def _require_alone(database: Path) -> None:
    with held_alone(database):
        pass


def _state_of(database: Path, kept: Collection[str]) -> tuple[tuple[object, ...], list[tuple[object, ...]], Standing]:
    with storage_faults(str(database)), closing(sqlite3.connect(database)) as driver:
        copies = driver.execute(_COPIES).fetchall()
        return driver.execute(_STATE).fetchone(), copies, standing_in(driver, kept)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        remedy = "name another data folder"
        raise StorageUnavailableError(path=str(folder), problem="cannot be made", remedy=remedy) from error


def _copy_privately(path: Path, target: Path) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file, path.open("rb") as source:
            shutil.copyfileobj(source, file)
    except OSError as error:
        remedy = "free some space and run again"
        raise StorageUnavailableError(path=str(target), problem="cannot be written", remedy=remedy) from error
