from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from dreaming import DAY, NOW, World, of_pass

from agentcore.domain import (
    Feedback,
    FeedbackKind,
    MemoryEntry,
    SkillUse,
    SourceKind,
    SourceRef,
    Status,
    ToolCall,
    Turn,
    WispRun,
)
from agentcore.domain.actor import Actor, ActorKind
from agentcore.domain.subject_time import PartialDate
from agentcore.stores.acting import acting_as
from dream.domain import Outcome, PassOutcome, PassReport
from dream.options import DreamOptions, RetentionOptions
from dream.passes.exact_fold import ExactFold

RETENTION = "retention"
A_PERSON = Actor(ActorKind.PERSON)


def keeping(step_size: int = 500, **fields: Any) -> DreamOptions:
    return DreamOptions(retention=RetentionOptions(**fields), step_size=step_size)


async def purge(world: World) -> PassReport:
    return of_pass(await world.dreams.run(passes=[RETENTION]), RETENTION)


async def left(world: World) -> set[str]:
    return {entry.content for entry in await world.entries()}


def retired(world: World, content: str, *, days: float = 91, **fields: Any) -> MemoryEntry:
    at = world.clock.now() - days * DAY
    fields = {"status": Status.ARCHIVED, "status_reason": "set aside", "status_at": at} | fields
    return world.entry(content, created_at=at - DAY, **fields)


# Entries.


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUPERSEDED])
async def test_what_was_retired_more_than_ninety_days_ago_is_purged(world: World, status: Status):
    await world.add(retired(world, "old", status=status), retired(world, "recent", days=89), "active")
    done = await purge(world)
    assert (done.outcome, done.purged, done.notes) == (PassOutcome.APPLIED, 1, {"entries": 1})
    assert await left(world) == {"recent", "active"}


async def test_on_the_ninetieth_day_itself_nothing_is_purged(world: World):
    await world.add(retired(world, "edge", days=90))
    assert (await purge(world)).reason == "no_work"
    world.clock.advance(timedelta(microseconds=1))
    assert (await purge(world)).purged == 1


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"base": 0.80}, True),
        ({"base": 0.79}, False),
        ({"own_count": 5}, True),
        ({"own_count": 4}, False),
        ({"own_count": 2, "absorbed": (("other", 3),)}, True),
        ({"pinned": True}, True),
        ({"status": Status.SUPERSEDED, "valid_until": PartialDate.parse("2024-03")}, True),
    ],
)
async def test_importance_reinforcement_a_pin_and_having_held_protect(world: World, fields: dict[str, Any], kept: bool):
    await world.add(retired(world, "old", **fields))
    await purge(world)
    assert (await left(world) == {"old"}) is kept


async def test_protection_goes_by_the_base_and_not_by_what_is_left_of_it(world: World):
    (entry,) = await world.add(retired(world, "old", base=0.9, days=400))
    assert entry.importance < 0.2
    assert (await purge(world)).purged == 0


async def test_the_source_of_a_live_merge_is_protected_and_that_of_a_retired_one_is_not(world: World):
    source, other = retired(world, "source"), retired(world, "other")
    merge = world.entry("merge", sources=(SourceRef(SourceKind.ENTRY, source.id),))
    gone = retired(world, "gone", days=1, sources=(SourceRef(SourceKind.ENTRY, other.id),))
    await world.add(source, other, merge, gone)
    await purge(world)
    assert await left(world) == {"source", "merge", "gone"}


async def test_active_entries_are_never_purged_however_old(world: World):
    await world.add("old", created_at=NOW - 4_000 * DAY, base=0.0)
    assert (await purge(world)).reason == "no_work"


async def test_the_window_and_the_protections_are_options(world: World):
    world.options = keeping(archived=10 * DAY, protect_importance=0.3, protect_reinforced=2)
    await world.add(
        retired(world, "low", days=11, base=0.2),
        retired(world, "high", days=11, base=0.3),
        retired(world, "often", days=11, base=0.2, own_count=2),
    )
    await purge(world)
    assert await left(world) == {"high", "often"}


async def test_a_purge_is_in_the_journal_without_the_text(world: World):
    (old,) = await world.add(retired(world, "old"))
    await purge(world)
    (row,) = await world.journal()
    assert (row.operation, row.record_id, row.before, row.after) == ("purge", old.id, None, None)
    assert row.reason == "retired for more than 90 days"


async def test_an_undo_tells_how_much_was_purged_and_brings_none_of_it_back(world: World):
    await world.add(retired(world, "old"), "Ana likes tea", "Ana likes tea")
    run = await world.dreams.run()
    undone = await world.dreams.undo(run.run_id)
    assert (undone.changes, undone.passes[0].notes) == (2, {"purged_for_good": 1})
    assert await left(world) == {"Ana likes tea"}


async def test_a_purge_in_many_steps_removes_each_once(world: World):
    world.options = keeping(step_size=2)
    await world.add(*(retired(world, f"old {number}") for number in range(7)))
    done = await purge(world)
    assert (done.purged, done.notes) == (7, {"entries": 7})
    assert len({row.step for row in await world.journal()}) == 4


async def test_it_is_due_as_of_the_run_even_when_that_is_a_simulated_day(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    await world.dreams.run()
    report = await world.dreams.run(now=NOW + 91 * DAY)
    assert of_pass(report, RETENTION).notes["entries"] == 1


# Turns.


def turn(world: World, content: str, *, days: float = 91, session: str = "s1", consumed: bool = False) -> Turn:
    at = world.clock.now() - days * DAY
    return Turn(
        id=world.ids.new(),
        scope=world.scope,
        session_id=session,
        role="user",
        content=content,
        occurred_at=at,
        recorded_at=at,
        consumed_at=at if consumed else None,
    )


async def say(world: World, *turns: Turn) -> None:
    await world.write(lambda unit: unit.turns.add(turns))


async def heard(world: World, session: str = "s1") -> list[str]:
    found: Sequence[Turn] = await world.storage.read(world.scope, lambda view: view.turns.session(session))
    return [one.content for one in found]


async def test_turns_stored_more_than_ninety_days_ago_are_dropped(world: World):
    await say(world, turn(world, "old", consumed=True), turn(world, "new", days=30))
    done = await purge(world)
    assert (done.purged, done.notes) == (1, {"turns": 1})
    assert await heard(world) == ["new"]


async def test_the_day_it_was_stored_counts_and_not_the_day_it_was_said(world: World):
    imported = turn(world, "old news")
    await say(world, Turn(**{name: getattr(imported, name) for name in imported.__slots__} | {"recorded_at": NOW}))
    assert (await purge(world)).reason == "no_work"


async def test_unread_turns_that_had_to_go_are_reported_per_session(world: World):
    world.options = keeping(step_size=2)
    unread = [turn(world, f"unread {number}", session=f"s{number % 2}") for number in range(5)]
    await say(world, turn(world, "read", consumed=True), *unread)
    await say(world, turn(world, "lately", days=0))
    assert (await purge(world)).notes == {"turns": 6, "unread_turns_dropped": {"s0": 3, "s1": 2}}


async def test_beyond_the_bound_the_consumed_turns_go_first_and_then_the_oldest(world: World):
    world.options = keeping(max_turns=2)
    await say(
        world,
        turn(world, "oldest unread", days=9),
        turn(world, "old unread", days=8),
        turn(world, "read long ago", days=7, consumed=True),
        turn(world, "read just now", days=1, consumed=True),
        turn(world, "newest unread", days=0),
    )
    done = await purge(world)
    assert done.notes == {"turns": 3, "unread_turns_dropped": {"s1": 1}}
    assert await heard(world) == ["old unread", "newest unread"]


async def test_dropped_turns_are_in_the_journal_and_in_the_count_of_an_undo(world: World):
    (gone,) = [turn(world, "a secret of old")]
    await say(world, gone, turn(world, "lately", days=0))
    run = await world.dreams.run()
    (row,) = await world.journal()
    assert (row.operation, row.kind.value, row.record_id) == ("purge", "turn", gone.id)
    undone = await world.dreams.undo(run.run_id)
    assert undone.passes[0].notes == {"purged_for_good": 1}


# Signals and bookkeeping.


def signals(world: World, at: datetime, number: int) -> dict[str, Any]:
    given = {"id": f"{number}-{world.ids.new()}", "scope": world.scope, "occurred_at": at, "recorded_at": at}
    return {
        "skill_uses": SkillUse(**given, skill_name="mail", session_id="s1"),
        "feedback": Feedback(**given, session_id="s1", kind=FeedbackKind.THUMBS_UP, summary="fine"),
        "wisp_runs": WispRun(
            **given,
            wisp_id="w",
            description="sum",
            definition_hash="h",
            succeeded=True,
            step_count=1,
            steps_completed=1,
            duration_ms=5,
        ),
        "tool_calls": ToolCall(**given, session_id="s1", tool_name="mail_search", succeeded=True),
    }


async def signal(world: World, *days: float) -> None:
    for number, back in enumerate(days):
        for name, one in signals(world, NOW - back * DAY, number).items():
            await world.write(lambda unit, name=name, one=one: getattr(unit, name).append([one]))


async def kept(world: World, name: str) -> list[str]:
    found = await world.storage.read(world.scope, lambda view: getattr(view, name).newest(limit=99))
    return [one.id.partition("-")[0] for one in found]


@pytest.mark.parametrize("name", ["skill_uses", "feedback", "wisp_runs", "tool_calls"])
async def test_signals_beyond_the_window_go_and_those_within_it_stay(world: World, name: str):
    await signal(world, 100, 91, 89, 0)
    done = await purge(world)
    assert done.notes == {"skill_uses": 2, "feedbacks": 2, "wisp_runs": 2, "tool_calls": 2}
    assert await kept(world, name) == ["2", "3"]


@pytest.mark.parametrize("name", ["skill_uses", "feedback", "wisp_runs", "tool_calls"])
async def test_of_too_many_signals_the_newest_are_kept(world: World, name: str):
    world.options = keeping(max_signals=2, step_size=2)
    await signal(world, 4, 1, 3, 0, 2)
    await purge(world)
    assert await kept(world, name) == ["1", "3"]


async def test_runs_older_than_the_window_go_with_their_journal_answers_and_plans(world: World):
    await world.add("Ana likes tea", "Ana likes tea", base=0.9)
    plan = await world.dreams.plan()
    run = await world.dreams.run()
    world.clock.advance(91 * DAY)
    with acting_as(A_PERSON):
        latest = await world.dreams.run()
    assert of_pass(latest, RETENTION).notes["history_rows"] > 3
    assert [one.run_id for one in await world.dreams.runs()] == [latest.run_id]
    assert await world.journal() == []
    for what in (world.dreams.report(run.run_id), world.dreams.run(plan=plan.plan_id)):
        with pytest.raises(ValueError, match=r"none in this scope|no plan"):
            await what


async def test_plans_go_by_themselves_where_nobody_ever_ran_one(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    plan = await world.dreams.plan()
    world.clock.advance(91 * DAY)
    with acting_as(A_PERSON):
        await purge(world)
    with pytest.raises(ValueError, match="no plan"):
        await world.dreams.run(plan=plan.plan_id)


async def test_bookkeeping_goes_in_steps_of_a_bounded_size(world: World):
    world.options = keeping(step_size=2)
    await world.add(*["Ana likes tea"] * 40)
    await world.dreams.run()
    world.clock.advance(91 * DAY)
    with acting_as(A_PERSON):
        done = await purge(world)
    steps = (done.notes["history_rows"] + done.notes["feed_rows"]) / 20
    assert steps > 4
    assert (await world.dreams.runs())[-1].kind.value == "dream"


async def test_the_run_that_purges_history_keeps_its_own(world: World):
    await world.add(retired(world, "old"))
    world.options = keeping(history=timedelta(microseconds=1), archived=DAY)
    run = await world.dreams.run()
    assert [row.operation for row in await world.dreams.diff(run.run_id)] == ["purge"]


async def test_what_a_person_took_back_is_remembered_longer_than_its_run(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id)
    world.clock.advance(200 * DAY)
    await world.dreams.run()
    await world.add("Ana likes tea", created_at=NOW - 999 * DAY)
    await world.dreams.run()
    assert len(await world.active()) == 2


async def test_the_recall_index_keeps_up_after_old_feed_rows_are_gone(world: World):
    await world.add("Ana likes tea")
    assert len(await world.memory.recall("tea")) == 1
    world.clock.advance(91 * DAY)
    await world.add("Ben likes tea")
    await purge(world)
    assert len(await world.memory.recall("tea")) == 2


async def test_it_needs_no_store_at_all_and_so_is_never_skipped(world: World):
    world.capabilities = frozenset()
    report = await world.dreams.run()
    assert [one.outcome for one in report.passes].count(PassOutcome.SKIPPED) == len(report.passes) - 1
    assert of_pass(report, RETENTION).outcome is PassOutcome.UNCHANGED
    assert report.outcome is Outcome.UNCHANGED


# A clock that leapt.


async def test_a_dream_long_after_the_one_before_removes_nothing_and_the_next_one_does(world: World):
    await world.run_passes(ExactFold())
    world.clock.advance(1_000 * DAY)
    await world.add(retired(world, "old"))
    waits = await purge(world)
    assert (waits.purged, waits.notes) == (0, {"clock_leapt": 1})
    assert await left(world) == {"old"}
    world.clock.advance(timedelta(hours=1))
    assert (await purge(world)).notes["entries"] == 1


async def test_a_clock_that_is_put_right_in_between_has_removed_nothing(world: World):
    said = world.clock.now()
    await world.run_passes(ExactFold())
    await world.add(retired(world, "recent", days=30))
    world.clock.advance(1_000 * DAY)
    assert (await purge(world)).purged == 0
    world.clock.set(said + DAY)
    assert (await purge(world)).purged == 0
    assert await left(world) == {"recent"}


async def test_a_first_dream_long_after_the_last_turn_removes_nothing_and_the_next_one_does(world: World):
    await say(world, turn(world, "I like tea.", days=0))
    world.clock.advance(1_000 * DAY)
    assert (await purge(world)).notes == {"clock_leapt": 1}
    assert await world.storage.read(world.scope, lambda view: view.turns.count()) == 1
    world.clock.advance(timedelta(hours=1))
    assert (await purge(world)).notes["turns"] == 1


async def test_what_was_said_while_the_clock_was_set_back_is_not_removed_at_once(world: World):
    right = world.clock.now()
    await say(world, turn(world, "I like tea.", days=0))
    await world.run_passes(ExactFold())
    world.clock.set(right - 1_000 * DAY)
    await say(world, turn(world, "I moved to Lisbon.", days=0))
    world.clock.set(right + timedelta(hours=1))
    await say(world, turn(world, "I like rye.", days=0))
    assert (await purge(world)).notes == {"clock_leapt": 1}
    assert await world.storage.read(world.scope, lambda view: view.turns.count()) == 3
    world.clock.advance(timedelta(hours=1))
    assert (await purge(world)).notes["turns"] == 1


async def test_a_person_need_not_wait_for_a_second_dream(world: World):
    await world.run_passes(ExactFold())
    world.clock.advance(1_000 * DAY)
    await world.add(retired(world, "old"))
    with acting_as(A_PERSON):
        assert (await purge(world)).notes["entries"] == 1


async def test_where_dreams_are_rare_each_second_one_removes(world: World):
    purged: list[int] = []
    for number in range(1, 5):
        await world.add(retired(world, f"old {number}"))
        purged.append((await purge(world)).notes.get("entries", 0))
        world.clock.advance(100 * DAY)
    assert purged == [1, 0, 2, 0]
