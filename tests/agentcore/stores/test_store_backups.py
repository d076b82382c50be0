"""A backup is whole, private and made while the memory is in use; a restore brings back nothing that was forgotten."""

import asyncio
import os
import shutil
import sqlite3
import stat
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from test_store_faults import content, damage, names
from test_store_migrations import upgrade_to

from agentcore.domain import RecordKind, Scope
from agentcore.errors import InvalidBackupError, InvalidOptionsError, StorageCorruptError, StorageUnavailableError
from agentcore.hosting.off_limits import OffLimits
from agentcore.hosting.switches import Switchboard
from agentcore.hosting.tokens import AccessTokens
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.backup import backup_folder, examined, write_backup
from agentcore.stores.sql.engines.sqlite import sqlite_engine
from agentcore.stores.sql.leases import process_mark
from agentcore.stores.sql.restore import Restored, restore_backup
from agentcore.stores.sql.schema import REVISION
from agentcore.stores.values import SwitchLevel, SwitchSetting
from agentcore.testing import ManualClock, SequentialIds
from agentcore.testing.contracts.samples import MINUTE, OTHER_SCOPE, SCOPE, a_turn, an_entry, an_off_limits_topic

SECRET = "Ana is pregnant since the first week of May."


@pytest.fixture(autouse=True)
def generous_umask() -> Generator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


async def told(storage: SqlStorage, scope: Scope = SCOPE) -> list[str]:
    return await storage.read(
        scope, lambda view: sorted(one.content for one in view.records() if hasattr(one, "content"))
    )


async def add(storage: SqlStorage, *contents: str, scope: Scope = SCOPE) -> None:
    entries = [an_entry(f"e{place}-{content[:3]}", content, scope=scope) for place, content in enumerate(contents)]
    await storage.write(scope, lambda unit: unit.entries.add(entries))


async def restored(backup: Path, path: Path, clock: ManualClock, **terms: Any) -> Restored:
    clock.advance(MINUTE)
    return await restore_backup(backup, path.parent, clock, **terms)


async def test_a_backup_is_a_whole_private_file_outside_of_the_data_folder(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    await add(storage, "Ana moved.", "Ana sings.")
    made = await storage.backup()
    assert made.path.parent == backup_folder(path.parent)
    assert path.parent not in made.path.parents
    assert (made.entries, made.turns, made.revision) == (2, 0, REVISION)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (made.path.parent, made.path)] == [0o700, 0o600]
    assert examined(made.path) == made
    again = await storage.backup()
    assert again.path != made.path
    assert sorted(made.path.parent.iterdir()) == sorted([made.path, again.path])


async def test_a_backup_is_of_one_instant_while_others_write(path: Path, tmp_path: Path, open_storage: Any):
    storage = await open_storage(path)

    async def write() -> None:
        for number in range(60):
            pair = [an_entry(f"{side}{number}", f"Pair {number} {side}.") for side in "ab"]
            await storage.write(SCOPE, lambda unit, pair=pair: unit.entries.add(pair))

    writing = asyncio.create_task(write())
    made = [await storage.backup(tmp_path / "kept") for _ in range(8)]
    await writing
    for one in made:
        with closing(sqlite3.connect(one.path)) as database:
            ids = {row[0] for row in database.execute("SELECT id FROM entries")}
        assert {f"a{one[1:]}" for one in ids} | {f"b{one[1:]}" for one in ids} == ids


async def test_a_backup_holds_no_page_of_what_was_removed_before_and_no_key(path: Path, open_storage: Any):
    storage = await open_storage(path)
    await add(storage, SECRET)
    (entry,) = await storage.read(SCOPE, lambda view: list(view.entries.every()))
    await storage.write(SCOPE, lambda unit: unit.forget(entry.id))
    made = await storage.backup()
    content = made.path.read_bytes()
    assert SECRET.encode() not in content
    key = path.parent / "forget.key"
    assert not key.exists() or key.read_bytes()[10:40] not in content


async def test_a_memory_that_lies_in_no_file_has_no_backup(open_storage: Any):
    storage = await open_storage(None)
    with pytest.raises(StorageUnavailableError, match="give the host a data directory"):
        await storage.backup()


async def test_a_folder_that_cannot_be_written_is_said_so(path: Path, tmp_path: Path, open_storage: Any):
    storage = await open_storage(path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidOptionsError, match="it is a file: name a folder"):
        await storage.backup(tmp_path / "file")
    with pytest.raises(StorageUnavailableError, match="name another folder"):
        await storage.backup(tmp_path / "file" / "below")


async def test_what_a_killed_process_left_is_removed_by_the_next_backup(path: Path, open_storage: Any):
    storage = await open_storage(path)
    folder = backup_folder(path.parent)
    folder.mkdir()
    made = await storage.backup()
    name = next(iter(folder.glob("*"))).name
    left = folder / f"{os.uname().nodename}~999999~{process_mark(os.getpid())}~0a1b.partial"
    left.write_text(SECRET)
    mine = folder / "elsewhere~1~x.y.1~0a1b.partial"
    mine.touch()
    await storage.backup()
    assert not left.exists()
    assert mine.exists()
    assert made.path.name == name


async def test_a_restore_brings_back_what_there_was_and_keeps_what_there_is_as_a_backup(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    await add(storage, "Ana moved.")
    made = await storage.backup()
    await add(storage, "Ben came later.")
    await storage.stop()
    done = await restored(made.path, path, clock)
    storage = await open_storage(path)
    assert await told(storage) == ["Ana moved."]
    assert done.former is not None
    await storage.stop()
    await restored(done.former.path, path, clock)
    storage = await open_storage(path)
    assert await told(storage) == ["Ana moved.", "Ben came later."]


async def test_what_was_forgotten_since_is_forgotten_in_what_is_restored(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    turn = a_turn("t1", SECRET)
    await storage.write(SCOPE, lambda unit: unit.turns.add([turn]))
    await add(storage, SECRET, "Ana moved.")
    await add(storage, SECRET, scope=OTHER_SCOPE)
    made = await storage.backup()
    clock.advance(MINUTE)
    (entry,) = [
        one for one in await storage.read(SCOPE, lambda view: list(view.entries.every())) if one.content == SECRET
    ]
    await storage.write(SCOPE, lambda unit: unit.forget(entry.id))
    await storage.stop()
    assert SECRET.encode() in made.path.read_bytes()
    done = await restored(made.path, path, clock)
    assert {scope: one.removed for scope, one in done.obeyed.items()} == {SCOPE: (entry.id,)}
    storage = await open_storage(path)
    assert SECRET not in await told(storage)
    assert "Ana moved." in await told(storage)
    assert await told(storage, OTHER_SCOPE) == [SECRET]


async def test_a_scope_that_was_erased_since_is_erased_in_what_is_restored(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    await add(storage, SECRET)
    await add(storage, "Ben sings.", scope=OTHER_SCOPE)
    made = await storage.backup()
    await storage.write(SCOPE, lambda unit: unit.erasure.begin())
    await storage.write(SCOPE, lambda unit: unit.erasure.finish())
    later = await storage.backup()
    await storage.stop()
    for backup in (made, later):
        await restored(backup.path, path, clock)
        storage = await open_storage(path)
        assert await told(storage) == []
        assert await told(storage, OTHER_SCOPE) == ["Ben sings."]
        await storage.stop()
        assert SECRET.encode() not in content(path)


async def test_what_came_after_an_erasure_outlives_restores_of_both_an_earlier_and_a_later_backup(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    await add(storage, SECRET)
    earlier = await storage.backup()
    await storage.write(SCOPE, lambda unit: unit.erasure.begin())
    await storage.write(SCOPE, lambda unit: unit.erasure.finish())
    clock.advance(MINUTE)
    await add(storage, "Ana sings.")
    later = await storage.backup()
    await storage.stop()
    for backup, left in ((earlier, []), (later, ["Ana sings."]), (earlier, [])):
        await restored(backup.path, path, clock)
        storage = await open_storage(path)
        assert await told(storage) == left
        assert len(await storage.erasures()) == 1
        await storage.stop()


async def test_off_limits_topics_and_known_backups_outlive_a_restore(path: Path, clock: ManualClock, open_storage: Any):
    storage = await open_storage(path)
    topics = RecordKind.OFF_LIMITS_TOPIC
    old, new = an_off_limits_topic("a"), an_off_limits_topic("b", words="what I earn")
    await storage.write(SCOPE, lambda unit: unit.of_kind(topics).apply([(None, old)]))
    made = await storage.backup()
    await storage.write(SCOPE, lambda unit: unit.of_kind(topics).apply([(None, new)]))
    await storage.stop()
    done = await restored(made.path, path, clock)
    storage = await open_storage(path)
    assert await storage.read(SCOPE, lambda view: list(view.of_kind(topics).every())) == [old, new]
    with closing(sqlite3.connect(path)) as database:
        places = {row[0] for row in database.execute("SELECT place FROM known_copies")}
    assert done.former is not None
    assert places == {str(made.path), str(done.former.path)}


async def test_a_database_that_is_in_use_is_not_replaced(path: Path, clock: ManualClock, open_storage: Any):
    storage = await open_storage(path)
    await add(storage, "Ana moved.")
    made = await storage.backup()
    with pytest.raises(StorageUnavailableError, match="locked by another process"):
        await restored(made.path, path, clock)
    await storage.stop()
    await restored(made.path, path, clock)


@pytest.mark.parametrize("kind", ["missing", "empty", "text", "foreign", "damaged", "later", "ancient"])
async def test_a_file_that_is_no_backup_restores_nothing(path: Path, clock: ManualClock, open_storage: Any, kind: str):
    storage = await open_storage(path)
    await add(storage, *(f"Ana has {number} lamps." for number in range(300)))
    made = (await storage.backup()).path
    await storage.stop()
    if kind == "missing":
        made.unlink()
    elif kind in {"empty", "text"}:
        made.write_text("" if kind == "empty" else "no database at all " * 100)
    elif kind == "damaged":
        damage(made)
    else:
        with closing(sqlite3.connect(made)) as database:
            if kind == "foreign":
                database.execute("DROP TABLE alembic_version")
            else:
                number = "9999" if kind == "later" else "0008"
                database.execute("UPDATE alembic_version SET version_num = ?", (number,))
            database.commit()
    before = content(path)
    with pytest.raises(InvalidBackupError, match=r"cannot be used: .+\.$"):
        await restored(made, path, clock)
    assert content(path) == before


async def test_a_backup_is_restored_where_there_is_nothing(path: Path, clock: ManualClock, open_storage: Any):
    storage = await open_storage(path)
    await add(storage, "Ana moved.")
    made = await storage.backup()
    await storage.stop()
    shutil.rmtree(path.parent)
    done = await restored(made.path, path, clock)
    assert done.former is None
    storage = await open_storage(path)
    assert await told(storage) == ["Ana moved."]
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path)] == [0o700, 0o600]


async def test_a_damaged_database_gives_way_only_when_it_is_said_that_its_forgets_are_lost(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    await add(storage, *(f"Ana has {number} lamps." for number in range(300)))
    made = await storage.backup()
    await storage.stop()
    damage(path)
    with pytest.raises(StorageCorruptError):
        await restored(made.path, path, clock)
    done = await restored(made.path, path, clock, obeying=False)
    assert done.former is None
    storage = await open_storage(path)
    assert len(await told(storage)) == 300
    assert path.with_name(f"{path.name}.damaged").exists()


def of_an_earlier_version(path: Path) -> bytes:
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    engine = sqlite_engine(path, writes=True)
    upgrade_to(engine, "0020")
    engine.dispose()
    return path.read_bytes()


async def test_a_database_is_copied_before_it_is_migrated_and_one_such_copy_is_kept(
    path: Path, clock: ManualClock, open_storage: Any
):
    for _ in range(2):
        of_an_earlier_version(path)
        storage = await open_storage(path)
        await storage.stop()
        clock.advance(MINUTE)
    (copy,) = names(backup_folder(path.parent))
    assert "before-migration-of-0020" in copy
    kept = backup_folder(path.parent) / copy
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert examined(kept).revision == "0020"


async def test_without_room_for_the_copy_nothing_is_migrated(path: Path, open_storage: Any):
    of_an_earlier_version(path)
    backup_folder(path.parent).touch()
    with pytest.raises(StorageUnavailableError, match="free some space"):
        await open_storage(path)
    assert examined(path).revision == "0020"


async def test_a_restore_brings_back_no_topic_that_is_allowed_again_and_no_former_words(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    ids = SequentialIds("topic")
    limits = OffLimits(SCOPE, storage=storage, ids=ids)
    for words in ("my health", "what I earn", "my love life"):
        await limits.add(words)
    made = await storage.backup()
    await limits.remove("my health")
    await limits.reword("what I earn", "my income")
    await storage.stop()
    await restored(made.path, path, clock)
    storage = await open_storage(path)
    left = await OffLimits(SCOPE, storage=storage, ids=ids).all()
    assert sorted(topic.words for topic in left) == ["my income", "my love life"]


async def test_tokens_are_after_a_restore_what_they_were_before_it(path: Path, clock: ManualClock, open_storage: Any):
    storage = await open_storage(path)
    tokens = AccessTokens(storage, clock=clock)
    secrets = {name: (await tokens.create(name, scopes=["*/*/*"], rights=["read"]))[0] for name in ("old", "kept")}
    made = await storage.backup()
    await tokens.revoke("old")
    secrets["new"], _ = await tokens.create("new", scopes=["*/*/*"], rights=["read"])
    secrets["again"], _ = await tokens.create("old", scopes=["*/*/*"], rights=["read"])
    before = await tokens.list()
    await storage.stop()
    await restored(made.path, path, clock)
    tokens = AccessTokens(await open_storage(path), clock=clock)
    assert await tokens.list() == before
    holds = {name: await tokens.resolve(secret) is not None for name, secret in secrets.items()}
    assert holds == {"old": False, "kept": True, "new": True, "again": True}


async def test_what_is_switched_off_or_paused_now_or_was_in_the_backup_is_so_after_a_restore(
    path: Path, clock: ManualClock, open_storage: Any
):
    storage = await open_storage(path)
    board, own, session = Switchboard(storage), SwitchSetting(level=SwitchLevel.SCOPE), "s1"
    of_session = SwitchSetting(level=SwitchLevel.SESSION, session_id=session)
    await board.configure(SCOPE, own, learning=True, dream=False)
    await board.configure(SCOPE, of_session, learning=True)
    await storage.write(OTHER_SCOPE, lambda unit: unit.settings.put("paused", "true"))
    made = await storage.backup()
    await board.configure(SCOPE, own, learning=False, dream=True)
    await board.configure(SCOPE, of_session, learning=None)
    await storage.write(OTHER_SCOPE, lambda unit: unit.settings.put("paused", None))
    await storage.write(SCOPE, lambda unit: unit.settings.put("paused", "true"))
    await storage.stop()
    await restored(made.path, path, clock, kept=("paused",))
    storage = await open_storage(path)
    (found,) = await storage.read(SCOPE, lambda view: view.switches.standing())
    assert (found.learning, found.dream) == (False, False)
    assert await storage.read(SCOPE, lambda view: view.switches.session(session)) is None
    for scope in (SCOPE, OTHER_SCOPE):
        assert await storage.read(scope, lambda view: view.settings.get("paused")) == "true"


@pytest.fixture
def shut(path: Path) -> Generator[Path]:
    """A data folder in a folder where this user may write nothing, as the system tells."""
    path.parent.mkdir()
    path.parent.parent.chmod(0o500)
    is_root = os.geteuid() == 0
    if is_root:
        os.setresuid(65534, 0, 0)  # the system answers for the real user
    yield path.parent
    if is_root:
        os.setresuid(0, 0, 0)
    path.parent.parent.chmod(0o700)


async def test_backups_go_into_the_data_folder_where_nothing_may_be_written_beside_it(
    shut: Path, path: Path, clock: ManualClock, open_storage: Any
):
    of_an_earlier_version(path)
    storage = await open_storage(path)
    made = await storage.backup()
    await storage.stop()
    done = await restored(made.path, path, clock)
    assert done.former is not None
    assert {made.path.parent, done.former.path.parent} == {shut / "backups"}
    assert any("before-migration-of-0020" in name for name in names(shut / "backups"))


def test_a_folder_that_may_not_be_written_is_no_matter_of_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StorageUnavailableError, match="let this user write there") as refused:
        write_backup(tmp_path / "agentcore.db", tmp_path / "kept", datetime(2026, 1, 1, tzinfo=UTC))
    assert "space" not in str(refused.value)
