import pytest
from dreaming import World, codes, of_pass

from agentcore.domain import Status, Trust
from agentcore.domain.actor import Actor, ActorKind
from agentcore.domain.question import QuestionState, QuestionVerdict
from agentcore.errors import InvalidContentError, InvalidInputError, UnknownRecordError
from agentcore.stores.acting import acting_as
from dream.domain import Outcome, PassOutcome, RunKind

TEA = "Ana drinks hot green tea from Kyoto every morning before work"
ALSO_TEA = "Every morning before work Ana drinks hot green tea from Osaka"


async def test_an_edit_writes_a_text_that_is_its_own_evidence(world: World):
    (tea,) = await world.add(TEA, trust=Trust.INFERRED)
    report = await world.dreams.desk.edit(tea.id, content=ALSO_TEA, category="people/ana", why="She moved.")
    after = await world.get(tea)
    assert (after.content, after.category, after.trust) == (ALSO_TEA, "people/ana", Trust.STATED)
    assert [(one.sentence, one.verified_by) for one in after.evidence] == [(ALSO_TEA, "host")]
    assert (report.kind, report.actor, report.changes) == (RunKind.EDIT, "host", 1)
    history = await world.dreams.why(tea.id)
    assert [row.reason for row in history.rows] == ["edited by host: She moved."]


@pytest.mark.parametrize(
    ("text", "named", "about"),
    [
        ("The concert in Porto is on 17 March 2026", {}, "2026-03-17"),
        ("The concert in Porto is in May 2026", {}, "2026-05"),
        ("The big concert in Porto is on 10 January 2026", {}, "2026-01-10"),
        ("The concert in Porto is off", {}, None),
        ("The concert in Porto is on 3 May 2026 or on 4 May 2026", {}, None),
        ("The concert in Porto is on 17 March 2026", {"subject_time": "2026"}, "2026"),
    ],
)
async def test_a_text_that_tells_other_days_is_about_these(world: World, text: str, named: dict[str, str], about: str):
    (concert,) = await world.add("The concert in Porto is on 10 January 2026", subject_time="2026-01-10")
    await world.dreams.desk.edit(concert.id, content=text, **named)
    told = (await world.get(concert)).subject_time
    assert (told and str(told)) == about


@pytest.mark.parametrize(
    ("text", "about", "edited", "then"),
    [
        ("The last gas inspection was in 2022.", "2022", "The last gas inspection was in 2023.", "2023"),
        ("The last gas inspection was in 2022.", "2022-03", "The last gas inspection was in 2023.", "2023"),
        ("The last gas inspection was in May 2022.", "2022-05", "The last gas inspection was in 2023.", "2023"),
        ("The last gas inspection was in 2022.", "2022", "The last gas inspection was in May 2023.", "2023-05"),
        ("The last gas inspection was in 2022.", "2022", "The last gas inspection is over.", None),
        ("The last gas inspection was in 2022.", "2022", "The last one was in 2023 or in 2024.", None),
        ("The last gas inspection was in 2022.", "2022", "Gas was last inspected in 2022.", "2022"),
        ("ガスの点検は2022年です。", "2022", "ガスの点検は2023年です。", "2023"),
        ("Ana lived in Porto since 2019.", "2019..?", "Ana lived in Porto since 2017.", "2017..?"),
        ("Ana lived in Porto from 2019 to 2022.", "2019..2022", "Ana lived in Porto from 2019 to 2024.", "2019..2024"),
        ("Ana lived in Porto from 2019 to 2022.", "2019..2022", "Ana was in Porto in 2021.", "2021"),
        ("Ana lived in Porto from 2019 to 2022.", "2019..2022", "Ana lived in Porto from 2019 to 2018.", None),
        ("The locker of Ana has the number 2022.", "2025-05", "The locker of Ana has the number 2023.", "2025-05"),
        ("The locker of Ana has the number 2022.", None, "The locker of Ana has the number 2023.", None),
    ],
)
async def test_a_text_that_tells_another_year_is_about_that(
    world: World, text: str, about: str | None, edited: str, then: str | None
):
    (entry,) = await world.add(text, subject_time=about)
    await world.dreams.desk.edit(entry.id, content=edited)
    told = (await world.get(entry)).subject_time
    assert (told and str(told)) == then


@pytest.mark.parametrize("what", ["edit", "pin", "confirm", "archive"])
async def test_what_is_done_to_one_entry_is_a_run_that_undo_takes_back(world: World, what: str):
    (tea,) = await world.add(TEA)
    before = await world.export()
    desk = world.dreams.desk
    report = await (desk.edit(tea.id, content=ALSO_TEA) if what == "edit" else getattr(desk, what)(tea.id))
    assert await world.export() != before
    assert of_pass(report, what).outcome is PassOutcome.APPLIED
    await world.dreams.undo(report.run_id)
    assert await world.export() == before


async def test_what_is_so_already_is_no_run(world: World):
    (tea,) = await world.add(TEA, pinned=True)
    report = await world.dreams.desk.pin(tea.id)
    assert (report.run_id, report.outcome) == ("", Outcome.UNCHANGED)
    assert await world.dreams.runs() == []


async def test_a_pin_can_be_taken_away(world: World):
    (tea,) = await world.add(TEA, pinned=True)
    await world.dreams.desk.pin(tea.id, pinned=False)
    assert not (await world.get(tea)).pinned


async def test_the_first_of_a_merge_takes_over_the_others_and_answers_their_question(world: World):
    tea, also = await world.add(TEA, ALSO_TEA)
    await world.dreams.run(passes=["near-duplicates"])
    await world.dreams.desk.merge(tea.id, also.id)
    after, gone = await world.get(tea), await world.get(also)
    assert (after.trust, after.reinforcement_count) == (Trust.CONFIRMED, 2)
    assert (gone.status, gone.successor) == (Status.ARCHIVED, tea.id)
    (answered,) = await world.dreams.desk.questions(state=QuestionState.RESOLVED)
    assert answered.question.verdict is QuestionVerdict.KEPT


async def test_a_merge_can_be_given_a_text(world: World):
    tea, also = await world.add(TEA, ALSO_TEA)
    report = await world.dreams.desk.merge(tea.id, also.id, text="Ana drinks green tea before work.")
    (only,) = await world.active()
    assert only.content == "Ana drinks green tea before work."
    await world.dreams.undo(report.run_id)
    assert [entry.id for entry in await world.active()] == sorted([tea.id, also.id])


@pytest.mark.parametrize("what", ["merge", "distinct"])
async def test_an_entry_is_neither_merged_with_itself_nor_told_from_itself(world: World, what: str):
    (tea,) = await world.add(TEA)
    with pytest.raises(InvalidContentError, match="give two different entries or more"):
        await getattr(world.dreams.desk, what)(tea.id, tea.id)


async def test_no_dream_puts_together_what_a_person_called_distinct(world: World):
    tea, also = await world.add(TEA, TEA)
    await world.dreams.desk.distinct(tea.id, also.id)
    report = await world.dreams.run(passes=["exact-fold"])
    assert codes(of_pass(report, "exact-fold")) == ["kept_apart"]
    assert len(await world.active()) == 2


async def test_undoing_the_word_distinct_lets_dreams_fold_again(world: World):
    tea, also = await world.add(TEA, TEA)
    said = await world.dreams.desk.distinct(tea.id, also.id)
    await world.dreams.undo(said.run_id)
    await world.dreams.run(passes=["exact-fold"])
    assert len(await world.active()) == 1


async def test_saying_distinct_twice_changes_nothing(world: World):
    tea, also = await world.add(TEA, ALSO_TEA)
    await world.dreams.desk.distinct(tea.id, also.id)
    assert (await world.dreams.desk.distinct(also.id, tea.id)).run_id == ""


async def test_whoever_acts_is_named(world: World):
    (tea,) = await world.add(TEA)
    with acting_as(Actor(ActorKind.TOKEN, "ops")):
        report = await world.dreams.desk.archive(tea.id, why="Old.")
    assert report.actor == "token:ops"
    assert (await world.get(tea)).status_reason == "archived by token:ops: Old."


async def test_a_retired_or_unknown_entry_is_refused_and_nothing_is_written(world: World):
    (tea,) = await world.add(TEA)
    await world.dreams.desk.archive(tea.id)
    before = await world.export()
    with pytest.raises(InvalidInputError, match="restore it first"):
        await world.dreams.desk.confirm(tea.id)
    with pytest.raises(UnknownRecordError):
        await world.dreams.desk.pin("nothing")
    with pytest.raises(InvalidInputError):
        await world.dreams.desk.edit(tea.id, content="  ")
    assert await world.export() == before


async def test_the_desk_waits_for_no_dream_that_is_under_way(world: World):
    (tea,) = await world.add(TEA)
    held = await world.write(lambda unit: unit.leases.acquire("dream", holder="another", duration=world.options.lease))
    assert held is not None
    assert (await world.dreams.desk.confirm(tea.id)).changes == 1
