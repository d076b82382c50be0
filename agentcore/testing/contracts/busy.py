"""Who serves people."""

from collections.abc import Sequence
from datetime import timedelta

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope
from agentcore.stores.storage import Storage
from agentcore.stores.values import BusyHolder
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE, START

_MINUTE = timedelta(minutes=1)


class BusyContract:
    """What a store of who serves people owes; that a dead process does not count is for the store's own tests."""

    async def test_who_is_announced_counts_until_withdrawn(self, storage: Storage) -> None:
        """Withdrawing twice does no harm, nor does withdrawing what never was."""
        expect_equal(await _holders(storage), [])
        await _announce(storage, "one")
        (found,) = await _holders(storage)
        expect_equal((found.holder, found.since, found.expires_at), ("one", START, START + _MINUTE))
        for holder in ("unknown", "one", "one"):
            await _withdraw(storage, holder)
        expect_equal(await _holders(storage), [])

    async def test_who_asks_is_left_out(self, storage: Storage) -> None:
        """Else two that serve people would wait for themselves."""
        for holder in ("one", "two"):
            await _announce(storage, holder)
        expect_equal([found.holder for found in await _holders(storage, besides="one")], ["two"])
        await _withdraw(storage, "two")
        expect_equal(await _holders(storage, besides="one"), [])
        expect_equal([found.holder for found in await _holders(storage)], ["one"])

    async def test_an_announcement_expires_unless_renewed(self, storage: Storage, clock: ManualClock) -> None:
        """At its instant, not before; the beginning stays, and a later one begins anew."""
        await _announce(storage, "renewed")
        await _announce(storage, "silent")
        clock.advance(_MINUTE / 2)
        await _announce(storage, "renewed")
        clock.advance(_MINUTE / 2 - timedelta(microseconds=1))
        expect_equal([found.holder for found in await _holders(storage)], ["renewed", "silent"])
        clock.advance(timedelta(microseconds=1))
        (found,) = await _holders(storage)
        expect_equal((found.holder, found.since), ("renewed", START))
        clock.advance(_MINUTE)
        expect_equal(await _holders(storage), [])
        await _announce(storage, "silent")
        expect_equal([found.since for found in await _holders(storage)], [clock.now()])

    async def test_the_longest_stands_first(self, storage: Storage, clock: ManualClock) -> None:
        """Those of one instant by their ids."""
        for holder in ("c", "b", "a"):
            await _announce(storage, holder)
            if holder == "c":
                clock.advance(timedelta(seconds=1))
        expect_equal([found.holder for found in await _holders(storage)], ["c", "a", "b"])

    async def test_who_serves_a_scope_holds_back_that_scope_and_as_far_as_it_is_asked_for(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """Who named no scope holds back all; each scope is announced, renewed and withdrawn for itself."""
        neighbour = Scope(SCOPE.workspace, SCOPE.observer, "a neighbour")
        await _announce(storage, "one", [SCOPE, neighbour])
        await _announce(storage, "two", [Scope("elsewhere", SCOPE.observer, SCOPE.observed)])
        expect_equal(await _served(storage, BusyReach.SCOPE), [("one", SCOPE)])
        expect_equal(await _served(storage, BusyReach.WORKSPACE), [("one", neighbour), ("one", SCOPE)])
        expect_equal(len(await _served(storage, BusyReach.ALL)), 3)
        await _announce(storage, "three", [None])
        expect_equal(await _served(storage, BusyReach.SCOPE), [("one", SCOPE), ("three", None)])
        clock.advance(_MINUTE / 2)
        await _announce(storage, "one", [SCOPE])
        clock.advance(_MINUTE / 2)
        expect_equal([found[1] for found in await _served(storage, BusyReach.ALL)], [SCOPE])
        await _announce(storage, "one", [neighbour])
        await storage.write(SCOPE, lambda unit: unit.busy.withdraw("one", scopes=[SCOPE]))
        expect_equal([found[1] for found in await _served(storage, BusyReach.ALL)], [neighbour])

    async def test_every_scope_sees_who_serves_and_none_changes_by_it(self, storage: Storage) -> None:
        """Nobody said whose person it is; a scope in which one announced holds nothing for that."""
        await storage.write(SCOPE, lambda unit: unit.busy.announce("one", duration=_MINUTE))
        found = await storage.read(OTHER_SCOPE, lambda view: (view.busy.holders(), view.revision))
        expect_equal(([holder.holder for holder in found[0]], found[1]), (["one"], 0))
        expect_equal(await storage.read(SCOPE, lambda view: view.revision), 0)
        await storage.write(OTHER_SCOPE, lambda unit: unit.busy.withdraw("one"))
        expect_equal(await storage.read(SCOPE, lambda view: (view.busy.holders(), view.revision)), ([], 0))
        expect_equal(await storage.scopes(), [])


async def _announce(storage: Storage, holder: str, scopes: Sequence[Scope | None] = (None,)) -> None:
    await storage.write(SCOPE, lambda unit: unit.busy.announce(holder, duration=_MINUTE, scopes=scopes))


async def _served(storage: Storage, reach: BusyReach) -> list[tuple[str, Scope | None]]:
    found = await storage.read(SCOPE, lambda view: view.busy.holders(reach=reach))
    return [(holder.holder, holder.scope) for holder in found]


async def _withdraw(storage: Storage, holder: str) -> None:
    await storage.write(SCOPE, lambda unit: unit.busy.withdraw(holder))


async def _holders(storage: Storage, besides: str | None = None) -> list[BusyHolder]:
    return await storage.read(SCOPE, lambda view: view.busy.holders(besides=besides))
