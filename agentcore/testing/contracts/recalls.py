"""Tests what is kept beside entries: what queries recalled, and vectors of their texts."""

from dataclasses import replace
from datetime import datetime, timedelta

from agentcore.domain.signals import RecallHit, RecallUse
from agentcore.domain.text import content_hash
from agentcore.stores.storage import Storage
from agentcore.stores.values import FeedPosition, TextVector
from agentcore.testing.contracts.samples import DAY, OTHER_SCOPE, SCOPE, START, an_entry, expect_equal

_ALMOST_MIDNIGHT = START.replace(hour=23, minute=59)


class RecallHitContract:
    """What a store of recall hits owes."""

    async def test_uses_are_counted_by_hits_queries_and_days(self, storage: Storage) -> None:
        """Days are those of UTC; equal queries count once."""
        await _append(
            storage,
            _hit("a", "q1", _ALMOST_MIDNIGHT, score=3.0, rank=2),
            _hit("a", "q1", _ALMOST_MIDNIGHT + timedelta(minutes=2), score=1.0, rank=4),
            _hit("a", "q2", _ALMOST_MIDNIGHT + timedelta(minutes=3), score=2.0),
            _hit("b", "q1", START),
        )
        wanted = RecallUse(
            entry_id="a",
            hits=3,
            queries=2,
            days=2,
            mean_score=2.0,
            best_rank=1,
            first_at=_ALMOST_MIDNIGHT,
            last_at=_ALMOST_MIDNIGHT + timedelta(minutes=3),
        )
        uses = await storage.read(SCOPE, lambda view: view.recall_hits.uses())
        expect_equal((uses[0], [use.entry_id for use in uses]), (wanted, ["a", "b"]))
        later = await storage.read(SCOPE, lambda view: view.recall_hits.uses(since=_ALMOST_MIDNIGHT + DAY / 1440))
        expect_equal([(use.entry_id, use.hits) for use in later], [("a", 2)])
        some = await storage.read(SCOPE, lambda view: view.recall_hits.uses(entry_ids=["b", "none"]))
        expect_equal([use.entry_id for use in some], ["b"])
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.recall_hits.uses()), [])

    async def test_a_need_changes_no_record(self, storage: Storage) -> None:
        """Neither revision nor feed nor records tell of it."""
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]))
        before = await storage.read(SCOPE, lambda view: (view.revision, list(view.records())))
        await storage.write(SCOPE, lambda unit: unit.recall_hits.append([_hit("a", "q", START)]))
        expect_equal(await storage.read(SCOPE, lambda view: (view.revision, list(view.records()))), before)
        expect_equal(await storage.read(SCOPE, lambda view: view.recall_hits.count()), 1)

    async def test_hits_go_with_their_entry(self, storage: Storage) -> None:
        """Deleted or forgotten; a hit that comes later is left out."""
        await _append(storage, *(_hit(name, "q", START) for name in "abc"))
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        await storage.write(SCOPE, lambda unit: unit.forget("b"))
        await storage.write(SCOPE, lambda unit: unit.recall_hits.append([_hit("a", "q", START), _hit("c", "q", START)]))
        uses = await storage.read(SCOPE, lambda view: view.recall_hits.uses())
        expect_equal([(use.entry_id, use.hits) for use in uses], [("c", 2)])

    async def test_old_hits_are_dropped_oldest_first(self, storage: Storage) -> None:
        """No more than asked for, and none that is not old."""
        await _append(storage, *(_hit("a", f"q{day}", START + day * DAY) for day in range(4)))

        async def drop(limit: int) -> int:
            before = START + 2 * DAY
            return await storage.write(
                SCOPE, lambda unit: unit.recall_hits.drop_expired(recalled_before=before, limit=limit)
            )

        expect_equal([await drop(1), await drop(9), await drop(9)], [1, 1, 0])
        (use,) = await storage.read(SCOPE, lambda view: view.recall_hits.uses())
        expect_equal((use.hits, use.first_at), (2, START + 2 * DAY))


def _hit(entry_id: str, query: str, at: datetime, *, score: float = 1.0, rank: int = 1) -> RecallHit:
    return RecallHit(entry_id=entry_id, query=query, score=score, rank=rank, recalled_at=at, session_id="s1")


async def _append(storage: Storage, *hits: RecallHit) -> None:
    new = [an_entry(name, f"Text {name}.") for name in sorted({hit.entry_id for hit in hits})]
    await storage.write(SCOPE, lambda unit: (unit.entries.add(new), unit.recall_hits.append(hits)))


_TEXTS = {"a": "Text a.", "b": "Text b.", "c": "Text c."}
_HASHES = {name: content_hash(text) for name, text in _TEXTS.items()}


class VectorContract:
    """What a store of vectors owes."""

    async def test_a_vector_is_kept_once_for_each_model_and_text(self, storage: Storage) -> None:
        """A later one takes the place of an earlier one; models and scopes do not meet."""
        keys = await _remember(storage, *_TEXTS)
        expect_equal(await _put(storage, "m", keys, a=b"\x01\x02\x03\x04", b=b"\x05\x06\x07\x08"), 2)
        expect_equal(await _put(storage, "m", keys, a=b"\x00\xff\x00\xff"), 1)
        expect_equal(await _put(storage, "n", keys, a=b"n"), 1)
        expect_equal(await _get(storage, "m"), {"a": b"\x00\xff\x00\xff", "b": b"\x05\x06\x07\x08"})
        expect_equal(await _get(storage, "n"), {"a": b"n"})
        expect_equal(await storage.read(SCOPE, lambda view: view.vectors.count()), 3)
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: view.vectors.get("m", list(_HASHES.values()))), {})

    async def test_a_vector_changes_no_record(self, storage: Storage) -> None:
        """Neither revision nor feed nor records tell of it."""
        keys = await _remember(storage, "a")
        before = await storage.read(SCOPE, lambda view: (view.revision, list(view.records())))
        await _put(storage, "m", keys, a=b"1")
        expect_equal(await storage.read(SCOPE, lambda view: (view.revision, list(view.records()))), before)

    async def test_vectors_go_with_their_text(self, storage: Storage) -> None:
        """Deleted, forgotten or replaced by another: no model's vector of it stays."""
        keys = await _remember(storage, *_TEXTS)
        for model in ("m", "n"):
            await _put(storage, model, keys, a=b"1", b=b"2", c=b"3")
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        expect_equal(sorted(await _get(storage, "m")), ["b", "c"])
        await storage.write(SCOPE, lambda unit: unit.forget("b"))
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["c"]))
        reinforced = replace(entry, own_count=entry.own_count + 1)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, reinforced)]))
        expect_equal(sorted(await _get(storage, "n")), ["c"])
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["c"]))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, replace(entry, content="Another."))]))
        expect_equal(await storage.read(SCOPE, lambda view: view.vectors.count()), 0)

    async def test_a_vector_that_comes_too_late_is_left_out(self, storage: Storage) -> None:
        """Its entry is gone, or says something else by now."""
        keys = await _remember(storage, *_TEXTS)
        await storage.write(SCOPE, lambda unit: unit.forget("a"))
        (entry,) = await storage.read(SCOPE, lambda view: view.entries.get_many(["b"]))
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, replace(entry, content="Another."))]))
        expect_equal(await _put(storage, "m", keys, a=b"1", b=b"2", c=b"3"), 1)
        expect_equal(await _get(storage, "m"), {"c": b"3"})


async def _remember(storage: Storage, *names: str) -> dict[str, int]:
    """Add entries; return the store's key of each."""
    await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry(name, _TEXTS[name]) for name in names]))
    page = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=9))
    keys = [row.key for row in page.rows]
    found = await storage.read(SCOPE, lambda view: view.entries.by_keys(keys))
    return {entry.id: key for key, entry in found.items()}


async def _put(storage: Storage, model: str, keys: dict[str, int], **vectors: bytes) -> int:
    made = [TextVector(keys[name], _HASHES[name], vector) for name, vector in vectors.items()]
    return await storage.write(SCOPE, lambda unit: unit.vectors.put(model, made))


async def _get(storage: Storage, model: str) -> dict[str, bytes]:
    found = await storage.read(SCOPE, lambda view: view.vectors.get(model, list(_HASHES.values())))
    return {name: found[digest] for name, digest in _HASHES.items() if digest in found}
