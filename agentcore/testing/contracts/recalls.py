"""What needs recalled."""

from datetime import datetime, timedelta

from agentcore.domain.signals import RecallHit, RecallUse
from agentcore.stores.storage import Storage
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import DAY, OTHER_SCOPE, SCOPE, START, an_entry

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
