from dataclasses import replace
from datetime import timedelta

import pytest
from dreaming import DAY, NOW, World, codes, of_pass

import dream.passes.exact_fold as fold_pass
from agentcore.domain import Level, SourceKind, SourceRef, Status, Trust
from agentcore.domain.actor import Actor, ActorKind
from agentcore.stores.acting import acting_as
from dream.domain import Outcome, PassOutcome, PassReport
from dream.options import DreamOptions

FOLD = "exact-fold"


async def fold(world: World) -> PassReport:
    return of_pass(await world.dreams.run(passes=[FOLD]), FOLD)


async def folded(world: World) -> int:
    return (await fold(world)).notes.get("folded", 0)


# What RockBot's tests of its exact fold ask, adapted where ours differs.


async def test_groups_are_folded_oldest_first(world: World):
    older, newer = await world.add("Ana likes tea", "Ana likes tea")
    assert await folded(world) == 1
    assert (await world.get(older)).is_active
    assert not (await world.get(newer)).is_active


async def test_copies_that_differ_in_whitespace_alone_are_folded(world: World):
    await world.add("Ana likes tea", "  Ana   likes\ttea ")
    assert await folded(world) == 1


async def test_unlike_rockbots_copies_that_differ_in_case_or_a_full_stop_are_folded_too(world: World):
    await world.add("Ana likes tea", "ana LIKES tea", "Ana likes tea.", "Ana likes tea。")
    assert await folded(world) == 3


@pytest.mark.parametrize("other", ["Ana likes rye", "Ana likes tea?", "Ana likes tea!", "Ana likes tea…", "Ana likes²"])
async def test_another_wording_or_mark_is_no_copy(world: World, other: str):
    await world.add("Ana likes tea", other, "Ana likes2")
    assert await folded(world) == 0


async def test_another_category_is_no_copy(world: World):
    await world.add("Ana likes tea", category="people/ana")
    await world.add("Ana likes tea", category="people/ben")
    assert await folded(world) == 0


async def test_the_case_of_a_category_does_not_matter(world: World):
    await world.add("Ana likes tea", category="People/Ana")
    await world.add("Ana likes tea", category="people/ana")
    assert await folded(world) == 1


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUPERSEDED])
async def test_retired_copies_are_left_where_they_are(world: World, status: Status):
    retired = world.entry("Ana likes tea", status=status, status_reason="set aside", status_at=NOW)
    await world.add(retired, "Ana likes tea")
    assert await folded(world) == 0
    assert await world.get(retired) == retired


async def test_counters_combine_while_text_and_updated_at_stay(world: World):
    edited = NOW - DAY
    survivor = world.entry(
        "Ana likes tea.", created_at=NOW - 9 * DAY, last_seen_at=NOW - 8 * DAY, own_count=2, base=0.4, updated_at=edited
    )
    copy = world.entry("ana likes tea", created_at=NOW - 7 * DAY, last_seen_at=NOW - 2 * DAY, own_count=3, base=0.9)
    await world.add(survivor, copy)
    await fold(world)
    after = await world.get(survivor)
    assert (after.content, after.updated_at) == ("Ana likes tea.", edited)
    assert (after.created_at, after.last_seen_at) == (NOW - 9 * DAY, NOW - 2 * DAY)
    assert (after.reinforcement_count, after.own_count, after.base) == (5, 2, 0.9)


async def test_tags_and_sources_unite(world: World):
    turn, document = SourceRef(SourceKind.TURN, "t1"), SourceRef(SourceKind.DOCUMENT, "d1")
    survivor = world.entry("Ana likes tea", created_at=NOW - DAY, tags=("drink",), sources=(turn,))
    await world.add(survivor, world.entry("Ana likes tea", tags=("ana", "drink"), sources=(document,)))
    await fold(world)
    after = await world.get(survivor)
    assert after.tags == ("ana", "drink")
    assert after.sources == (document, turn)


async def test_missing_metadata_is_copied_and_the_survivors_wins(world: World):
    survivor = world.entry("Ana likes tea", created_at=NOW - DAY, metadata={"place": "home"})
    await world.add(survivor, world.entry("Ana likes tea", metadata={"place": "work", "mood": "calm"}))
    await fold(world)
    assert (await world.get(survivor)).metadata == {"place": "home", "mood": "calm"}


async def test_a_copy_is_archived_with_reason_and_successor_as_of_the_run(world: World):
    survivor, copy = await world.add("Ana likes tea", "Ana likes tea")
    await fold(world)
    archived = await world.get(copy)
    assert (archived.status, archived.successor, archived.status_at) == (Status.ARCHIVED, survivor.id, NOW)
    assert archived.status_reason == f"duplicate of {survivor.id}"
    assert replace(archived, status=copy.status, status_reason=None, successor=None, status_at=None) == copy


async def test_it_needs_no_model_and_is_on_by_default(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    report = await world.dreams.run()
    assert of_pass(report, FOLD).outcome is PassOutcome.APPLIED
    assert of_pass(report, FOLD).calls == 0


async def test_it_can_be_switched_off(world: World):
    world.options = DreamOptions(modes={FOLD: "off"})
    await world.add("Ana likes tea", "Ana likes tea")
    assert of_pass(await world.dreams.run(), FOLD).reason == "disabled"
    assert len(await world.active()) == 2


async def test_a_pause_stops_it(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    await world.dreams.pause()
    assert (await world.dreams.run()).outcome is Outcome.DEFERRED
    assert len(await world.active()) == 2


async def test_later_passes_see_the_folded_memory(world: World):
    await world.add("Ana likes green tea in the morning", "Ana likes green tea in the morning.")
    assert of_pass(await world.dreams.run(), "near-duplicates").notes["clusters"] == []


# What ours promises beyond.


@pytest.mark.parametrize("category", ["active-plans", "Active-Plans/lisbon"])
async def test_protected_categories_are_left_alone(world: World, category: str):
    await world.add("Book the flight", "Book the flight", category=category)
    assert await folded(world) == 0


async def test_a_category_protected_with_a_slash_at_the_end_is_the_same_category(world: World):
    world.options = DreamOptions(protected_categories=("keep/",))
    await world.add("Book the flight", "Book the flight", category="keep")
    assert await folded(world) == 0


async def test_an_explicit_entry_and_a_derived_one_stay_apart(world: World):
    await world.add("Ana likes tea")
    await world.add("Ana likes tea", level=Level.DERIVED)
    assert await folded(world) == 0


async def test_entries_about_incompatible_times_stay_apart(world: World):
    await world.add("Ana went to Porto", subject_time="2019")
    await world.add("Ana went to Porto", subject_time="2020")
    assert await folded(world) == 0
    assert len(await world.active()) == 2


async def test_a_time_that_widens_the_survivor_decides_about_the_next_copy(world: World):
    entries = [
        world.entry("Ana went to Porto", created_at=NOW + number * DAY, subject_time=time)
        for number, time in enumerate([None, "2019", "2020", "2019-06", "2020-03"])
    ]
    await world.add(*entries)
    assert await folded(world) == 3
    assert [str(entry.subject_time) for entry in await world.active()] == ["2019-06", "2020-03"]


async def test_the_survivor_keeps_its_trust_and_a_less_trusted_copy_adds_no_reinforcement(world: World):
    survivor = world.entry("Ana likes tea", created_at=NOW - DAY, last_seen_at=NOW - DAY, base=0.3)
    page = world.entry("Ana likes tea", trust=Trust.UNTRUSTED, own_count=9, base=1.0, tags=("spam",))
    await world.add(survivor, page)
    await fold(world)
    after = await world.get(survivor)
    assert (after.trust, after.reinforcement_count, after.base, after.tags) == (Trust.STATED, 1, 0.3, ())
    assert after.last_seen_at == NOW - DAY
    assert not (await world.get(page)).is_active


async def test_a_less_trusted_survivor_gains_no_trust_from_its_copies(world: World):
    page = world.entry("Ana likes tea", created_at=NOW - DAY, trust=Trust.UNTRUSTED)
    await world.add(page, world.entry("Ana likes tea", trust=Trust.CONFIRMED, own_count=2))
    await fold(world)
    after = await world.get(page)
    assert (after.trust, after.reinforcement_count) == (Trust.UNTRUSTED, 3)


async def test_a_pin_and_a_safety_mark_survive_on_the_survivor(world: World):
    survivor = world.entry("Ask before mailing", created_at=NOW - DAY)
    marked = world.entry(
        "Ask before mailing", pinned=True, trust=Trust.INFERRED, metadata={"requires_user_permission": "yes"}
    )
    await world.add(survivor, marked)
    assert (await fold(world)).refused == ()
    after = await world.get(survivor)
    assert after.pinned
    assert after.metadata == {"requires_user_permission": "true"}


async def test_taking_a_fold_back_and_bringing_it_back_again_counts_nobody_twice(world: World):
    survivor, copy = await world.add("Ana likes tea", "Ana likes tea", own_count=2)
    run = await world.dreams.run()
    undone = await world.dreams.undo(run.run_id)
    assert (await world.get(survivor)).reinforcement_count == 2
    await world.dreams.undo(undone.run_id)
    assert (await world.get(survivor)).reinforcement_count == 4
    assert not (await world.get(copy)).is_active


async def test_a_copy_that_was_restored_and_is_folded_again_is_not_counted_twice(world: World):
    survivor, copy = await world.add("Ana likes tea", "Ana likes tea", own_count=2)
    await fold(world)
    await world.dreams.restore(copy.id)
    # The person files both elsewhere, which is another text to judge; the fold is open again.
    for entry in (survivor, copy):
        await world.change(entry, category="drinks")
    assert await folded(world) == 1
    assert (await world.get(survivor)).reinforcement_count == 4


async def test_copies_in_several_runs_are_summed_over_distinct_sources(world: World):
    (survivor,) = await world.add("Ana likes tea", created_at=NOW - 9 * DAY)
    for number in range(3):
        await world.add("ana likes tea", created_at=NOW + number * DAY)
        assert await folded(world) == 1
    after = await world.get(survivor)
    assert (after.reinforcement_count, after.own_count, len(after.absorbed)) == (4, 1, 3)


async def test_a_copy_older_than_the_survivor_takes_over_with_all_it_had_absorbed(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    await fold(world)
    (oldest,) = await world.add("Ana likes tea", created_at=NOW - 9 * DAY)
    await fold(world)
    (left,) = await world.active()
    assert (left.id, left.reinforcement_count) == (oldest.id, 3)


async def test_of_entries_as_old_as_each_other_the_one_stored_first_survives_then_the_first_to_arrive(world: World):
    late = world.entry("Ana likes tea", id="a", created_at=NOW, recorded_at=NOW + DAY)
    first, second = (world.entry("Ana likes tea", id=name, created_at=NOW, recorded_at=NOW) for name in ("b", "c"))
    await world.add(late, second, first)
    await fold(world)
    assert [entry.id for entry in await world.active()] == ["c"]


async def test_a_fold_only_looks_at_what_is_new(world: World):
    await world.add("Ana likes tea", "Ben likes rye")
    assert (await fold(world)).looked_at == 2
    await world.add("Cem likes figs", "ana likes tea")
    done = await fold(world)
    assert (done.looked_at, done.notes["folded"]) == (2, 1)


async def test_without_anything_new_it_has_no_work(world: World):
    await world.add("Ana likes tea")
    await fold(world)
    assert (await fold(world)).reason == "no_work"


async def test_a_reinforcement_is_nothing_new(world: World):
    await world.memory.remember("Ana likes tea")
    await fold(world)
    await world.memory.remember("Ana likes tea")
    assert (await fold(world)).reason == "no_work"


async def test_an_edit_that_makes_two_entries_equal_is_folded(world: World):
    (tea, coffee) = await world.add("Ana likes tea", "Ana likes coffee")
    await fold(world)
    await world.change(coffee, content="Ana likes tea")
    assert await folded(world) == 1
    assert [entry.id for entry in await world.active()] == [tea.id]


# Steps: at most so many changes in each, and the same result however they are cut.


@pytest.mark.parametrize("step_size", [2, 3, 5, 499])
async def test_the_size_of_a_step_changes_the_number_of_steps_and_nothing_else(world: World, step_size: int):
    texts = [f"Fact {number % 7}" for number in range(30)]
    whole = world.elsewhere()
    for one in (world, whole):
        await one.add(*(one.entry(text, id=f"e{n:02}", created_at=NOW + n * DAY) for n, text in enumerate(texts)))
    world.options = DreamOptions(step_size=step_size)
    assert (await folded(world), await folded(whole)) == (23, 23)
    assert await world.export() == await whole.export()


@pytest.mark.parametrize("step_size", [2, 3, 5])
async def test_no_step_changes_more_records_than_it_may(world: World, step_size: int):
    world.options = DreamOptions(step_size=step_size)
    await world.add(*["Ana likes tea"] * 8, *["Ben likes rye"] * 3)
    await fold(world)
    sizes: dict[int, int] = {}
    for row in await world.journal():
        sizes[row.step] = sizes.get(row.step, 0) + 1
    assert max(sizes.values()) <= step_size
    assert len(sizes) >= 9 / (step_size - 1)


async def test_more_copies_of_one_text_than_a_step_holds_become_one_entry(world: World):
    copies = 1_201
    await world.add(*["Ana likes tea"] * copies)
    done = await fold(world)
    (left,) = await world.active()
    assert (done.notes["folded"], left.reinforcement_count) == (copies - 1, copies)
    assert done.accepted == copies - 1 + 5  # each of five steps rewrites the survivor


async def test_copies_in_far_windows_of_the_order_of_arrival_find_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(fold_pass, "_WINDOW", 10)
    await world.add("Ana likes tea", *(f"Fact {number}" for number in range(57)), "ana likes tea", "Fact 3.")
    assert await folded(world) == 2
    assert (await fold(world)).reason == "no_work"


async def test_a_window_full_of_retired_entries_is_passed_over(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fold_pass, "_WINDOW", 5)
    retired = {"status": Status.ARCHIVED, "status_reason": "set aside", "status_at": NOW}
    await world.add(*(f"Old {number}" for number in range(20)), **retired)
    await world.add("Ana likes tea", "Ana likes tea")
    assert await folded(world) == 1


async def test_thousands_of_reopened_entries_do_not_hold_up_the_new_ones(world: World):
    world.options = DreamOptions(step_size=4)
    old = await world.add(*(f"Fact {number // 2}" for number in range(20)))
    run = await world.dreams.run(passes=[FOLD])
    await world.add("Ana likes tea", "Ana likes tea")
    await world.dreams.run(passes=[FOLD])
    await world.dreams.undo(run.run_id)
    await world.add("Ben likes rye", "Ben likes rye")
    done = await fold(world)
    assert done.notes["folded"] == 1
    assert set(codes(done)) == {"undone_by_person"}
    assert len([entry for entry in await world.active() if entry.id in {one.id for one in old}]) == 20


# What a person took back.


async def test_a_fold_taken_back_is_not_done_again(world: World):
    await world.add("Ana likes tea", "Ana likes tea")
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id)
    done = await fold(world)
    assert (done.notes["folded"], codes(done)) == (0, ["undone_by_person"])
    assert (await fold(world)).reason == "no_work"


async def test_a_copy_restored_from_a_survivor_that_took_over_its_time_stays(world: World):
    survivor = world.entry("Ana went to Porto", created_at=NOW - DAY)
    copy = world.entry("Ana went to Porto", subject_time="2019")
    await world.add(survivor, copy)
    await fold(world)
    await world.dreams.restore(copy.id)
    assert await folded(world) == 0
    assert (await world.get(copy)).is_active


async def test_a_fold_whose_survivor_was_reinforced_since_is_taken_back_whole_or_not_at_all(world: World):
    survivor, copy = await world.add("Ana likes tea", "Ana likes tea")
    run = await world.dreams.run()
    await world.memory.remember("Ana likes tea")
    undone = await world.dreams.undo(run.run_id)
    assert codes(undone.passes[0]) == ["changed_since"]
    assert not (await world.get(copy)).is_active
    assert (await world.get(survivor)).reinforcement_count == 3


async def test_a_new_copy_joins_one_of_two_that_were_taken_apart_and_never_brings_them_together(world: World):
    kept, apart = await world.add("Ana likes tea", "Ana likes tea")
    run = await world.dreams.run()
    await world.dreams.undo(run.run_id)
    for days in (1, -1):  # one copy younger than both, one older
        await world.add("Ana likes tea", created_at=NOW + timedelta(days=days))
        await world.dreams.run()
    assert len(await world.active()) == 2
    active = {entry.id for entry in await world.active()}
    assert len(active & {kept.id, apart.id}) == 1
    assert sum(entry.reinforcement_count for entry in await world.active()) == 4


async def test_a_restored_copy_stays_even_when_the_journal_of_its_fold_is_gone(world: World):
    _, copy = await world.add("Ana likes tea", "Ana likes tea", base=0.9)
    await world.dreams.run()
    world.clock.advance(100 * DAY)
    with acting_as(Actor(ActorKind.PERSON)):
        await world.dreams.run(passes=["retention"])
    assert len(await world.journal()) == 0
    await world.dreams.restore(copy.id)
    assert await folded(world) == 0
