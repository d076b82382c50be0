"""Leases."""

from datetime import timedelta

from agentcore.errors import LeaseLostError
from agentcore.stores.storage import Storage
from agentcore.stores.values import Lease
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.expectations import expect_equal, expect_error, expect_some
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE, START

_MINUTE = timedelta(minutes=1)


class LeaseContract:
    """What a store of leases owes; that a dead process loses its lease at once is for the store's own tests."""

    async def test_a_lease_has_one_holder(self, storage: Storage) -> None:
        """Per name and scope; its own holder does not get it twice either."""
        lease = expect_some(await _acquire(storage, "one"))
        expect_equal((lease.name, lease.holder, lease.expires_at), ("dream", "one", START + _MINUTE))
        expect_equal(await _acquire(storage, "two"), None)
        expect_equal(await _acquire(storage, "one"), None)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), lease)
        elsewhere = await storage.write(
            OTHER_SCOPE, lambda unit: unit.leases.acquire("dream", holder="two", duration=_MINUTE)
        )
        other_name = await storage.write(
            SCOPE, lambda unit: unit.leases.acquire("import", holder="two", duration=_MINUTE)
        )
        expect_equal((expect_some(elsewhere).holder, expect_some(other_name).holder), ("two", "two"))

    async def test_an_expired_lease_can_be_taken(self, storage: Storage, clock: ManualClock) -> None:
        """At its instant, not before; the token tells the new holder from the old."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(_MINUTE - timedelta(microseconds=1))
        expect_equal(await _acquire(storage, "two"), None)
        clock.advance(timedelta(microseconds=1))
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), None)
        second = expect_some(await _acquire(storage, "two"))
        expect_equal((second.holder, second.token), ("two", first.token + 1))

    async def test_a_lease_that_changed_hands_is_lost(self, storage: Storage, clock: ManualClock) -> None:
        """Whoever held it before can neither go on nor take it from the next."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(_MINUTE)
        second = expect_some(await _acquire(storage, "two"))
        for use in (_assert_held, _renew):
            await expect_error(LeaseLostError, use(storage, first))
        await _release(storage, first)
        await _assert_held(storage, second)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), second)

    async def test_the_same_holder_is_fenced_from_its_earlier_self(self, storage: Storage, clock: ManualClock) -> None:
        """The token decides, not the name."""
        first = expect_some(await _acquire(storage, "one"))
        clock.advance(_MINUTE)
        second = expect_some(await _acquire(storage, "one"))
        await expect_error(LeaseLostError, _assert_held(storage, first))
        await _assert_held(storage, second)

    async def test_a_renewed_lease_runs_from_now(self, storage: Storage, clock: ManualClock) -> None:
        """Also a late one that nobody took meanwhile."""
        lease = expect_some(await _acquire(storage, "one"))
        for wait in (_MINUTE / 2, 2 * _MINUTE):
            clock.advance(wait)
            lease = await _renew(storage, lease)
            expect_equal(lease.expires_at, clock.now() + _MINUTE)
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
        lease = Lease(name="dream", holder="one", host="here", pid=1, token=1, expires_at=START + _MINUTE)
        for use in (_assert_held, _renew):
            await expect_error(LeaseLostError, use(storage, lease))
        await _release(storage, lease)
        expect_equal(await storage.write(SCOPE, lambda unit: unit.leases.holder("dream")), None)


async def _acquire(storage: Storage, holder: str) -> Lease | None:
    return await storage.write(SCOPE, lambda unit: unit.leases.acquire("dream", holder=holder, duration=_MINUTE))


async def _renew(storage: Storage, lease: Lease) -> Lease:
    return await storage.write(SCOPE, lambda unit: unit.leases.renew(lease, duration=_MINUTE))


async def _assert_held(storage: Storage, lease: Lease) -> None:
    await storage.write(SCOPE, lambda unit: unit.leases.assert_held(lease))


async def _release(storage: Storage, lease: Lease) -> None:
    await storage.write(SCOPE, lambda unit: unit.leases.release(lease))
