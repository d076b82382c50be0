"""Tests leases, and who serves a person."""

from collections.abc import Sequence
from datetime import timedelta

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope
from agentcore.errors import LeaseLostError
from agentcore.stores.storage import Storage
from agentcore.stores.values import BusyHolder, Lease
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.samples import (
    MINUTE,
    OTHER_SCOPE,
    SCOPE,
    START,
    expect_equal,
    expect_error,
    expect_some,
)


class LeaseContract:
    """What a store of leases owes; that a dead process loses its lease at once is for the store's own tests."""

    async def test_a_lease_has_one_holder(self, storage: Storage) -> None:
        """Per name and scope; its own holder does not get it twice either."""
        lease = expect_some(await _acquire(storage, "one"))
        expect_equal((lease.name, lease.holder, lease.expires_at), ("dream", "one", START + MINUTE))
        expect_equal(await _acquire(storage, "two"), None)
        expect_equal(await _acquire(storage, "one"), None)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), lease)
        elsewhere = await storage.write(
            OTHER_SCOPE, lambda unit: unit.leases.acquire("dream", holder="two", duration=MINUTE)
        )
        other_name = await storage.write(
            SCOPE, lambda unit: unit.leases.acquire("import", holder="two", duration=MINUTE)
        )
        expect_equal((expect_some(elsewhere).holder, expect_some(other_name).holder), ("two", "two"))

    async def test_an_expired_lease_can_be_taken(self, storage: Storage, clock: ManualClock) -> None:
        """At its instant, not before; the token tells the new holder from the old."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(MINUTE - timedelta(microseconds=1))
        expect_equal(await _acquire(storage, "two"), None)
        clock.advance(timedelta(microseconds=1))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), None)
        second = expect_some(await _acquire(storage, "two"))
        expect_equal((second.holder, second.token), ("two", first.token + 1))

    async def test_a_lease_that_changed_hands_is_lost(self, storage: Storage, clock: ManualClock) -> None:
        """Whoever held it before can neither go on nor take it from the next."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(MINUTE)
        second = expect_some(await _acquire(storage, "two"))
        for use in (_assert_held, _renew):
            await expect_error(LeaseLostError, use(storage, first))
        await _release(storage, first)
        await _assert_held(storage, second)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), second)

    async def test_the_same_holder_is_fenced_from_its_earlier_self(self, storage: Storage, clock: ManualClock) -> None:
        """The token decides, not the name."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(MINUTE)
        second = expect_some(await _acquire(storage, "one"))
        await expect_error(LeaseLostError, _assert_held(storage, first))
        await _assert_held(storage, second)

    async def test_a_renewed_lease_runs_from_now(self, storage: Storage, clock: ManualClock) -> None:
        """Also a late one that nobody took meanwhile."""
        lease = expect_some(await _acquire(storage, "one"))
        for wait in (MINUTE / 2, 2 * MINUTE):
            clock.advance(wait)
            lease = await _renew(storage, lease)
            expect_equal(lease.expires_at, clock.now() + MINUTE)
            expect_equal(await _acquire(storage, "two"), None)
        await _assert_held(storage, lease)

    async def test_a_lease_given_back_is_free_and_its_token_goes_on(self, storage: Storage) -> None:
        """Giving back twice does no harm."""
        first = expect_some(await _acquire(storage, "one"))
        await _release(storage, first)
        await _release(storage, first)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), None)
        for use in (_assert_held, _renew):
            await expect_error(LeaseLostError, use(storage, first))
        second = expect_some(await _acquire(storage, "two"))
        await _release(storage, first)
        await _assert_held(storage, second)
        expect_equal(second.token, first.token + 1)

    async def test_a_lease_that_never_was_is_lost(self, storage: Storage) -> None:
        """An invented one opens nothing."""
        lease = Lease(name="dream", holder="one", host="here", pid=1, token=1, expires_at=START + MINUTE)
        for use in (_assert_held, _renew):
            await expect_error(LeaseLostError, use(storage, lease))
        await _release(storage, lease)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), None)


async def _acquire(storage: Storage, holder: str) -> Lease | None:
    return await storage.write(SCOPE, lambda unit: unit.leases.acquire("dream", holder=holder, duration=MINUTE))


async def _renew(storage: Storage, lease: Lease) -> Lease:
    return await storage.write(SCOPE, lambda unit: unit.leases.renew(lease, duration=MINUTE))


async def _assert_held(storage: Storage, lease: Lease) -> None:
    await storage.write(SCOPE, lambda unit: unit.leases.assert_held(lease))


async def _release(storage: Storage, lease: Lease) -> None:
    await storage.write(SCOPE, lambda unit: unit.leases.release(lease))


class BusyContract:
    """What a store of who serves people owes; that a dead process does not count is for the store's own tests."""

    async def test_who_is_announced_counts_until_withdrawn(self, storage: Storage) -> None:
        """Withdrawing twice does no harm, nor does withdrawing what never was."""
        expect_equal(await _holders(storage), [])
        await _announce(storage, "one")
        (found,) = await _holders(storage)
        expect_equal((found.holder, found.since, found.expires_at), ("one", START, START + MINUTE))
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
        clock.advance(MINUTE / 2)
        await _announce(storage, "renewed")
        clock.advance(MINUTE / 2 - timedelta(microseconds=1))
        expect_equal([found.holder for found in await _holders(storage)], ["renewed", "silent"])
        clock.advance(timedelta(microseconds=1))
        (found,) = await _holders(storage)
        expect_equal((found.holder, found.since), ("renewed", START))
        clock.advance(MINUTE)
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
        clock.advance(MINUTE / 2)
        await _announce(storage, "one", [SCOPE])
        clock.advance(MINUTE / 2)
        expect_equal([found[1] for found in await _served(storage, BusyReach.ALL)], [SCOPE])
        await _announce(storage, "one", [neighbour])
        await storage.write(SCOPE, lambda unit: unit.busy.withdraw("one", scopes=[SCOPE]))
        expect_equal([found[1] for found in await _served(storage, BusyReach.ALL)], [neighbour])

    async def test_every_scope_sees_who_serves_and_none_changes_by_it(self, storage: Storage) -> None:
        """Nobody said whose person it is; a scope in which one announced holds nothing for that."""
        await storage.write(SCOPE, lambda unit: unit.busy.announce("one", duration=MINUTE))
        found = await storage.read(OTHER_SCOPE, lambda view: (view.busy.holders(), view.revision))
        expect_equal(([holder.holder for holder in found[0]], found[1]), (["one"], 0))
        expect_equal(await storage.read(SCOPE, lambda view: view.revision), 0)
        await storage.write(OTHER_SCOPE, lambda unit: unit.busy.withdraw("one"))
        expect_equal(await storage.read(SCOPE, lambda view: (view.busy.holders(), view.revision)), ([], 0))
        expect_equal(await storage.scopes(), [])


async def _announce(storage: Storage, holder: str, scopes: Sequence[Scope | None] = (None,)) -> None:
    await storage.write(SCOPE, lambda unit: unit.busy.announce(holder, duration=MINUTE, scopes=scopes))


async def _served(storage: Storage, reach: BusyReach) -> list[tuple[str, Scope | None]]:
    found = await storage.read(SCOPE, lambda view: view.busy.holders(reach=reach))
    return [(holder.holder, holder.scope) for holder in found]


async def _withdraw(storage: Storage, holder: str) -> None:
    await storage.write(SCOPE, lambda unit: unit.busy.withdraw(holder))


async def _holders(storage: Storage, besides: str | None = None) -> list[BusyHolder]:
    return await storage.read(SCOPE, lambda view: view.busy.holders(besides=besides))
