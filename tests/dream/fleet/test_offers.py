"""Which due scopes are offered to a fleet: on both databases, and fair whatever is due."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
from dreaming import NOW
from hypothesis import given, settings, strategies as st

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_micros
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.schema import schedules
from agentcore.testing import ManualClock
from dream.stores import AdmittedScope, dream_stores
from dream.stores.schedules import ASKED_FOR, INTERRUPTED

FOR = timedelta(minutes=5)
SECOND = timedelta(seconds=1)


class Book:
    """The offers of a storage."""

    def __init__(self, storage: SqlStorage, clock: ManualClock) -> None:
        self.storage = storage
        self.clock = clock

    async def due(self, workspace: str, count: int, *, priority: int = 0, age: timedelta = SECOND) -> None:
        """Have scopes of a workspace be due since then, the first the longest."""
        for number in range(count):
            scope = Scope(workspace, "agent", f"{priority}-{number}")

            def plan(unit: Any, at: int = to_micros(NOW - age) + number) -> None:
                row = {"registered_at": at, "due_at": at, "reason": "interval", "options_hash": "", "state": "{}"}
                row |= {"scope_id": unit.transaction.scope_id, "workspace": unit.scope.workspace, "priority": priority}
                unit.transaction.connection.execute(schedules.insert(), [row])

            await self.storage.write(scope, plan)

    async def admit(self, most: int, *, per_tenant: int = 1_000) -> list[AdmittedScope]:
        return await self.storage.write(
            None,
            lambda unit: dream_stores(unit).offers.admit(most=most, per_tenant=per_tenant, until=unit.now + FOR),
        )

    async def do(self, name: str, *values: Any, **named: Any) -> Any:
        return await self.storage.write(None, lambda unit: getattr(dream_stores(unit).offers, name)(*values, **named))


@pytest.fixture(params=["memory", "postgres"])
async def book(request: pytest.FixtureRequest) -> AsyncIterator[Book]:
    clock = ManualClock(NOW)
    place = None if request.param == "memory" else request.getfixturevalue("postgres_url")
    storage = SqlStorage(place, clock=clock)
    await storage.start()
    yield Book(storage, clock)
    await storage.stop()


def workspaces(offers: Sequence[AdmittedScope]) -> list[str]:
    return [one.scope.workspace for one in sorted(offers, key=lambda one: -one.priority)]


async def test_requests_come_before_interrupted_runs_and_these_before_what_is_only_due(book: Book):
    await book.due("acme", 3, age=timedelta(hours=1))
    await book.due("acme", 1, priority=INTERRUPTED)
    await book.due("acme", 1, priority=ASKED_FOR)
    offered = await book.admit(3)
    names = [one.scope.observed for one in sorted(offered, key=lambda one: -one.priority)]
    assert names == [f"{ASKED_FOR}-0", f"{INTERRUPTED}-0", "0-0"]


async def test_tenants_take_turns_and_one_with_much_that_is_long_due_waits_for_none_and_delays_none(book: Book):
    await book.due("large", 20, age=timedelta(days=1))
    await book.due("small", 2)
    await book.due("tiny", 1)
    assert workspaces(await book.admit(6)) == ["large", "small", "tiny", "large", "small", "large"]


async def test_what_a_tenant_has_under_way_counts_as_its_turn(book: Book):
    await book.due("large", 20)
    await book.admit(4)
    await book.due("small", 4)
    assert workspaces(await book.admit(8)) == ["small"] * 4


async def test_no_tenant_and_no_fleet_has_more_than_its_limit(book: Book):
    for name in ("a", "b", "c"):
        await book.due(name, 5)
    assert Counter(workspaces(await book.admit(100, per_tenant=2))) == {"a": 2, "b": 2, "c": 2}
    assert await book.admit(100, per_tenant=2) == []
    assert len(await book.admit(7)) == 1
    assert await book.do("count") == 7


async def test_an_offer_that_ran_out_is_made_again_under_a_later_number(book: Book):
    await book.due("acme", 1)
    (first,) = await book.admit(5)
    assert await book.admit(5) == []
    book.clock.advance(FOR + SECOND)
    assert await book.do("expire") == [first.key]
    (second,) = await book.admit(5)
    assert (second.key, second.number) == (first.key, first.number + 1)


async def test_who_was_slow_takes_back_no_later_offer(book: Book):
    await book.due("acme", 1)
    (first,) = await book.admit(5)
    book.clock.advance(FOR + SECOND)
    await book.do("expire")
    (second,) = await book.admit(5)
    await book.do("release", [(first.key, first.number)])
    assert await book.do("count") == 1
    await book.do("release", [(second.key, second.number)])
    assert await book.do("count") == 0


async def test_an_offer_whose_dream_goes_on_does_not_run_out(book: Book):
    await book.due("acme", 1)
    (one,) = await book.admit(5)
    book.clock.advance(FOR - SECOND)
    await book.do("renew", [one.key], until=book.clock.now() + FOR)
    book.clock.advance(FOR - SECOND)
    assert await book.do("expire") == []


async def test_the_standing_counts_what_is_due_and_offered_of_each_tenant(book: Book):
    await book.due("acme", 3)
    await book.due("zeta", 1)
    await book.admit(2)
    found = await book.do("standing", limit=5)
    assert [(one.workspace, one.due, one.offered) for one in found] == [("acme", 2, 1), ("zeta", 0, 1)]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 12), st.integers(1, 6))
async def test_whatever_is_due_no_tenant_gets_two_more_than_one_that_still_waits(
    counts: list[int], most: int, per_tenant: int
):
    clock = ManualClock(NOW)
    storage = SqlStorage(None, clock=clock)
    await storage.start()
    book = Book(storage, clock)
    for number, count in enumerate(counts):
        await book.due(f"w{number}", count)
    got = Counter(workspaces(await book.admit(most, per_tenant=per_tenant)))
    await storage.stop()
    assert sum(got.values()) == min(most, sum(min(one, per_tenant) for one in counts))
    waits = [got[f"w{n}"] for n, count in enumerate(counts) if got[f"w{n}"] < min(count, per_tenant)]
    assert not waits or max(got.values()) - min(waits) <= 1
