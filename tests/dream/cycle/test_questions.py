from datetime import timedelta

import pytest
from dreaming import DAY, World, codes, of_pass
from hypothesis import HealthCheck, given, settings, strategies as st

from agentcore.domain import MemoryEntry, Status, Trust
from agentcore.domain.question import QuestionCause, QuestionState, QuestionVerdict
from agentcore.errors import InvalidContentError
from dream.cycle import Desk
from dream.domain import Outcome, RunKind
from dream.errors import AnsweredQuestionError, UnknownMemberError, UnknownQuestionError

SEARCH = "near-duplicates"
TEA = "Ana drinks hot green tea from Kyoto every morning before work"
ALSO_TEA = "Every morning before work Ana drinks hot green tea from Osaka"
THIRD_TEA = "Ana drinks hot green tea from Kobe every morning before her work"
SAME_TEA = "Ana drinks hot green tea, from Kyoto, every morning before work"
RYE = "Ben bakes dark rye bread with caraway on quiet Sundays"
ALSO_RYE = "On quiet Sundays Ben bakes dark rye bread with fennel"
OTHERS = (RYE, "Cem plays correspondence chess against a retired sailor", "Dora repairs old clocks in Porto",
          "Emil swims in the lake until October", "Fay collects stamps of small islands")  # fmt: skip


def desk(world: World) -> Desk:
    return world.dreams.desk


async def asked(world: World, *texts: str) -> str:
    """Have a dream ask about these texts; return the question's id."""
    await world.add(*texts)
    await world.dreams.run(passes=[SEARCH])
    (question,) = await desk(world).questions()
    return question.question.id


async def with_texts(world: World, *texts: str) -> list[MemoryEntry]:
    """Return the active entries that say these, in this order."""
    entries = {entry.content: entry for entry in await world.active()}
    return [entries[text] for text in texts]


async def test_near_duplicates_become_a_question_that_names_them(world: World):
    tea, also, _ = await world.add(TEA, ALSO_TEA, RYE)
    await world.dreams.run(passes=[SEARCH])
    (found,) = await desk(world).duplicates()
    assert found.question.cause is QuestionCause.NEAR_DUPLICATE
    assert {entry.content for entry in found.members} == {TEA, ALSO_TEA}
    assert found.question.member_ids == tuple(sorted([tea.id, also.id]))
    assert found.question.asked_by == SEARCH
    assert 0.5 <= (found.question.similarity or 0) <= 1


async def test_what_is_asked_already_is_not_asked_again(world: World):
    await asked(world, TEA, ALSO_TEA)
    (tea, _) = await world.active()
    await world.change(tea, category="drinks")
    report = await world.dreams.run(passes=[SEARCH])
    assert of_pass(report, SEARCH).looked_at == 1
    assert len(await desk(world).questions()) == 1


async def test_a_near_duplicate_found_later_joins_the_open_question(world: World):
    first = await asked(world, TEA, ALSO_TEA, *OTHERS)
    await world.add(THIRD_TEA)
    await world.dreams.run(passes=[SEARCH])
    (found,) = await desk(world).questions()
    assert (found.question.id, len(found.members)) == (first, 3)


async def test_undoing_the_run_that_asked_takes_the_question_back_and_no_dream_asks_again(world: World):
    await world.add(TEA, ALSO_TEA)
    before = await world.export()
    report = await world.dreams.run(passes=[SEARCH])
    undone = await world.dreams.undo(report.run_id)
    assert undone.changes == 1
    assert await world.export() == before
    again = await world.dreams.run(passes=[SEARCH])
    assert codes(of_pass(again, SEARCH)) == ["undone_by_person"]
    assert await desk(world).questions() == []


async def test_keeping_one_of_two_that_say_the_same_merges_the_other_into_it(world: World):
    question = await asked(world, TEA, SAME_TEA)
    kept, gone = await world.active()
    report = await desk(world).answer(question, keep=kept.id, why="Osaka")
    after, retired = await world.get(kept), await world.get(gone)
    assert (report.kind, report.actor, report.outcome) == (RunKind.EDIT, "host", Outcome.COMPLETED)
    assert (after.trust, after.reinforcement_count) == (Trust.CONFIRMED, 2)
    assert (retired.status, retired.successor) == (Status.ARCHIVED, kept.id)
    answered = (await desk(world).question(question)).question
    assert (answered.state, answered.verdict) == (QuestionState.RESOLVED, QuestionVerdict.KEPT)
    assert (answered.answered_by, answered.reason, str(answered.result)) == ("host", "Osaka", f"entry:{kept.id}")
    assert await desk(world).questions() == []


RIVALS = [
    ("Ana is allergic to hazelnuts", "Ana is not allergic to hazelnuts"),
    (
        "Ana rents a quiet attic flat above the bakery in Lisbon",
        "Ana rents a quiet attic flat above the bakery in Porto",
    ),
    ("The quiet attic flat above the bakery costs 900 euros", "The quiet attic flat above the bakery costs 950 euros"),
    (
        "The choir of the old church rehearses on Friday",
        "The choir of the old church rehearses on Monday",
    ),
    ("Ana drinks tea from a blue cup before work", "Ana drinks coffee from a blue cup before work"),
]


@pytest.mark.parametrize(("one", "other"), [*RIVALS, *((other, one) for one, other in RIVALS)])
async def test_what_is_kept_rests_on_nothing_that_denies_it(world: World, one: str, other: str):
    question = await asked(world, one, other, *OTHERS)
    kept, gone = await with_texts(world, one, other)
    await desk(world).answer(question, keep=kept.id)
    after, retired = await world.get(kept), await world.get(gone)
    assert (after.evidence, after.sources, after.reinforcement_count) == (kept.evidence, kept.sources, 1)
    assert (after.trust, after.created_at) == (Trust.CONFIRMED, kept.created_at)
    assert (retired.status, retired.successor) == (Status.SUPERSEDED, kept.id)
    assert await desk(world).questions() == []


@pytest.mark.parametrize(("one", "other"), RIVALS)
async def test_a_text_rests_on_those_members_alone_that_do_not_deny_it(world: World, one: str, other: str):
    question = await asked(world, one, other, *OTHERS)
    kept, gone = await with_texts(world, one, other)
    await desk(world).answer(question, text=f"{one}. She said so.")
    (only,) = [entry for entry in await world.active() if entry.content.startswith(one)]
    assert other not in {evidence.sentence for evidence in only.evidence}
    assert {source.id for source in only.sources} == {kept.id, gone.id}
    assert (await world.get(gone)).status is Status.SUPERSEDED


async def test_keeping_one_of_three_takes_over_what_says_it_too_and_replaces_what_does_not(world: World):
    question = await asked(world, TEA, ALSO_TEA, SAME_TEA, *OTHERS)
    tea, also, same = await with_texts(world, TEA, ALSO_TEA, SAME_TEA)
    await desk(world).answer(question, keep=tea.id)
    after = await world.get(tea)
    assert (after.reinforcement_count, ALSO_TEA in {one.sentence for one in after.evidence}) == (2, False)
    assert ((await world.get(also)).status, (await world.get(same)).status) == (Status.SUPERSEDED, Status.ARCHIVED)


async def test_a_question_names_the_words_by_which_its_members_differ_and_stores_none_of_them(world: World):
    await asked(world, *RIVALS[0])
    (found,) = await desk(world).questions()
    assert (found.differ_in, found.to_json()["differ_in"]) == ("not", "not")
    assert found.text.endswith("They differ in: not.")
    assert "differ" not in found.question.text


async def test_a_text_takes_the_place_of_all_members(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    members = await world.active()
    await desk(world).answer(question, text="Ana drinks green tea before work.")
    (only,) = await world.active()
    assert (only.content, only.trust, only.reinforcement_count) == (
        "Ana drinks green tea before work.",
        Trust.CONFIRMED,
        1,
    )
    # What the members rested on stays with it: who forgets that, forgets this.
    assert {one.id for one in only.sources} == {one.id for one in members}


async def test_a_text_that_a_member_says_already_keeps_that_member(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    await desk(world).answer(question, text=f"{TEA}.")
    (only,) = await world.active()
    assert only.content == TEA


async def test_an_answer_can_be_undone_and_the_question_is_open_again(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    before = await world.export()
    report = await desk(world).answer(question, text="Ana drinks tea.")
    await world.dreams.undo(report.run_id)
    assert await world.export() == before
    assert [one.question.id for one in await desk(world).questions()] == [question]


async def test_a_dismissed_question_decides_nothing_and_does_not_come_back(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    before = await world.entries()
    await desk(world).answer(question, dismiss=True)
    assert await world.entries() == before
    await world.change(before[0], category="drinks")
    report = await world.dreams.run(passes=[SEARCH])
    assert of_pass(report, SEARCH).notes["clusters"] == []
    assert await desk(world).questions() == []


async def test_a_new_text_of_a_member_asks_anew_after_an_answer(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    await desk(world).answer(question, distinct=True)
    world.clock.advance(DAY)
    (one, _) = await world.active()
    await world.change(one, content=THIRD_TEA, updated_at=world.clock.now())
    await world.dreams.run(passes=[SEARCH])
    (found,) = await desk(world).questions()
    assert found.question.id != question


async def test_nobody_answers_twice(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    await desk(world).answer(question, dismiss=True)
    with pytest.raises(AnsweredQuestionError, match="dismissed by host already"):
        await desk(world).answer(question, distinct=True)


@pytest.mark.parametrize("ways", [{}, {"keep": "a", "text": "b"}, {"distinct": True, "dismiss": True}])
async def test_an_answer_is_one_of_four(world: World, ways: dict[str, object]):
    question = await asked(world, TEA, ALSO_TEA)
    with pytest.raises(InvalidContentError, match="choose one of keep, text, distinct and dismiss"):
        await desk(world).answer(question, **ways)


async def test_only_a_member_can_be_kept(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    (rye,) = await world.add(RYE)
    with pytest.raises(UnknownMemberError, match="is not one of its entries"):
        await desk(world).answer(question, keep=rye.id)
    with pytest.raises(UnknownQuestionError, match="fits none: `dream questions` shows them"):
        await desk(world).answer("nothing", dismiss=True)


async def test_a_question_is_not_told_while_fewer_than_two_members_are_active(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    (one, _) = await world.active()
    report = await desk(world).archive(one.id)
    assert await desk(world).questions() == []
    await world.dreams.undo(report.run_id)
    assert [found.question.id for found in await desk(world).questions()] == [question]


async def test_forgetting_a_member_takes_the_question_along(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    (one, _) = await world.active()
    await world.memory.forget(one.id)
    with pytest.raises(UnknownQuestionError):
        await desk(world).question(question)
    assert b'"question"' not in await world.export()


async def test_forgetting_one_of_three_leaves_the_question_about_the_others(world: World):
    await asked(world, TEA, ALSO_TEA, THIRD_TEA, *OTHERS)
    (one, *others) = [entry for entry in await world.active() if "tea" in entry.content]
    await world.memory.forget(one.id)
    (found,) = await desk(world).questions()
    assert list(found.members) == others


async def test_forgetting_the_text_of_an_answer_takes_the_question_along(world: World):
    question = await asked(world, TEA, ALSO_TEA)
    await desk(world).answer(
        question, text="Ana drinks tea that nobody may know of.", why="Ana drinks tea that nobody may know of."
    )
    (only,) = await world.active()
    await world.memory.forget(only.id)
    with pytest.raises(UnknownQuestionError):
        await desk(world).question(question)
    journal = b"".join(str((row.before, row.after, row.reason)).encode() for row in await world.journal())
    assert b"nobody may know of" not in journal


async def test_a_plan_asks_only_when_it_is_applied(world: World):
    await world.add(TEA, ALSO_TEA)
    plan = await world.dreams.plan(passes=[SEARCH])
    assert await desk(world).questions() == []
    await world.dreams.run(plan=plan.plan_id)
    assert len(await desk(world).questions()) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(picks=st.lists(st.sampled_from(["keep", "text", "distinct", "dismiss"]), min_size=2, max_size=2))
async def test_whatever_is_answered_undo_brings_all_of_it_back(world: World, picks: list[str]):
    here = world.elsewhere()
    await here.add(TEA, ALSO_TEA, RYE, ALSO_RYE)
    await here.dreams.run(passes=[SEARCH])
    before = await here.export()
    runs: list[str] = []
    for pick, one in zip(picks, await desk(here).questions(), strict=True):
        how = {"keep": one.members[0].id, "text": "Something new."}.get(pick, True)
        here.clock.advance(timedelta(minutes=1))
        runs.append((await desk(here).answer(one.question.id, **{pick: how})).run_id)
    for run_id in reversed(runs):
        await here.dreams.undo(run_id)
    assert await here.export() == before
