"""What is switched off."""

from datetime import datetime, timedelta

from agentcore.domain.signals import Feedback, FeedbackKind
from agentcore.stores.storage import ReadView, Storage
from agentcore.stores.values import SwitchLevel, SwitchSetting
from agentcore.testing.clock import ManualClock
from agentcore.testing.contracts.expectations import expect_equal
from agentcore.testing.contracts.samples import OTHER_SCOPE, SCOPE, START, a_turn

_MINUTE = timedelta(minutes=1)
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
        clock.advance(_MINUTE)
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
        clock.advance(_MINUTE)
        await _put(storage, SwitchSetting(level=SwitchLevel.SESSION, session_id="s1"))
        since = await storage.read(SCOPE, lambda view: view.switches.session("s1"))
        expect_equal(None if since is None else (since.learning, since.learning_since), (None, START + _MINUTE))
        turn = a_turn("t2", recorded_at=clock.now())
        await storage.write(SCOPE, lambda unit: unit.turns.add([turn]))
        await storage.write(SCOPE, lambda unit: unit.feedback.append([_feedback("f2", clock.now())]))
        expect_equal(await _learnable(storage), (["t2"], ["f2"], 1, ["t2"]))
        expect_equal(await storage.read(SCOPE, lambda view: view.activity.last()), START + _MINUTE)

    async def test_a_whole_scope_learns_nothing_of_what_came_while_it_was_off(
        self, storage: Storage, clock: ManualClock
    ) -> None:
        """The same of a workspace; a session's own switch does not bring it back."""
        for level in (SwitchLevel.SCOPE, SwitchLevel.WORKSPACE):
            await _put(storage, SwitchSetting(level=level, learning=False))
            turn = a_turn(f"in {level}", session_id=level, recorded_at=clock.now())
            await storage.write(SCOPE, lambda unit, turn=turn: unit.turns.add([turn]))
            clock.advance(_MINUTE)
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
        said = {turn.id for turn in [*turns.said_since(START - _MINUTE, limit=99), *turns.openings(limit=99)]}
        expect_equal(sorted(said), sorted(stored))
        return material, signals, turns.count_material(after=0, also=()), stored

    return await storage.read(SCOPE, look)
