"""Facts meet what is known: once per turn, however often retried; what people took back or forgot stays away."""

from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, NOW, World, codes
from hypothesis import given, strategies as st
from mining import a_fact, a_turn, mine, talk

from agentcore.domain import MemoryEntry, Status, Trust
from dream.guards import builtin_vocabulary
from dream.passes.conversation import KnownEntries, StatementRules, TurnEvidence, says_the_same
from dream.passes.fact_mining import Fact, FactItem, FactReconciler, fact_of

TEA = a_fact("Ana likes tea.", "t1", quote="I like tea", category="people/ana")


async def only(world: World) -> MemoryEntry:
    (entry,) = await world.active()
    return entry


async def test_what_is_said_again_is_seen_again(world: World):
    (first,) = await talk(world, "I like tea")
    await mine(world, TEA)
    (second,) = await talk(world, "I like tea, as I said", session="s2", occurred_at=NOW + DAY)
    world.clock.advance(2 * DAY)
    before = await only(world)
    report = await mine(world, TEA | {"category": "drinks", "importance": 0.7, "tags": ["hot"]})
    after = await only(world)
    assert (report.notes["new"], report.notes["reinforced"]) == (0, 1)
    assert (after.own_count, after.last_seen_at, after.created_at) == (2, second.occurred_at, first.occurred_at)
    assert {source.id for source in after.sources} == {first.id, second.id}
    assert (after.base, after.category, after.tags, after.trust) == (before.base, "people/ana", (), Trust.STATED)


async def test_what_people_wrote_is_seen_again(world: World):
    (entry,) = await world.add("ana likes tea", created_at=NOW - DAY, category="drinks")
    await talk(world, "I like tea")
    await mine(world, TEA)
    after = await only(world)
    assert (after.id, after.content, after.own_count, after.last_seen_at) == (entry.id, "ana likes tea", 2, NOW)


async def test_an_older_saying_moves_the_first_sight_and_not_the_last(world: World):
    await world.add("Ana likes tea.", created_at=NOW - DAY)
    await talk(world, "I like tea", occurred_at=NOW - 9 * DAY)
    await mine(world, TEA)
    after = await only(world)
    assert (after.created_at, after.last_seen_at, after.own_count) == (NOW - 9 * DAY, NOW - DAY, 2)


async def test_the_entry_of_the_same_category_is_the_one(world: World):
    drinks, person = await world.add("Ana likes tea", "Ana likes tea.", category="drinks")
    person = await world.change(person, category="people/ana")
    await talk(world, "I like tea")
    await mine(world, TEA)
    assert [(await world.get(one)).own_count for one in (drinks, person)] == [1, 2]


async def test_another_time_is_another_fact(world: World):
    await world.add("Ana went to Rome.", subject_time="2019")
    await talk(world, "I went to Rome last year")
    await mine(world, a_fact("Ana went to Rome.", quote="last year"))
    assert sorted(str(entry.subject_time) for entry in await world.active()) == ["2019", "2024"]


@pytest.mark.parametrize(
    "fields",
    [{"category": "active-plans"}, {"trust": Trust.CONFIRMED}],
    ids=["of a protected category", "that is trusted more"],
)
async def test_an_entry_stays_as_it_is(world: World, fields: dict[str, Any]):
    (entry,) = await world.add("Ana likes tea.", **fields)
    await talk(world, "I like tea")
    await mine(world, TEA)
    assert await world.active() == [entry]


async def test_retired_entries_do_not_count(world: World):
    await world.add("Ana likes tea.", status=Status.ARCHIVED, status_reason="old", status_at=NOW)
    await talk(world, "I like tea")
    assert (await mine(world, TEA)).notes["new"] == 1


async def test_equal_facts_of_one_answer_become_one(world: World):
    turns = await talk(world, "I like tea", "assistant: Noted.", "Really, I like tea!")
    again = a_fact("ana likes  tea", "t3", quote="I like tea")
    report = await mine(world, TEA, again, TEA)
    entry = await only(world)
    assert (entry.content, entry.own_count) == ("Ana likes tea.", 2)
    assert {source.id for source in entry.sources} == {turns[0].id, turns[2].id}
    assert (report.notes["facts_found"], report.notes["new"], report.notes["known"]) == (3, 1, 1)


async def test_many_turns_of_one_fact_are_one_observation(world: World):
    await talk(world, *["I like tea"] * 6)
    await mine(world, TEA | {"sourceTurns": ["t1", "t2", "t3", "t4", "t5", "t6"]})
    assert (await only(world)).own_count == 1


REWORDINGS = [
    ("Ana has liked tea.", True),
    ("Ana likes the tea", True),
    ("Ana does not like tea.", False),
    ("Ana likes green tea.", False),
    ("Tea likes Ana.", False),
]


@pytest.mark.parametrize(("other", "same"), REWORDINGS)
def test_two_wordings_say_the_same_if_they_differ_in_little_words_alone(other: str, same: bool):
    assert says_the_same("Ana likes tea.", other, builtin_vocabulary()) is same
    assert says_the_same(other, "Ana likes tea.", builtin_vocabulary()) is same


async def test_another_wording_of_the_same_turn_is_known(world: World):
    await talk(world, "I like tea")
    await mine(world, TEA, TEA | {"content": "Ana likes the tea"})
    assert (await only(world)).own_count == 1


async def test_another_wording_of_another_turn_is_for_consolidation_to_judge(world: World):
    await talk(world, "I like tea", "assistant: Noted.", "I like tea")
    await mine(world, TEA, a_fact("Ana likes the tea", "t3", quote="I like tea"))
    assert len(await world.active()) == 2


async def test_a_forgotten_text_does_not_come_back(world: World):
    long = "Ana likes green tea with lemon and honey from her neighbour's hives in Porto."
    await talk(world, "I like green tea with lemon and honey from my neighbour's hives in Porto.")
    (entry,) = await world.add(long)
    await world.memory.forget(entry.id)
    report = await mine(world, a_fact(long, "t1", quote="I like green tea", category="people/ana"))
    assert (codes(report), await world.active()) == (["forgotten"], [])


async def test_an_undone_fact_is_not_mined_again_from_the_same_turns(world: World):
    await talk(world, "I like tea")
    before = await world.export()
    await mine(world, TEA)
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await world.export() == before
    report = await mine(world, TEA | {"category": "drinks"})
    assert (codes(report), await world.active()) == (["undone_by_person"], [])
    await talk(world, "I like tea", session="s2", occurred_at=NOW + DAY)
    assert (await mine(world, TEA)).notes["new"] == 1


async def test_an_undone_reinforcement_is_not_made_again(world: World):
    (entry,) = await world.add("Ana likes tea.", created_at=NOW - DAY)
    await talk(world, "I like tea")
    await mine(world, TEA)
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert codes(await mine(world, TEA)) == ["undone_by_person"]
    assert (await world.get(entry)).own_count == 1


def facts_of(world: World, drawn: list[tuple[str, list[int]]]) -> list[Fact]:
    """Facts of made-up turns `0` to `5`, the even ones of a less trusted speaker."""
    terms = StatementRules(builtin_vocabulary(), (), 0.8)
    facts: list[Fact] = []
    for number, (text, places) in enumerate(drawn, 1):
        turns = [
            replace(
                a_turn(world, "I like tea and milk, hot and cold", "s1", NOW + place * DAY),
                id=str(place),
                trust=Trust.STATED if place % 2 else Trust.INFERRED,
            )
            for place in sorted(set(places))
        ]
        item = FactItem(number=number, content=text, category=None, tags=None, handles=["t1"], quote="I like")
        fact = fact_of(item, TurnEvidence(tuple(turns), turns[0], "I like"), (), terms)
        assert isinstance(fact, Fact)
        facts.append(fact)
    return facts


def reconcile(world: World, facts: list[Fact], entries: tuple[MemoryEntry, ...]) -> FactReconciler:
    reconciler = FactReconciler(
        known=KnownEntries(entries), new_id=world.ids.new, as_of=NOW, vocabulary=builtin_vocabulary()
    )
    reconciler.add_all(facts)
    return reconciler


_DRAWN = st.lists(
    st.tuples(
        st.sampled_from(
            ["Ana likes tea.", "ana likes tea", "Ana likes the tea", "Ana likes milk", "Ana likes cold tea"]
        ),
        st.lists(st.integers(0, 5), min_size=1, max_size=3),
    ),
    max_size=8,
)


@given(_DRAWN)
def test_the_same_answer_twice_is_the_same_as_once(drawn: list[tuple[str, list[int]]]):
    world = World(*[None] * 3)  # type: ignore[arg-type] - only its ids and scope are used
    facts = facts_of(world, drawn)

    def met(entries: tuple[MemoryEntry, ...]) -> tuple[MemoryEntry, ...]:
        reconciled = reconcile(world, facts, entries)
        after = {change.record_id: change.after for one in reconciled.change_sets for change in one.changes}
        kept = {entry.id: entry for entry in entries} | after
        return tuple(entry for entry in kept.values() if isinstance(entry, MemoryEntry))

    once = met(())
    assert met(once) == once
    for entry in once:
        assert 1 <= entry.own_count <= max(1, len(entry.sources))
        assert entry.trust <= Trust.STATED


@given(_DRAWN, _DRAWN)
def test_no_entry_is_trusted_or_counted_beyond_its_turns(first: Any, second: Any):
    world = World(*[None] * 3)  # type: ignore[arg-type] - only its ids and scope are used
    entries: dict[str, MemoryEntry] = {}
    for drawn in (first, second):
        met = reconcile(world, facts_of(world, drawn), tuple(entries.values()))
        for change in (change for one in met.change_sets for change in one.changes):
            assert isinstance(change.after, MemoryEntry)
            assert change.reason
            if isinstance(change.before, MemoryEntry):
                assert change.after.trust == change.before.trust
                assert change.after.base == change.before.base
                grown = {source.id for source in change.after.sources} - {one.id for one in change.before.sources}
                assert change.after.own_count - change.before.own_count <= len(grown)
            entries[change.record_id] = change.after
