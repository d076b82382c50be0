"""Deduction and induction: what the host takes of what a model concludes, and why it refuses the rest."""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
from concluding import InferringChatClient, expect_true
from dreaming import NOW, World, codes, of_pass

from agentcore.domain import (
    Confidence,
    Level,
    MemoryEntry,
    SourceKind,
    SourceRef,
    Status,
    Trust,
    Turn,
)
from agentcore.domain.validity import superseded
from dream.domain import PassReport
from dream.options import DreamOptions
from dream.passes.inference.deduction import Deduction
from dream.passes.inference.induction import Induction

DAY = timedelta(days=1)
DISAGREEING: dict[str, Any] = {"apart": timedelta(minutes=5), "speakers": ("Lea", "Bo")}
"""Two people within a day: the evidence for each is as strong."""
ON = {"deduction": "apply", "induction": "apply"}


@pytest.fixture
def world(world: World) -> World:
    world.options = DreamOptions(modes=ON)
    return world


async def said(
    world: World, *texts: str, apart: timedelta = DAY, speakers: Sequence[str | None] = (None,)
) -> list[MemoryEntry]:
    """Store what was said in a conversation of its own each, the first one longest ago."""
    found: list[MemoryEntry] = []
    for place, text in enumerate(texts):
        at = NOW - (len(texts) - place) * apart
        turn = Turn(
            id=world.ids.new(), scope=world.scope, session_id=f"talk {place}", role="user", content=text,
            speaker=speakers[place % len(speakers)],
            occurred_at=at, recorded_at=at,
        )  # fmt: skip
        await world.write(lambda unit, turn=turn: unit.turns.add([turn]))
        found += await world.add(world.entry(text, created_at=at, sources=(SourceRef(SourceKind.TURN, turn.id),)))
    return found


def deduction(content: str, *premises: str, kind: str = "implication", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "content": content, "premises": list(premises), **fields}


def pattern(content: str | None, *premises: str, **fields: Any) -> dict[str, Any]:
    usual = {"content": content, "pattern": "tendency", "premises": list(premises), "against": [], "existing": None}
    return usual | fields


def answer(*, search: Sequence[Any] = (), **lists: Sequence[Any]) -> str:
    return orjson.dumps({"search": list(search), **{name: list(items) for name, items in lists.items()}}).decode()


async def deduce(world: World, *conclusions: dict[str, Any], denies: Sequence[str] = ()) -> PassReport:
    world.chat = InferringChatClient([answer(conclusions=conclusions)], denies=denies)
    return of_pass(await world.run_passes(Deduction()), "deduction")


async def induce(world: World, *patterns: dict[str, Any], denies: Sequence[str] = ()) -> PassReport:
    world.chat = InferringChatClient([answer(patterns=patterns)], denies=denies)
    return of_pass(await world.run_passes(Induction()), "induction")


def question_of(world: World) -> str:
    """Return what the model was asked first."""
    return world.chat.requests[0].messages[-1].content


async def concluded(world: World) -> list[MemoryEntry]:
    return [entry for entry in await world.active() if entry.is_conclusion]


async def test_what_follows_is_an_entry_with_its_premises(world: World):
    works, walks = await said(world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.")
    report = await deduce(world, deduction("Lea lives within walking distance of the harbour office.", "e1", "e2"))
    (found,) = await concluded(world)
    assert (found.level, found.trust.name) == (Level.DEDUCTIVE, "INFERRED")
    assert {one.entry_id for one in found.premises} == {works.id, walks.id}
    assert {one.session for one in found.premises} == {"talk 0", "talk 1"}
    assert [one.sentence for one in found.evidence] == [works.content, walks.content]
    assert (found.verdict.value, report.notes["deduced"], report.notes["read_again"]) == ("verified", 1, 1)


async def test_what_was_said_is_shown_with_its_day_and_its_talk(world: World):
    await said(world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.")
    await deduce(world)
    told = question_of(world)
    assert '[e1] 2025-06-12 #1 "Lea works at the harbour office in Gdynia."' in told
    assert '[e2] 2025-06-13 #2 "Lea walks to work every day."' in told


async def test_the_instructions_are_the_same_whomever_the_memory_is_about(world: World):
    other = world.elsewhere()
    await said(world, "Lea works at the harbour office in Gdynia.")
    await said(other, "Bo grows tomatoes.")
    await deduce(world)
    await deduce(other)
    (mine, *_), (theirs, *_) = ([one.content for one in at.chat.requests[0].messages] for at in (world, other))
    assert world.scope != other.scope
    # The mark that fences what was said is each run's own, and stands at the end.
    mark = re.search("[0-9a-f]{16}", mine)
    assert mark is not None
    assert mark.start() > 0.9 * len(mine)
    assert re.sub("[0-9a-f]{16}", "", mine) == re.sub("[0-9a-f]{16}", "", theirs)


async def test_a_change_supersedes_what_held_and_survives_both(world: World):
    old, new = await said(world, "Lea lives in Sopot.", "Lea lives in Gdynia.")
    await deduce(world, deduction("Lea moved from Sopot to Gdynia.", "e1", "e2", kind="change"))
    gone = await world.get(old)
    assert (gone.status, gone.successor, str(gone.valid_until)) == (Status.SUPERSEDED, new.id, "2025-06-13")
    (moved,) = await concluded(world)
    (third,) = await said(world, "Lea lives in Berlin.", apart=timedelta(hours=1))
    later = superseded(await world.get(new), by=third, reason="moved", at=NOW)
    names = ("status", "status_reason", "successor", "status_at", "valid_until")
    await world.change(new, **{name: getattr(later, name) for name in names})
    assert (await world.get(moved)).is_active
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    assert (await world.get(old)).is_active
    assert await concluded(world) == []


async def test_what_consolidation_put_aside_is_shown_as_former_and_bears_a_change(world: World):
    old, new = await said(world, "Lea lives in Sopot.", "Lea lives in Gdynia.")
    gone = superseded(old, by=new, reason="moved", at=NOW)
    await world.change(old, **{name: getattr(gone, name) for name in
                               ("status", "status_reason", "successor", "status_at", "valid_until")})  # fmt: skip
    await deduce(world, deduction("Lea moved from Sopot to Gdynia.", "e1", "e2", kind="change"))
    assert "former until=2025-06-13" in world.chat.requests[0].messages[-1].content
    (moved,) = await concluded(world)
    assert all(one.past for one in moved.premises)


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (deduction("Lea has a dog.", "e1", "e9"), "unknown_handle"),
        (deduction("Lea has a dog.", "e1", "other-id"), "unknown_handle"),
        (deduction("Lea works at an office with 40 desks.", "e1", "e2"), "invented_detail"),
        (deduction("Lea works at the harbour office.", "e1", "e2"), "restates"),
        (deduction("Lea probably lives near the harbour.", "e1", "e2"), "transitory"),
        (deduction("Lea walked along the quay today.", "e1", "e2"), "transitory"),
        (deduction("Therefore Lea lives near the harbour.", "e1", "e2"), "transitory"),
        (deduction("Lea's home is close. She needs no car.", "e1", "e2"), "split_it"),
        (deduction("", "e1", "e2"), "invalid_content"),
        ({"kind": "guess", "content": "Lea walks.", "premises": ["e1"]}, "invalid_content"),
        ({"kind": "implication", "content": "Lea lives nearby.", "premises": []}, "no_sources"),
        (deduction("The key of Lea is sk-proj-4f00c2d9a17b3e604f00c2d9a17b3e60.", "e1", "e2"), "secret"),
    ],
)
async def test_what_must_not_be_concluded_is_refused_alone(world: World, item: dict[str, Any], code: str):
    await said(world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.")
    good = deduction("Lea lives within walking distance of the harbour office.", "e1", "e2")
    report = await deduce(world, item, good)
    assert codes(report) == [code]
    assert len(await concluded(world)) == 1


async def test_what_a_reader_does_not_find_to_follow_is_not_written(world: World):
    await said(world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.")
    report = await deduce(world, deduction("Lea enjoys the sea breeze.", "e1", "e2"), denies=["sea breeze"])
    assert (codes(report), await concluded(world)) == (["denied"], [])


async def test_a_pattern_is_as_sure_as_its_occasions(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.", "Lea cancelled the choir.",
               "Lea kept all meetings during the move.")  # fmt: skip
    item = pattern("Lea tends to postpone appointments.", "e1", "e2", "e3", against=["e4"])
    await induce(world, item)
    (found,) = await concluded(world)
    assert (found.level, found.pattern, found.confidence) == (Level.INDUCTIVE, "tendency", Confidence.LOW)
    assert [one.against for one in found.premises].count(True) == 1
    await expect_true(world)


async def test_a_pattern_met_again_joins_its_evidence_and_is_never_minted_twice(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2"))
    for text in ("Lea postponed the appointments of spring.", "Lea postponed the notary appointments again."):
        await said(world, text, apart=timedelta(hours=1))
        world.clock.advance(2 * DAY)
        report = await induce(world, pattern("Lea tends to postpone appointments.", "e1"))
        assert codes(report) == []
    (found,) = await concluded(world)
    assert (len(found.premises), found.confidence) == (4, Confidence.MEDIUM)


@pytest.mark.parametrize(
    ("item", "code"),
    [
        (pattern("Lea tends to postpone things.", "e1"), "too_few_occasions"),
        (pattern("Lea tends to postpone things.", "e1", "e1"), "too_few_occasions"),
        (pattern("Lea tends to postpone things.", "e1", "e2", against=["e3"]), "too_much_against"),
        (pattern("Lea tends to postpone things.", "e1", "e2", pattern="habit"), "invalid_content"),
        (pattern("Lea tends to postpone things.", "e1", "e2", pattern=None), "invalid_content"),
        (pattern(None, "e1", "e2", existing="e3"), "unknown_handle"),
        (pattern("Lea tends to postpone things.", "e1", "e2", against=["e2"]), "handle_reused"),
    ],
)
async def test_what_is_no_pattern_is_refused_alone(world: World, item: dict[str, Any], code: str):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.", "Lea kept all meetings.")
    report = await induce(world, item, pattern("Lea is often behind with dates.", "e1", "e2"))
    assert codes(report) == [code]
    assert len(await concluded(world)) == 1


async def test_one_talk_is_one_occasion_however_often_it_is_told(world: World):
    turn = Turn(id="t", scope=world.scope, session_id="talk", role="user", content="I moved it.", occurred_at=NOW,
                recorded_at=NOW)  # fmt: skip
    await world.write(lambda unit: unit.turns.add([turn]))
    for text in ("Lea moved the dentist.", "Lea moved the bank.", "Lea moved the choir."):
        await world.add(world.entry(text, sources=(SourceRef(SourceKind.TURN, "t"),)))
    report = await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2", "e3"))
    assert codes(report) == ["too_few_occasions"]


async def test_a_model_may_search_before_it_concludes(world: World):
    world.options = world.options.replace(inference={"neighbours": 0})
    (old,) = await world.add(world.entry("The rowing club is in Gdynia.", created_at=NOW - 90 * DAY))
    await deduce(world)
    await said(world, "Lea rows at dawn in the club.")
    first = answer(search=[{"words": "rowing club", "before": "2025-06-01", "in": "entries"},
                           {"words": " ", "in": "entries"}, {"words": "rows", "in": "elsewhere"}])  # fmt: skip
    last = answer(conclusions=[deduction("Lea is in Gdynia at dawn.", "e1", "e2")])
    world.chat = InferringChatClient([first, last])
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    asked = [one.messages[-1].content for one in world.chat.requests]
    assert [old.content in prompt for prompt in asked] == [False, True]
    assert (codes(report), report.notes["searches"]) == (["invalid_content", "invalid_content"], 1)
    assert [one.content for one in await concluded(world)] == ["Lea is in Gdynia at dawn."]


async def test_what_is_said_in_turns_may_be_looked_up_and_bears_nothing(world: World):
    await said(world, "Lea rows at dawn in the club.")
    first = answer(search=[{"words": "rows", "in": "turns"}], conclusions=[])
    world.chat = InferringChatClient([first, answer(conclusions=[deduction("Lea rises early.", "e1", "e2")])])
    report = of_pass(await world.run_passes(Deduction()), "deduction")
    assert 'turn by user "Lea rows at dawn' in world.chat.requests[1].messages[-1].content
    assert codes(report) == ["no_premise"]


async def test_a_model_that_only_searches_is_asked_three_times_at_most(world: World):
    await said(world, "Lea rows at dawn in the club.", "Lea rows in winter.", "Lea rows alone.")
    world.chat = InferringChatClient([answer(search=[{"words": "rows", "in": "turns"}])] * 5)
    await world.run_passes(Deduction())
    assert len(world.chat.requests) == 3


async def test_without_a_reader_nothing_is_concluded_and_the_report_says_so(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    world.options = world.options.replace(verification="off")
    report = await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2"))
    assert (codes(report), world.chat.requests) == (["needs_verifier"], [])


async def test_where_people_verify_a_conclusion_waits_for_one(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    world.options = world.options.replace(verification="strict")
    report = await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2"))
    assert (report.proposed, await concluded(world)) == (1, [])
    (waiting,) = await world.dreams.proposals()
    await world.dreams.approve([waiting.proposal_id])
    assert [one.content for one in await concluded(world)] == ["Lea tends to postpone appointments."]


async def test_nothing_new_is_no_call(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    await induce(world)
    report = await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2"))
    assert (world.chat.requests, report.reason) == ([], "no_work")


async def test_an_undone_conclusion_is_not_drawn_again(world: World):
    await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    item = pattern("Lea tends to postpone appointments.", "e1", "e2")
    await induce(world, item)
    run = (await world.dreams.runs())[0]
    await world.dreams.undo(run.run_id)
    assert await concluded(world) == []
    report = await induce(world, item)
    assert (codes(report), await concluded(world)) == (["undone_by_person"], [])


async def merged(world: World, *entries: MemoryEntry, text: str | None = None) -> MemoryEntry:
    """Have a person make one entry of several; return it."""
    await world.dreams.desk.merge(*(entry.id for entry in entries), text=text)
    kept = [await world.get(entry) for entry in await world.entries()]
    return next(one for one in kept if one.is_active and one.trust is Trust.CONFIRMED)


async def test_what_was_merged_still_bears_what_rests_on_it_and_so_does_what_it_is_merged_into_later(world: World):
    works, walks, rows = await said(
        world, "Lea works at the harbour office in Gdynia.", "Lea walks to work every day.", "Lea rows at dawn."
    )
    await deduce(world, deduction("Lea lives within walking distance of the harbour office.", "e1", "e2"))
    one = await merged(world, works, walks, text="Lea walks to her work at the harbour office in Gdynia every day.")
    assert len(await concluded(world)) == 1
    two = await merged(world, rows, one, text="Lea rows at dawn and walks to her work at the harbour office in Gdynia.")
    (found,) = await concluded(world)
    assert {premise.entry_id for premise in found.premises} == {works.id, walks.id}
    await world.dreams.desk.edit(two.id, content="Lea rows at dawn and is retired.")
    assert await concluded(world) == []
    await expect_true(world)


async def test_a_conclusion_whose_premise_gave_way_rests_on_the_successor_after_the_next_deduction(world: World):
    old, walks, new = await said(
        world, "Lea works in Gdynia.", "Lea walks to work.", "Lea works at the harbour office in Gdynia."
    )
    await deduce(world, deduction("Lea has a home in Gdynia.", "e1", "e2"))
    (drawn,) = await concluded(world)
    await supersede(world, old, new)
    assert await concluded(world) == []
    world.clock.advance(DAY)
    again = deduction("Lea has a home in Gdynia.", "e1", "e3", existing="e4")
    report = await deduce(world, again)
    shown = world.chat.requests[0].messages[-1].content
    assert 'deductive lost seen "Lea has a home in Gdynia."' in shown
    assert (codes(report), report.notes["repointed"], report.notes["deduced"]) == ([], 1, 0)
    (found,) = await concluded(world)
    assert (found.id, {one.entry_id for one in found.premises}) == (drawn.id, {walks.id, new.id})
    await expect_true(world)
    await world.dreams.undo((await world.dreams.runs())[0].run_id)
    assert (await world.get(drawn)).lost_premises


async def test_what_is_lost_is_shown_once(world: World):
    old, _, new = await said(world, "Lea works in Gdynia.", "Lea walks to work.", "Lea works at an office in Gdynia.")
    await deduce(world, deduction("Lea has a home in Gdynia.", "e1", "e2"))
    await supersede(world, old, new)
    world.clock.advance(DAY)
    await deduce(world)
    assert len(world.chat.requests) == 1
    world.clock.advance(DAY)
    report = await deduce(world, deduction("Lea has a home in Gdynia.", "e1", "e2"))
    assert (world.chat.requests, report.reason) == ([], "no_work")


async def test_a_lost_conclusion_bears_no_other(world: World):
    old, _, new = await said(world, "Lea works in Gdynia.", "Lea walks to work.", "Lea works at an office in Gdynia.")
    await deduce(world, deduction("Lea has a home in Gdynia.", "e1", "e2"))
    await supersede(world, old, new)
    world.clock.advance(DAY)
    report = await deduce(world, deduction("Lea is often at sea.", "e1", "e4"),
                          deduction("Lea has a boat.", "e1", existing="e1"))  # fmt: skip
    assert codes(report) == ["no_premise", "unknown_handle"]


async def test_a_pattern_that_lost_an_occasion_comes_back_with_another(world: World):
    bank, _ = await said(world, "Lea put off the bank.", "Lea moved the dentist.")
    await induce(world, pattern("Lea tends to postpone appointments.", "e1", "e2"))
    (drawn,) = await concluded(world)
    (new,) = await said(world, "Lea put off the bank of Gdynia.", apart=timedelta(hours=1))
    await supersede(world, bank, new)
    assert await concluded(world) == []
    world.clock.advance(DAY)
    report = await induce(world, pattern("Lea tends to postpone appointments.", "e1", existing="e4", pattern=None))
    assert (codes(report), report.notes["repointed"]) == ([], 1)
    (found,) = await concluded(world)
    assert (found.id, found.confidence, len(found.premises)) == (drawn.id, Confidence.LOW, 2)
    await expect_true(world)


async def supersede(world: World, old: MemoryEntry, new: MemoryEntry) -> None:
    world.clock.advance(timedelta(minutes=1))
    gone = superseded(await world.get(old), by=new, reason="told more exactly", at=world.clock.now())
    fields = ("status", "status_reason", "successor", "status_at", "valid_until")
    await world.change(await world.get(old), **{name: getattr(gone, name) for name in fields})
