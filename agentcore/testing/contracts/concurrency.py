"""Tests writers beside each other, each with a storage of its own on one database, as processes have.

Beside the fixtures of the other parts these tests need `beside`: a function that opens another storage on the database
of `storage`. A database in memory has no such, so this part stands by itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from agentcore.domain.filters import EntryFilter
from agentcore.domain.scope import Scope
from agentcore.stores.storage import Storage, UnitOfWork
from agentcore.stores.values import FeedPosition, Lease, Peer
from agentcore.testing.contracts.samples import SCOPE, START, an_entry, expect_equal

Beside: TypeAlias = Callable[[], Awaitable[Storage]]

_WRITERS = 8
_WRITES = 10
_SCOPES = 40
_MINUTE = timedelta(minutes=1)


class ConcurrencyContract:
    """What a storage owes to those who write to one database at the same time."""

    async def test_writers_to_one_scope_take_turns(self, storage: Storage, beside: Beside) -> None:
        """Every write has a revision of its own, none is lost and none fails."""
        writers = await _opened(beside)
        await asyncio.gather(
            *(
                one.write(SCOPE, partial(_add, name=f"{number}-{turn}"))
                for turn in range(_WRITES)
                for number, one in enumerate(writers)
            )
        )
        count, revision = await storage.read(SCOPE, lambda view: (view.entries.count(EntryFilter()), view.revision))
        expect_equal((count, revision), (_WRITERS * _WRITES, _WRITERS * _WRITES))
        page = await storage.read(SCOPE, lambda view: view.entries.changes_since(FeedPosition(), limit=1_000))
        expect_equal(len(page.rows), _WRITERS * _WRITES)

    async def test_what_is_read_is_what_the_writer_before_left(self, storage: Storage, beside: Beside) -> None:
        """Also of what changes no record."""

        def count_up(unit: UnitOfWork) -> None:
            unit.settings.put("count", str(int(unit.settings.get("count") or "0") + 1))

        writers = await _opened(beside)
        await asyncio.gather(*(one.write(SCOPE, count_up) for _ in range(_WRITES) for one in writers))
        expect_equal(await storage.read(SCOPE, lambda view: view.settings.get("count")), str(_WRITERS * _WRITES))

    async def test_writers_to_new_scopes_make_each_once(self, storage: Storage, beside: Beside) -> None:
        """Whoever is first; peers and scopes that many see at the same time are no error."""
        writers = await _opened(beside)
        scopes = [Scope("acme", f"agent-{number % 5}", f"ana-{number}") for number in range(_SCOPES)]
        await asyncio.gather(
            *(
                one.write(scope, partial(_add, name=str(number)))
                for scope in scopes
                for number, one in enumerate(writers)
            )
        )
        expect_equal(await storage.scopes(), sorted(scopes))
        for scope in scopes:
            expect_equal(await storage.read(scope, lambda view: view.revision), _WRITERS)

    async def test_a_lease_goes_to_one_of_those_who_want_it(self, storage: Storage, beside: Beside) -> None:
        """The others are told so; each new holder's token is greater."""

        def take(unit: UnitOfWork, holder: str) -> Lease | None:
            return unit.leases.acquire("dream", holder=holder, duration=_MINUTE)

        def give_back(unit: UnitOfWork, lease: Lease) -> None:
            unit.leases.release(lease)

        writers, tokens = await _opened(beside), list[int]()
        for _ in range(3):
            tries = (one.write(SCOPE, partial(take, holder=str(number))) for number, one in enumerate(writers))
            got = [lease for lease in await asyncio.gather(*tries) if lease is not None]
            expect_equal(len(got), 1)
            tokens.append(got[0].token)
            await storage.write(SCOPE, partial(give_back, lease=got[0]))
        expect_equal(tokens, [1, 2, 3])

    async def test_peers_that_many_touch_are_touched_by_all(self, storage: Storage, beside: Beside) -> None:
        """In whatever order they come; the latest moment stays."""
        writers = await _opened(beside)
        peers = [Peer("acme", f"ana-{number}") for number in range(6)]

        def touch(unit: UnitOfWork, number: int) -> None:
            moments = dict.fromkeys(peers if number % 2 else reversed(peers), START - number * _MINUTE)
            unit.activity.touch(moments)

        await asyncio.gather(*(one.write(None, partial(touch, number=number)) for number, one in enumerate(writers)))
        for peer in peers:
            scope = Scope(peer.workspace, "agent", peer.observed)
            expect_equal(await storage.read(scope, lambda view: view.activity.last()), START)


def _add(unit: UnitOfWork, name: str) -> None:
    unit.entries.add([an_entry(name, scope=unit.scope)])


async def _opened(beside: Beside) -> list[Storage]:
    return [await beside() for _ in range(_WRITERS)]
