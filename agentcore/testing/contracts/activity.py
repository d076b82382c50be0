"""Who is active."""

from datetime import datetime, timedelta

from agentcore.domain.memory import Level, SourceKind, SourceRef
from agentcore.domain.scope import Scope
from agentcore.stores.storage import Origin, Storage
from agentcore.stores.values import Peer
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE, START, a_turn, an_entry

_MINUTE = timedelta(minutes=1)
_OBSERVED_BY_ANOTHER = Scope(SCOPE.workspace, "ben", SCOPE.observed)
_OF_ANOTHER_WORKSPACE = Scope("other", SCOPE.observer, SCOPE.observed)


class ActivityContract:
    """What a store of activity owes to whoever plans dreams."""

    async def test_what_people_store_is_activity_for_all_who_observe_them(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """Not for those who observe somebody else, nor in another workspace."""
        expect_equal(await _last(storage), None)
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1")]))
        expect_equal(await _last(storage), START)
        expect_equal(await _last(storage, _OBSERVED_BY_ANOTHER), START)
        expect_equal([await _last(storage, scope) for scope in (OTHER_SCOPE, _OF_ANOTHER_WORKSPACE)], [None, None])
        clock.advance(_MINUTE)
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]), origin=Origin.IMPORT)
        expect_equal(await _last(storage), START + _MINUTE)

    async def test_saying_again_is_activity(self, storage: Storage, clock: ManualClock) -> None:
        """As when an entry is reinforced."""
        entry = an_entry("a")
        await storage.write(SCOPE, lambda unit: unit.entries.add([entry]))
        clock.advance(_MINUTE)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, entry)]))
        expect_equal(await _last(storage), START + _MINUTE)

    async def test_what_a_dream_or_an_undo_writes_is_no_activity(self, storage: Storage) -> None:
        """Else a dream would keep the next one from its idle time, or bring it about."""
        for entry_id, origin in (("a", Origin.DREAM), ("b", Origin.UNDO)):
            added = an_entry(entry_id, sources=(SourceRef(SourceKind.TURN, "t"),))
            await storage.write(SCOPE, lambda unit, added=added: unit.entries.add([added]), origin=origin)
        expect_equal((await _last(storage), await _explicit(storage)), (None, 0))

    async def test_explicit_entries_of_people_are_counted_and_never_fewer(self, storage: Storage) -> None:
        """Derived ones count for nothing, and a deletion takes nothing back."""
        derived = an_entry("d", level=Level.DERIVED, sources=(SourceRef(SourceKind.ENTRY, "a"),))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a"), an_entry("b", "Ana."), derived]))
        expect_equal(await _explicit(storage), 2)
        await storage.write(SCOPE, lambda unit: unit.entries.delete(["a"]))
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("c", "Tea.")]))
        expect_equal((await _explicit(storage), await _explicit(storage, OTHER_SCOPE)), (3, 0))

    async def test_activity_without_a_record_is_noted_for_many_at_once(self, storage: Storage) -> None:
        """Whatever scope the transaction is bound to; nothing is stored there by it."""
        moments = {Peer.of(SCOPE): START, Peer.of(OTHER_SCOPE): START - _MINUTE}
        await storage.write(_OF_ANOTHER_WORKSPACE, lambda unit: unit.activity.touch(moments))
        expect_equal([await _last(storage, one) for one in (SCOPE, OTHER_SCOPE)], [START, START - _MINUTE])
        expect_equal(await _last(storage, _OF_ANOTHER_WORKSPACE), None)
        expect_equal((await storage.scopes(), await storage.read(SCOPE, lambda view: view.revision)), ([], 0))

    async def test_the_newest_moment_stands_unless_it_lies_ahead_of_the_clock(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """A clock that ran ahead and was set back must not hide who is active now."""
        for moment, known in ((START, START), (START - _MINUTE, START)):
            await _touch(storage, moment)
            expect_equal(await _last(storage), known)
        await _touch(storage, START + 60 * _MINUTE)
        clock.advance(_MINUTE)
        await _touch(storage, clock.now())
        expect_equal(await _last(storage), START + _MINUTE)


async def _touch(storage: Storage, moment: datetime) -> None:
    await storage.write(SCOPE, lambda unit: unit.activity.touch({Peer.of(SCOPE): moment}))


async def _last(storage: Storage, scope: Scope = SCOPE) -> datetime | None:
    return await storage.read(scope, lambda view: view.activity.last())


async def _explicit(storage: Storage, scope: Scope = SCOPE) -> int:
    return await storage.read(scope, lambda view: view.activity.explicit_entries())
