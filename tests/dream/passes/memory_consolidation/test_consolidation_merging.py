"""What becomes of entries that a model merges, rewords or refiles."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from consolidating import NOTHING, contents, dream, drop, lines, merge, save, scripted
from dreaming import DAY, NOW, World, codes

from agentcore.domain import Level, SourceKind, SourceRef, Status, SubjectTime, Trust
from dream.domain import Batch, NextRound, PassOutcome, Refused, Round
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.passes.protocol import ModelContext

TEA, GREEN = "Ana likes tea.", "Ana likes green tea best."
BOTH = "Ana likes tea, green tea best."


async def test_merged_entries_become_one_that_names_them(world: World):
    first, second = await world.add(TEA, GREEN)
    report, _ = await dream(world, merge(BOTH, TEA, GREEN))
    (merged,) = await world.active()
    assert merged.content == BOTH
    assert merged.level is Level.DERIVED
    assert merged.sources == tuple(sorted(SourceRef(SourceKind.ENTRY, one.id) for one in (first, second)))
    assert merged.recorded_at == NOW
    for source in (first, second):
        gone = await world.get(source)
        assert (gone.status, gone.successor, gone.status_reason) == (
            Status.ARCHIVED,
            merged.id,
            f"merged into {merged.id}",
        )
    assert (report.notes["merged"], report.notes["into"], report.notes["reviewed"]) == (2, 1, 2)


async def test_a_merge_that_leaves_a_statement_out_is_refused_though_it_shares_the_name(world: World):
    await world.add("Omar works as a cook.", "Omar paints boats.")
    said = merge("Omar is a cook.", "Omar works as a cook.", "Omar paints boats.")
    report, (_, repair) = await dream(world, said, said, denies=["Omar is a cook."])
    assert codes(report) == [Refused.DENIED]
    assert "Omar paints boats." in repair.messages[-1].content
    assert contents(await world.active()) == {"Omar works as a cook.", "Omar paints boats."}


async def test_dates_counts_and_importance_come_from_the_sources(world: World):
    old, new = NOW - 90 * DAY, NOW - DAY
    await world.add(world.entry(TEA, created_at=old, own_count=3, base=0.7, tags=("drink",)))
    await world.add(world.entry(GREEN, created_at=new, own_count=2, base=0.4, tags=("habit",)))
    await dream(world, merge(BOTH, TEA, GREEN, importance=0.99, tags=["tea", "Mallory"]))
    (merged,) = await world.active()
    assert (merged.created_at, merged.last_seen_at) == (old, new)
    assert (merged.reinforcement_count, merged.own_count) == (5, 0)
    assert merged.base == 0.7
    assert merged.tags == ("drink", "habit", "tea")


@pytest.mark.parametrize(("asked", "given"), [(0.0, 0.4), (0.5, 0.5), (0.9, 0.7), (None, 0.7), ("high", 0.7)])
async def test_a_models_importance_stays_within_its_sources(world: World, asked: object, given: float):
    await world.add(TEA, base=0.7)
    await world.add(GREEN, base=0.4)
    await dream(world, merge(BOTH, TEA, GREEN, importance=asked))
    assert [entry.base for entry in await world.active()] == [given]


async def test_a_merge_of_what_is_protected_stays_protected(world: World):
    await world.add(TEA, base=0.9)
    await world.add(GREEN, base=0.1)
    await dream(world, merge(BOTH, TEA, GREEN, importance=0.1))
    assert [entry.base for entry in await world.active()] == [0.8]


async def test_a_merge_is_trusted_as_its_least_trusted_source(world: World):
    await world.add(TEA, trust=Trust.CONFIRMED)
    await world.add(GREEN, trust=Trust.UNTRUSTED)
    await dream(world, merge(BOTH, TEA, GREEN))
    assert [entry.trust for entry in await world.active()] == [Trust.UNTRUSTED]


async def test_pins_and_safety_marks_survive_a_merge(world: World):
    await world.add(TEA, pinned=True)
    await world.add(GREEN, metadata={"requires_user_permission": "true"})
    await dream(world, merge(BOTH, TEA, GREEN))
    (merged,) = await world.active()
    assert merged.pinned
    assert merged.metadata["requires_user_permission"] == "true"


# What RockBot's tests of merged subject times ask.


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (None, None, None),
        ("2019-06", None, "2019-06"),
        ("2019", "2019-06", "2019-06"),
        ("2001..2019", "2003..2019-06", "2001..2019"),
        ("2003", "2001..?", "2003; 2001..?"),
    ],
)
async def test_subject_times_are_joined(world: World, one: str | None, other: str | None, merged: str | None):
    await world.add(TEA, subject_time=one)
    await world.add(GREEN, subject_time=other)
    await dream(world, merge(BOTH, TEA, GREEN))
    (entry,) = await world.active()
    assert entry.subject_time == (None if merged is None else SubjectTime.parse(merged))


async def test_other_metadata_is_kept_the_oldest_source_first(world: World):
    await world.add(TEA, metadata={"origin": "mail"}, created_at=NOW - DAY)
    await world.add(GREEN, metadata={"origin": "chat", "lang": "en"})
    await dream(world, merge(BOTH, TEA, GREEN))
    assert [entry.metadata for entry in await world.active()] == [{"origin": "mail", "lang": "en"}]


async def test_distinct_moments_are_not_merged(world: World):
    await world.add("Ana hiked in Aljezur.", subject_time="2024-06")
    await world.add("Ana hiked in Aljezur again.", subject_time="2025-05")
    script = merge("Ana hiked in Aljezur again.", "Ana hiked in Aljezur.", "Ana hiked in Aljezur again.")
    report, _ = await dream(world, script)
    assert codes(report) == [Refused.DISTINCT_MOMENTS]
    assert len(await world.active()) == 2


async def test_one_source_is_a_rewrite_under_the_same_id(world: World):
    (entry,) = await world.add("ana likes tea , green", category="general")
    script = merge("Ana likes green tea.", "ana likes tea , green", category="people/ana", tags=["tea"])
    report, _ = await dream(world, script)
    stored = await world.get(entry)
    assert (stored.content, stored.category, stored.tags) == ("Ana likes green tea.", "people/ana", ("tea",))
    assert (stored.updated_at, stored.level, stored.last_seen_at) == (NOW, Level.EXPLICIT, entry.last_seen_at)
    assert (report.notes["rewritten"], report.notes["merged"]) == (1, 0)


async def test_another_case_alone_is_no_other_category(world: World):
    await world.add(TEA, category="people/Ana")
    report, _ = await dream(world, merge(TEA, TEA, category="people/ana"))
    assert (report.accepted, [one.category for one in await world.active()]) == (0, ["people/Ana"])


async def test_a_merge_spells_its_category_as_a_source_does(world: World):
    await world.add(TEA, category="people/Ana")
    await world.add(GREEN, category="drinks")
    await dream(world, merge(BOTH, TEA, GREEN, category="PEOPLE/ana"))
    assert [one.category for one in await world.active()] == ["people/Ana"]


async def test_a_rewrite_that_changes_nothing_is_no_change(world: World):
    (entry,) = await world.add(TEA)
    report, _ = await dream(world, merge(TEA, TEA))
    assert (report.outcome, report.accepted) == (PassOutcome.UNCHANGED, 0)
    assert (await world.get(entry)).version == entry.version


async def test_a_merge_that_says_what_one_source_says_is_taken_over_by_it(world: World):
    whole, part = await world.add(BOTH, TEA)
    await dream(world, merge(BOTH.upper(), BOTH, TEA))
    (kept,) = await world.active()
    assert (kept.id, kept.content, kept.reinforcement_count) == (whole.id, BOTH, 2)
    assert (await world.get(part)).successor == whole.id


async def test_a_merge_that_says_what_another_live_entry_says_is_taken_over_by_that(world: World):
    (twin,) = await world.add(BOTH)
    await dream(world, NOTHING)
    await world.add(TEA, GREEN)
    report, _ = await dream(world, merge(BOTH, TEA, GREEN))
    assert [entry.id for entry in await world.active()] == [twin.id]
    assert report.notes["merged"] == 2


async def test_what_takes_over_a_merge_is_not_dropped_by_the_same_answer(world: World):
    await world.add(BOTH, TEA, GREEN)
    report, _ = await dream(
        world,
        lambda shown: {
            "toDelete": [shown[BOTH]],
            "toSave": [save(shown, BOTH, TEA, GREEN)],
        },
    )
    assert codes(report) == [Refused.HANDLE_REUSED]
    assert contents(await world.active()) == {BOTH}


async def test_two_merges_do_not_end_in_one_entry(world: World):
    copied = f"{TEA} {GREEN}"
    others = ("Ana likes  tea.", "Ana likes  green tea best.")
    await world.add(copied)
    await dream(world, NOTHING)
    await world.add(TEA, GREEN, *others)
    report, _ = await dream(
        world, lambda shown: {"toSave": [save(shown, copied, TEA, GREEN), save(shown, copied, *others)]}
    )
    assert codes(report) == [Refused.HANDLE_REUSED]
    assert contents(await world.active()) == {copied, *others}


async def test_sources_named_for_deletion_too_are_simply_merged(world: World):
    await world.add(TEA, GREEN)
    report, _ = await dream(
        world,
        lambda shown: {"toDelete": [shown[TEA], shown[GREEN]], "toSave": [save(shown, BOTH, TEA, GREEN)]},
    )
    assert contents(await world.active()) == {BOTH}
    assert report.refused == ()


async def test_a_category_is_repaired_or_that_of_the_oldest_source(world: World):
    await world.add(TEA, category="people/ana", created_at=NOW - DAY)
    await world.add(GREEN, category="drinks")
    await dream(world, merge(BOTH, TEA, GREEN, category=" "))
    assert [entry.category for entry in await world.active()] == ["people/ana"]


async def test_nothing_is_moved_into_a_protected_category(world: World):
    await world.add(TEA, GREEN)
    report, _ = await dream(world, merge(BOTH, TEA, GREEN, category="Active-Plans/../june"))
    assert codes(report) == [Refused.PROTECTED_CATEGORY]
    assert contents(await world.active()) == {TEA, GREEN}


@pytest.mark.parametrize("content", ["", "  ", None, 7, "a\0b"])
async def test_a_text_that_cannot_be_stored_keeps_its_sources(world: World, content: object):
    await world.add(TEA, GREEN)
    report, _ = await dream(world, merge(content, TEA, GREEN), repairs=0)
    assert codes(report) == [Refused.INVALID_CONTENT]
    assert contents(await world.active()) == {TEA, GREEN}


async def test_a_text_without_sources_is_not_saved_and_lets_nothing_go(world: World):
    await world.add(TEA, GREEN)
    report, _ = await dream(world, lambda shown: {"toDelete": [], "toSave": [save(shown, BOTH)]})
    assert codes(report) == [Refused.NO_SOURCES]
    assert contents(await world.active()) == {TEA, GREEN}


async def test_a_handle_that_was_never_shown_refuses_its_item(world: World):
    await world.add(TEA, GREEN)
    report, _ = await dream(world, merge(BOTH, TEA, GREEN, "e99"))
    assert codes(report) == [Refused.UNKNOWN_HANDLE]
    assert contents(await world.active()) == {TEA, GREEN}


async def test_two_items_with_one_source_refuse_each_other_and_no_others(world: World):
    await world.add(TEA, GREEN, "Ben bakes bread.", "Ben bakes bread daily.")
    report, _ = await dream(
        world,
        lambda shown: {
            "toDelete": [],
            "toSave": [
                save(shown, BOTH, TEA, GREEN),
                save(shown, TEA, TEA),
                save(shown, "Ben bakes bread daily.", "Ben bakes bread.", "Ben bakes bread daily."),
            ],
        },
    )
    assert codes(report) == [Refused.HANDLE_REUSED] * 2
    assert contents(await world.active()) == {TEA, GREEN, "Ben bakes bread daily."}


@pytest.mark.parametrize(
    "answer",
    [
        {"toSave": "none", "toDelete": []},
        {"toSave": [7], "toDelete": []},
        {"toSave": [{"content": BOTH, "sourceIds": "e1"}]},
        {"toSave": [{"content": BOTH, "sourceIds": [1]}]},
        {"toDelete": [["e1"]]},
        {"toDelete": [{"reason": "old"}]},
        {"toDelete": [{"id": "e1", "supersededBy": 1.5}]},
        {"toDelete": ["e1"] * 3},
        {"facts": []},
        {},
    ],
)
async def test_an_answer_in_another_shape_changes_nothing_and_settles_nothing(world: World, answer: dict[str, object]):
    await world.add(TEA, GREEN)
    report, _ = await dream(world, answer)
    assert codes(report) == [Refused.BROKEN_ANSWER]
    assert report.accepted == 0
    again, requests = await dream(world, merge(BOTH, TEA, GREEN))
    assert (len(requests), again.notes["merged"]) == (1, 2)


async def test_an_undone_merge_is_not_made_again(world: World):
    await world.add(TEA, GREEN)
    before = await world.export()
    await dream(world, merge(BOTH, TEA, GREEN))
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert await world.export() == before
    report, _ = await dream(world, merge(BOTH, TEA, GREEN))
    assert codes(report) == [Refused.UNDONE_BY_PERSON]
    assert contents(await world.active()) == {TEA, GREEN}


async def test_an_entry_that_changed_while_the_model_was_thinking_is_left_alone_and_looked_at_again(world: World):
    first, _ = await world.add(TEA, GREEN)

    class Slow(MemoryConsolidation):
        async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
            if rounds:
                await world.change(first, content="Ana likes rooibos.")
            return await super().ask(context, batch, rounds)

    report = (await scripted(world, [merge(BOTH, TEA, GREEN)]).run_passes(Slow())).passes[0]
    assert codes(report) == [Refused.STALE_SOURCE]
    assert contents(await world.active()) == {"Ana likes rooibos.", GREEN}
    _, requests = await dream(world, NOTHING)
    assert set(lines(requests[0])) == {"Ana likes rooibos.", GREEN}


async def test_when_the_dream_came_is_not_when_it_was_last_said(world: World):
    await world.add(TEA, created_at=NOW - timedelta(hours=30))
    await world.add(GREEN, created_at=NOW - timedelta(hours=2))
    world.clock.advance(5 * DAY)
    await dream(world, merge(BOTH, TEA, GREEN))
    (merged,) = await world.active()
    assert merged.last_seen_at == NOW - timedelta(hours=2)


async def test_a_drop_beside_a_merge_is_made_too(world: World):
    await world.add(TEA, GREEN, "ok")
    await dream(world, lambda shown: merge(BOTH, TEA, GREEN)(shown) | {"toDelete": drop("ok")(shown)["toDelete"]})
    assert contents(await world.active()) == {BOTH}


async def test_a_text_without_a_word_of_its_source_takes_the_place_of_nothing(world: World):
    vague = "ana likes walking by the river"
    await world.add(vague)
    report, _ = await dream(world, *[merge("now delete all that look alike", vague)] * 2, denies=["now delete"])
    assert codes(report) == [Refused.DENIED]
    assert contents(await world.active()) == {vague}
