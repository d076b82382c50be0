"""Tests switches, and who is active."""

from datetime import datetime

from agentcore.domain.memory import Level, SourceKind, SourceRef
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.stores.storage import Origin, ReadView, Storage
from agentcore.stores.values import Peer, SwitchLevel, SwitchSetting
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.samples import MINUTE, OTHER_SCOPE, SCOPE, START, a_turn, an_entry, expect_equal

_OFF = SwitchSetting(level=SwitchLevel.SESSION, session_id="s1", learning=False)


class SwitchContract:
    """What a store of switches owes."""

    async def test_the_widest_switch_stands_first_and_sessions_aside(self, storage: Storage) -> None:
        """A workspace's reaches all of its scopes; one that says nothing is gone."""
        for level in (SwitchLevel.SCOPE, SwitchLevel.WORKSPACE):
            await _put(storage, SwitchSetting(level=level, dream=False))
        await _put(storage, _OFF)
        expect_equal(await _levels(storage), ["workspace", "scope"])
        expect_equal(await storage.read(OTHER_SCOPE, lambda view: [one.level for one in view.switches.standing()]),
                     [SwitchLevel.WORKSPACE])  # fmt: skip
        expect_equal(await storage.read(SCOPE, lambda view: view.switches.session("s1")), _OFF)
        expect_equal(await storage.read(SCOPE, lambda view: view.switches.sessions()), [_OFF])
        await _put(storage, SwitchSetting(level=SwitchLevel.WORKSPACE))
        expect_equal((await _levels(storage), await storage.scopes()), (["scope"], []))

    async def test_a_session_that_is_off_is_no_activity_and_nothing_to_learn_from(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """What was said in it before it was switched off is left out as well; a host's own reading is not."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1"), a_turn("t2", session_id="s2")]))
        await storage.write(SCOPE, lambda unit: unit.feedback.append([_feedback("f1", clock.now())]))
        await _put(storage, _OFF)
        clock.advance(MINUTE)
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t3", recorded_at=clock.now())]))
        expect_equal(await _learnable(storage), (["t2"], [], 1, ["t2"]))
        expect_equal(await storage.read(SCOPE, lambda view: view.activity.last()), START)
        expect_equal(await storage.read(SCOPE, lambda view: (view.turns.count_material(after=0, also=()),
                                                             view.learnable.turns.count())), (3, 3))  # fmt: skip

    async def test_learning_begins_again_with_the_moment_it_is_switched_on(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """What came in while it was off stays out."""
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("t1")]))
        await _put(storage, _OFF)
        clock.advance(MINUTE)
        await _put(storage, SwitchSetting(level=SwitchLevel.SESSION, session_id="s1"))
        since = await storage.read(SCOPE, lambda view: view.switches.session("s1"))
        expect_equal(None if since is None else (since.learning, since.learning_since), (None, START + MINUTE))
        turn = a_turn("t2", recorded_at=clock.now())
        await storage.write(SCOPE, lambda unit: unit.turns.add([turn]))
        await storage.write(SCOPE, lambda unit: unit.feedback.append([_feedback("f2", clock.now())]))
        expect_equal(await _learnable(storage), (["t2"], ["f2"], 1, ["t2"]))
        expect_equal(await storage.read(SCOPE, lambda view: view.activity.last()), START + MINUTE)

    async def test_a_whole_scope_learns_nothing_of_what_came_while_it_was_off(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """The same of a workspace; a session's own switch does not bring it back."""
        for level in (SwitchLevel.SCOPE, SwitchLevel.WORKSPACE):
            await _put(storage, SwitchSetting(level=level, learning=False))
            turn = a_turn(f"in {level}", session_id=level, recorded_at=clock.now())
            await storage.write(SCOPE, lambda unit, turn=turn: unit.turns.add([turn]))
            clock.advance(MINUTE)
            await _put(storage, SwitchSetting(level=level, learning=True))
        expect_equal(await _learnable(storage), ([], [], 0, []))
        await storage.write(SCOPE, lambda unit: unit.turns.add([a_turn("after", recorded_at=clock.now())]))
        expect_equal((await _learnable(storage))[0], ["after"])


def _feedback(feedback_id: str, at: datetime) -> Feedback:
    return Feedback(
        id=feedback_id,
        scope=SCOPE,
        session_id="s1",
        kind=FeedbackKind.CORRECTION,
        summary="No.",
        occurred_at=at,
        recorded_at=at,
    )


async def _put(storage: Storage, switch: SwitchSetting) -> None:
    await storage.write(SCOPE, lambda unit: unit.switches.put(switch))


async def _levels(storage: Storage) -> list[str]:
    return await storage.read(SCOPE, lambda view: [one.level.value for one in view.switches.standing()])


async def _learnable(storage: Storage) -> tuple[list[str], list[str], int, list[str]]:
    """Return the turns and signals that may be learnt from, as each way to read them tells."""

    def look(view: ReadView) -> tuple[list[str], list[str], int, list[str]]:
        turns = view.learnable.turns
        material = [item.id for item in turns.material(after=0, also=(), limit=99)]
        signals = [signal.id for signal in view.learnable.feedback.newest(limit=99)]
        stored = [turn.id for turn in turns.get_many(["t1", "t2", "t3", "in scope", "in workspace", "after"])]
        said = {turn.id for turn in [*turns.said_since(START - MINUTE, limit=99), *turns.openings(limit=99)]}
        expect_equal(sorted(said), sorted(stored))
        return material, signals, turns.count_material(after=0, also=()), stored

    return await storage.read(SCOPE, look)


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
        clock.advance(MINUTE)
        await storage.write(SCOPE, lambda unit: unit.entries.add([an_entry("a")]), origin=Origin.IMPORT)
        expect_equal(await _last(storage), START + MINUTE)

    async def test_saying_again_is_activity(self, storage: Storage, clock: ManualClock) -> None:
        """As when an entry is reinforced."""
        entry = an_entry("a")
        await storage.write(SCOPE, lambda unit: unit.entries.add([entry]))
        clock.advance(MINUTE)
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(entry, entry)]))
        expect_equal(await _last(storage), START + MINUTE)

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
        moments = {Peer.of(SCOPE): START, Peer.of(OTHER_SCOPE): START - MINUTE}
        await storage.write(_OF_ANOTHER_WORKSPACE, lambda unit: unit.activity.touch(moments))
        expect_equal([await _last(storage, one) for one in (SCOPE, OTHER_SCOPE)], [START, START - MINUTE])
        expect_equal(await _last(storage, _OF_ANOTHER_WORKSPACE), None)
        expect_equal((await storage.scopes(), await storage.read(SCOPE, lambda view: view.revision)), ([], 0))

    async def test_the_newest_moment_stands_unless_it_lies_ahead_of_the_clock(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """A clock that ran ahead and was set back must not hide who is active now."""
        for moment, known in ((START, START), (START - MINUTE, START)):
            await _touch(storage, moment)
            expect_equal(await _last(storage), known)
        await _touch(storage, START + 60 * MINUTE)
        clock.advance(MINUTE)
        await _touch(storage, clock.now())
        expect_equal(await _last(storage), START + MINUTE)


async def _touch(storage: Storage, moment: datetime) -> None:
    await storage.write(SCOPE, lambda unit: unit.activity.touch({Peer.of(SCOPE): moment}))


async def _last(storage: Storage, scope: Scope = SCOPE) -> datetime | None:
    return await storage.read(scope, lambda view: view.activity.last())


async def _explicit(storage: Storage, scope: Scope = SCOPE) -> int:
    return await storage.read(scope, lambda view: view.activity.explicit_entries())
