"""The feed after its past was cut off, and the keys it speaks of."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from agentcore.stores import FeedPage, FeedPosition, Origin, ReadView, UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.schema import change_feed
from agentcore.testing.contracts.feed import FeedReader
from agentcore.testing.contracts.samples import SCOPE, an_entry


def cut(unit: UnitOfWork, before: int) -> None:
    """Remove the feed rows of the revisions before this one."""
    unit.transaction.connection.execute(delete(change_feed).where(change_feed.c.revision < before))


async def added(storage: SqlStorage, *words: str) -> None:
    for word in words:
        await storage.write(SCOPE, lambda unit, word=word: unit.entries.add([an_entry(word, word)]))


async def page_after(storage: SqlStorage, position: FeedPosition) -> FeedPage:
    return await storage.read(SCOPE, lambda view: view.entries.changes_since(position, limit=99))


@pytest.mark.parametrize(("seen", "rebuilt"), [(1, True), (2, True), (3, False), (4, False), (5, False)])
async def test_a_follower_from_before_the_cut_starts_again(storage: SqlStorage, seen: int, rebuilt: bool):
    """It may have missed a removal; who saw the revision just before the cut has missed nothing."""
    await added(storage, "a", "b", "c", "d", "e")
    await storage.write(SCOPE, lambda unit: cut(unit, 4))
    page = await page_after(storage, FeedPosition(seen, 2**63 - 1))
    assert page.rebuild is rebuilt
    assert len(page.rows) == (0 if rebuilt else 5 - seen)


async def test_a_start_needs_no_past(storage: SqlStorage):
    await added(storage, "a", "b", "c")
    await storage.write(SCOPE, lambda unit: cut(unit, 99))
    assert await FeedReader(storage, 2).catch_up() == ["a", "b", "c"]


async def test_a_reader_on_its_way_through_an_old_store_is_not_sent_back(storage: SqlStorage):
    """Its first pages reach revisions from long before the cut; what was removed then it has never held."""
    await added(storage, *"abcdefgh")
    await storage.write(SCOPE, lambda unit: cut(unit, 8))
    follower = FeedReader(storage, 1)
    await follower.step()
    await storage.write(SCOPE, lambda unit: unit.entries.delete(["a", "h"]))
    pages = [await follower.step() for _ in range(8)]
    assert [page.more for page in pages] == [True] * 6 + [False] * 2
    assert not any(page.rebuild for page in pages)
    assert await follower.catch_up() == list("bcdefg")


async def test_without_any_past_only_the_present_is_trusted(storage: SqlStorage):
    await added(storage, "a", "b", "c")
    await storage.write(SCOPE, lambda unit: cut(unit, 99))
    assert (await page_after(storage, FeedPosition(2, 2**63 - 1))).rebuild
    assert not (await page_after(storage, FeedPosition(3, 2**63 - 1))).rebuild


async def test_a_follower_that_was_told_to_start_again_recovers(storage: SqlStorage):
    await added(storage, "a", "b", "c")
    follower = FeedReader(storage, 2)
    await follower.catch_up()
    await storage.write(SCOPE, lambda unit: unit.entries.delete(["b"]))
    await added(storage, "d")
    await storage.write(SCOPE, lambda unit: cut(unit, 5))
    assert (await follower.step()).rebuild
    assert await follower.catch_up() == ["a", "c", "d"]


async def test_each_change_leaves_one_row_with_its_origin_and_instant(storage: SqlStorage, clock: Any):
    for origin in Origin:
        await storage.write(
            SCOPE, lambda unit, origin=origin: unit.entries.add([an_entry(origin.value)]), origin=origin
        )

    def origins(view: ReadView) -> list[str]:
        statement = select(change_feed.c.origin).order_by(change_feed.c.revision)
        return list(view.transaction.connection.execute(statement).scalars())

    assert await storage.read(SCOPE, origins) == [origin.value for origin in Origin]


async def test_keys_of_deleted_entries_are_not_reused_after_a_restart(
    storage: SqlStorage, open_storage: Any, path: Path
):
    await added(storage, "a", "b")
    start = await page_after(storage, FeedPosition())
    await storage.write(SCOPE, lambda unit: unit.entries.delete(["b"]))
    await storage.stop()
    again = await open_storage(path)
    await added(again, "c")
    rows = (await page_after(again, start.position)).rows
    assert {row.key for row in rows}.isdisjoint(row.key for row in start.rows)


async def test_the_feed_costs_a_row_for_a_transaction_however_large(storage: SqlStorage):
    many = [an_entry(str(number)) for number in range(1_000)]
    await storage.write(SCOPE, lambda unit: unit.entries.add(many))
    counted = select(func.count()).select_from(change_feed)
    assert await storage.read(SCOPE, lambda view: view.transaction.connection.execute(counted).scalar()) == 1
