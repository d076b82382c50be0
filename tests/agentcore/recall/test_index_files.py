from collections.abc import Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentcore.domain import MemoryEntry, Scope, Status, Turn
from agentcore.hosting import Memory
from agentcore.ids import RandomIds
from agentcore.recall import (
    Bm25Index,
    Kept,
    Recall,
    RecallOptions,
    Tokenizer,
    UnusableSnapshotError,
    read_snapshot,
    write_snapshot,
)
from agentcore.stores import FeedPosition, Origin, UnitOfWork
from agentcore.stores.acting import Acting
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
ANA = Scope("acme", "agent", "ana")
TEXTS = ["Ana lives in Lisbon", "Ben plays chess in Lisbon", "Carla drinks green tea", "tea tea tea with lemon"]


def entry(name: str, content: str) -> MemoryEntry:
    return MemoryEntry(id=name, scope=ANA, content=content, created_at=NOON, recorded_at=NOON, last_seen_at=NOON)


@asynccontextmanager
async def opened(folder: Path, *, least: int | None = 1):
    async with AsyncExitStack() as stack:
        storage = SqlStorage(folder / "a.db", clock=ManualClock(NOON))
        await storage.start()
        stack.push_async_callback(storage.stop)
        recall = Recall(storage, options=RecallOptions(snapshot_min_entries=least), folder=folder / "recall")
        await recall.start()
        stack.push_async_callback(recall.stop)
        yield storage, recall


async def fill(storage: SqlStorage, *texts: str, first: int = 0) -> None:
    added = [entry(f"e{number}", text) for number, text in enumerate(texts, start=first)]
    await storage.write(ANA, lambda unit: unit.entries.add(added))


async def change(storage: SqlStorage, name: str, **changes: object) -> None:
    def work(unit: UnitOfWork) -> None:
        before = unit.entries.get(name)
        assert before is not None
        unit.entries.replace([(before, replace(before, **changes))])

    await storage.write(ANA, work)


async def found(recall: Recall, query: str) -> list[str]:
    return [hit.entry.id for hit in await recall.search(ANA, query)]


def files(folder: Path) -> list[Path]:
    return sorted((folder / "recall").glob("*")) if (folder / "recall").exists() else []


async def filled(folder: Path) -> Path:
    """Leave a database and the file of its index behind."""
    async with opened(folder) as (storage, recall):
        await fill(storage, *TEXTS)
        await recall.follow(ANA)
    (path,) = files(folder)
    return path


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are cut into words."""
    texts: list[str] = []
    tokens = Tokenizer.tokens

    def counted(self: Tokenizer, text: str) -> list[str]:
        texts.append(text)
        return tokens(self, text)

    monkeypatch.setattr(Tokenizer, "tokens", counted)
    return texts


async def test_after_a_restart_only_what_changed_since_is_cut_into_words(tmp_path: Path, cut: list[str]):
    await filled(tmp_path)
    async with opened(tmp_path, least=None) as (storage, _):
        await fill(storage, "Dora moved to Lisbon", first=10)
        await change(storage, "e0", content="Ana lives in Porto")
        await change(storage, "e2", status=Status.ARCHIVED, status_reason="x", status_at=NOON)
    cut.clear()
    async with opened(tmp_path) as (storage, recall):
        assert sorted(await found(recall, "Lisbon")) == ["e1", "e10"]
        assert sorted(cut) == ["Ana lives in Porto", "Dora moved to Lisbon", "Lisbon", "general", "general"]
        assert await found(recall, "tea") == ["e3"]
        fresh = Recall(storage)
        await fresh.start()
        for query in ("Lisbon", "tea lemon", "Ana Ben chess"):
            assert await fresh.search(ANA, query) == await recall.search(ANA, query)
        await fresh.stop()


async def test_a_file_is_written_again_only_when_much_has_changed(tmp_path: Path):
    path = await filled(tmp_path)
    written = path.stat().st_mtime_ns
    async with opened(tmp_path) as (_, recall):
        await recall.follow(ANA)
    assert path.stat().st_mtime_ns == written
    async with opened(tmp_path) as (storage, recall):
        await fill(storage, "Dora moved to Lisbon", first=10)
        await recall.follow(ANA)
    assert path.stat().st_mtime_ns > written


@pytest.mark.parametrize("least", [None, 5])
async def test_small_indexes_and_those_of_hosts_that_want_none_leave_no_file(tmp_path: Path, least: int | None):
    async with opened(tmp_path, least=least) as (storage, recall):
        await fill(storage, *TEXTS)
        await recall.follow(ANA)
    assert files(tmp_path) == []


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def resealed(content: bytes, **header: object) -> bytes:
    """The file with other values in its header and a right checksum."""
    start = content.index(b"\n") + 9
    size = int.from_bytes(content[start - 8 : start], "little")
    changed = orjson.dumps(orjson.loads(content[start : start + size]) | header)
    body = content[: start - 8] + len(changed).to_bytes(8, "little") + changed + content[start + size : -32]
    return body + blake2b(body, digest_size=32).digest()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (flipped, "its checksum is wrong"),
        (lambda content: content[: len(content) // 2], "its checksum is wrong"),
        (lambda _: b"", "it is no index"),
        (lambda _: b"PK\x03\x04 something else", "it is no index"),
        (lambda content: resealed(content, format=0), "it is of another version"),
        (lambda content: resealed(content, made_by="another tokenizer"), "it is of another version"),
        (lambda content: resealed(content, scope="acme/agent/ben"), "it is of another scope"),
        (lambda content: resealed(content, widths=[2] * 9), "it is of another kind of machine"),
        (lambda content: resealed(content, sizes=[10**9] * 9), "its parts do not fit together"),
        (lambda content: resealed(content, terms_size=-5), "its parts do not fit together"),
        (lambda content: resealed(content, columns=7), "its parts do not fit together"),
        (lambda content: resealed(content, position="x"), "its parts do not fit together"),
    ],
)
def test_a_file_with_something_wrong_is_refused_with_the_reason(
    tmp_path: Path, spoil: Callable[[bytes], bytes], reason: str
):
    index = Bm25Index(columns=2)
    index.update_many(range(4), [text.split() for text in TEXTS], [(0.5, 1.0)] * 4)
    path = tmp_path / "a.index"
    write_snapshot(path, Kept(index.postings.lists), FeedPosition(7), scope=str(ANA))
    assert read_snapshot(path, scope=str(ANA)).position == FeedPosition(7)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UnusableSnapshotError) as caught:
        read_snapshot(path, scope=str(ANA))
    assert str(caught.value) == reason


async def test_a_damaged_file_is_said_so_and_the_index_built_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = await filled(tmp_path)
    path.write_bytes(flipped(path.read_bytes()))
    async with opened(tmp_path) as (_, recall):
        assert await found(recall, "chess") == ["e1"]
    (record,) = caplog.records
    assert (record.message, record.__dict__["reason"]) == ("recall_snapshot_refused", "its checksum is wrong")
    async with opened(tmp_path) as (_, recall):
        assert await found(recall, "chess") == ["e1"]
    assert caplog.records == [record]


async def test_a_file_of_texts_that_were_cut_otherwise_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    await filled(tmp_path)
    async with opened(tmp_path, least=None) as (storage, _):
        options = RecallOptions(passage_tokens=20, snapshot_min_entries=1)
        recall = Recall(storage, options=options, folder=tmp_path / "recall")
        await recall.start()
        assert await found(recall, "chess") == ["e1"]
        await recall.stop()
    reasons = [one.__dict__["reason"] for one in caplog.records]
    assert reasons == ["its texts were cut otherwise than the options now say"]


async def test_a_file_of_an_older_or_another_database_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    path = await filled(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    async with opened(other, least=None) as (storage, _):
        await fill(storage, "Zoe bakes bread", "Zoe bakes cake", "Zoe bakes pie", "Zoe rests")
    (other / "recall").mkdir()
    (other / "recall" / path.name).write_bytes(path.read_bytes())
    async with opened(other) as (_, recall):
        assert await found(recall, "Lisbon tea chess") == []
        assert await found(recall, "bread") == ["e0"]
    assert [one.__dict__["reason"] for one in caplog.records] == ["it is not the one that the database knows"]


async def test_a_file_that_the_feed_no_longer_reaches_back_to_is_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    await filled(tmp_path)
    async with opened(tmp_path, least=None) as (storage, _):
        await change(storage, "e0", content="Ana lives in Porto")
        await change(storage, "e0", content="Ana lives in Faro")
        await storage.write(ANA, lambda unit: unit.transaction.connection.exec_driver_sql("DELETE FROM change_feed"))
    async with opened(tmp_path) as (_, recall):
        assert await found(recall, "Faro") == ["e0"]
    assert [one.__dict__["reason"] for one in caplog.records] == ["the change feed no longer reaches back to it"]


async def test_forgetting_an_entry_deletes_the_file_and_the_next_one_holds_nothing_of_it(tmp_path: Path):
    path = await filled(tmp_path)
    assert b"chess" in path.read_bytes()
    async with opened(tmp_path) as (storage, recall):
        await recall.follow(ANA)
        memory = Memory(ANA, storage=storage, recall=recall, ids=RandomIds())
        await memory.forget("e1")
        assert files(tmp_path) == []
        await recall.follow(ANA)
    assert b"chess" not in path.read_bytes()
    assert b"lisbon" in path.read_bytes()


async def test_a_host_that_never_asked_deletes_the_file_when_it_forgets(tmp_path: Path):
    await filled(tmp_path)
    async with opened(tmp_path) as (storage, recall):
        await Memory(ANA, storage=storage, recall=recall, ids=RandomIds()).forget("e1")
        assert files(tmp_path) == []


async def test_what_another_host_removed_is_in_no_file_written_later(tmp_path: Path):
    path = await filled(tmp_path)
    async with opened(tmp_path) as (storage, recall), opened(tmp_path, least=None) as (other, _):
        await recall.follow(ANA)
        await other.write(ANA, lambda unit: unit.forget("e1"))
        await fill(storage, *["more words"] * 5, first=10)
    assert b"chess" not in path.read_bytes()


async def test_an_entry_removed_while_the_file_is_written_keeps_it_from_being_used(tmp_path: Path):
    async with opened(tmp_path, least=None) as (other, _), opened(tmp_path) as (storage, recall):
        await fill(storage, *TEXTS)
        await recall.follow(ANA)
        keeper = recall._entries._source.index_store
        assert keeper is not None
        write = keeper._write

        def outrun(*given: Any) -> Any:
            written = write(*given)
            other._write(ANA, lambda unit: unit.forget("e1"), Origin.HOST, Acting())
            return written

        keeper._write = outrun
    assert files(tmp_path) == []


async def test_where_nothing_can_be_written_recall_goes_on_without_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "recall").write_text("a file where the folder should be")
    async with opened(tmp_path) as (storage, recall):
        await fill(storage, *TEXTS)
        assert await found(recall, "chess") == ["e1"]
    assert [one.message for one in caplog.records] == ["recall_snapshot_refused", "recall_snapshot_not_written"]


async def test_an_evicted_index_is_kept_and_taken_up_again(tmp_path: Path, cut: list[str]):
    async with opened(tmp_path) as (storage, recall):
        await fill(storage, *TEXTS)
        recall._budget._limit = 1
        await recall.follow(ANA)
        await recall.follow(Scope("acme", "agent", "ben"))
        assert len(files(tmp_path)) == 1
        cut.clear()
        assert await found(recall, "chess") == ["e1"]
        assert cut == ["chess"]


async def talk(storage: SqlStorage, *texts: str, first: int = 0) -> None:
    turns = [
        Turn(
            id=f"t{number}",
            scope=ANA,
            session_id=f"s{number % 2}",
            role="user",
            content=text,
            occurred_at=NOON,
            recorded_at=NOON,
        )
        for number, text in enumerate(texts, start=first)
    ]
    await storage.write(ANA, lambda unit: unit.turns.add(turns))


async def test_turns_are_kept_over_a_restart_with_their_sessions_until_one_is_purged(tmp_path: Path, cut: list[str]):
    async with opened(tmp_path) as (storage, recall):
        await talk(storage, *TEXTS)
        before = await recall.turns.search(ANA, "Lisbon")
        await recall.follow(ANA)
    (path,) = files(tmp_path)
    assert path.suffix == ".turns"
    assert b"chess" in path.read_bytes()
    cut.clear()
    async with opened(tmp_path) as (storage, recall):
        assert await recall.turns.search(ANA, "Lisbon") == before
        assert cut == ["Lisbon"]
        await talk(storage, "Dora moved to Lisbon", first=4)
        asked = await recall.turns.search(ANA, "Lisbon tea")
        fresh = Recall(storage)
        await fresh.start()
        assert await fresh.turns.search(ANA, "Lisbon tea") == asked
        await fresh.stop()
        await storage.write(ANA, lambda unit: unit.turns.delete(["t1"]))
        assert "t1" not in {hit.turn.id for hit in await recall.turns.search(ANA, "chess Lisbon")}
        assert files(tmp_path) == []
    assert b"chess" not in path.read_bytes()
