"""Asking: shares of evidence by entries and by tokens, worked out by hand."""

import pytest
from dreaming import World

from agentcore.domain import SourceRef, Status
from dream.interfaces.benchmark import AnsweredQuestion, Figures, Question, Share, Stage, ask_all

KETTLES = 12


async def ask(world: World, *questions: Question) -> Stage:
    turn_ids = {f"D1:{number}": f"t{number}" for number in range(1, 100)}
    return await ask_all(world.storage, world.memory, questions, turn_ids, lambda: None)


async def add_kettles(world: World) -> None:
    """Entries that all answer alike, so that they stand in the order of arrival, each of a hundred tokens."""
    for number in range(1, KETTLES + 1):
        content = f"kettle {number:02} ".ljust(400, "x")
        await world.add(world.entry(content, sources=(SourceRef.parse(f"turn:t{number}"),)))


async def test_evidence_is_counted_among_the_best_entries_and_within_the_tokens_they_take(world: World):
    await add_kettles(world)
    (answer,) = (await ask(world, Question("kettle", 1, ("D1:1", "D1:7", "D1:12")))).answers
    assert answer.at == pytest.approx((1 / 3, 2 / 3))
    assert answer.within == pytest.approx((1 / 3, 1 / 3, 2 / 3, 1))
    assert (answer.kept, len(answer.hits)) == (1, 10)


async def test_an_entry_that_does_not_fit_the_budget_ends_the_reading(world: World):
    first = world.entry("kettle " + "x" * 1_100, sources=(SourceRef.parse("turn:t1"),), base=1.0)
    short = world.entry("kettle", sources=(SourceRef.parse("turn:t2"),), base=0.1)
    await world.add(first, short)
    (answer,) = (await ask(world, Question("kettle", 1, ("D1:2",)))).answers
    assert answer.within == (0, 1, 1, 1)


async def test_evidence_of_retired_entries_alone_is_not_kept(world: World):
    await world.add(
        world.entry("a kettle", sources=(SourceRef.parse("turn:t1"),), status=Status.ARCHIVED, status_reason="old"),
        world.entry("a pan", sources=(SourceRef.parse("turn:t2"),)),
    )
    stage = await ask(world, Question("kettle", 1, ("D1:1", "D1:2")))
    assert (stage.answers[0].kept, stage.answers[0].at, stage.entries) == (0.5, (0, 0), 1)


async def test_many_short_entries_are_read_until_the_greatest_budget_is_spent(world: World):
    entries = [
        world.entry(f"kettle {number:04}", sources=(SourceRef.parse(f"turn:t{number}"),)) for number in range(300)
    ]
    await world.add(*entries)
    evidence = Question("kettle", 1, ("D1:99",))
    (answer,) = (await ask(world, evidence)).answers
    assert answer.within == (0, 1, 1, 1)


async def test_tokens_are_a_quarter_of_the_bytes_and_repetitions_are_counted(world: World):
    await world.add("Ana likes tea", "ana likes tea.", "Ana likes tea", "Ben likes tea")
    await world.add("Ana likes tea", category="people/ana")
    stage = await ask(world)
    assert (stage.entries, stage.tokens, stage.repeated) == (5, 4 * 5, 2)


def answered(category: int = 1, *hits: str, at: float = 0.0) -> AnsweredQuestion:
    return AnsweredQuestion(category=category, kept=at, at=(at, at), within=(at,) * 4, hits=hits)


def test_stale_is_the_share_of_entries_read_that_were_replaced():
    stage = Stage(entries=9, tokens=9, repeated=0, answers=(answered(1, *"abcdefgh"), answered(1, "a", "b")))
    found = Figures.of(stage.judged({"b", "f"}).answers)
    assert found.stale == {5: 2 / 7, 10: 3 / 10}


def test_mean_all_and_any_are_three_figures():
    assert Share.of([1.0, 0.5, 0.0, 0.0]).to_json() == {"mean": 0.375, "all": 0.25, "any": 0.5}
