"""Asking: what a turn is given counts where it is the evidence, or goes back to it, and tells the answer."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quizzes import TRIP, trip_file

from agentcore import AgentHostBuilder
from agentcore.domain import MemoryEntry, Scope, SourceRef
from agentcore.testing import SequentialIds
from dream.interfaces.benchmark import (
    AFTERWARDS,
    BUDGETS,
    BenchmarkSample,
    Compared,
    Share,
    Side,
    StandingClock,
    Unjudged,
    ask_all,
    import_sample,
    read_questions,
)

NOW = datetime(2025, 1, 1, tzinfo=UTC)
LONG = "I booked the ferry to Arran yesterday " + "and the day was long and grey and wet " * 10


def trip(folder: Path, **changed: Any) -> BenchmarkSample:
    return read_questions([trip_file(folder, **changed)], now=NOW)[0]


async def ask(sample: BenchmarkSample, *notes: str) -> Side:
    """Ask the sample's questions of its turns, and of notes that all cite the first of them."""
    ids, clock = SequentialIds(), StandingClock(sample.ended_at + AFTERWARDS)
    async with AgentHostBuilder(None, clock=clock, ids=ids).with_memory().with_conversation_log().build() as host:
        await import_sample(host, sample, ids)
        (first, *_) = await host.storage.read(Scope.default(), lambda view: view.turns.session("trip:1"))
        entries = [
            MemoryEntry(
                id=f"note-{number}",
                scope=Scope.default(),
                content=note,
                created_at=first.occurred_at,
                recorded_at=first.occurred_at,
                last_seen_at=first.occurred_at,
                sources=(SourceRef.parse(f"turn:{first.id}"),),
            )
            for number, note in enumerate(notes)
        ]
        await host.storage.write(Scope.default(), lambda unit: unit.entries.add(entries))
        return await ask_all(host, sample)


async def test_a_turn_that_is_shown_is_evidence_and_tells_the_answer(tmp_path: Path):
    when, where, prices = (await ask(trip(tmp_path))).answers
    assert [one.evidence for one in when.given] == [1.0] * len(BUDGETS)
    assert [one.found for one in when.given] == [1.0] * len(BUDGETS)
    assert (where.given[-1].found, prices.given[-1].found) == (1.0, 1.0)
    assert all(0 < one.tokens <= budget for budget, one in zip(BUDGETS, when.given, strict=True))


async def test_a_note_that_cites_the_turn_and_does_not_tell_its_answer_is_evidence_and_nothing_found(tmp_path: Path):
    talk = trip(tmp_path, turns=[{**TRIP["turns"][0], "content": LONG}, *TRIP["turns"][1:]])
    when = (await ask(talk, "Ines booked the ferry to Arran")).answers[0]
    assert "booked the ferry" in when.given[0].text
    assert (when.given[0].evidence, when.given[0].found) == (1.0, 0.0)
    assert (when.given[2].evidence, when.given[2].found) == (1.0, 1.0)


async def test_a_note_that_tells_the_answer_counts_in_the_place_of_its_turn(tmp_path: Path):
    talk = trip(tmp_path, turns=[{**TRIP["turns"][0], "content": LONG}, *TRIP["turns"][1:]])
    when = (await ask(talk, "Ines booked the ferry to Arran on 7 May 2024")).answers[0]
    assert (when.given[0].evidence, when.given[0].found) == (1.0, 1.0)


async def test_a_question_without_an_answer_is_asked_for_its_evidence_alone(tmp_path: Path):
    (one,) = (await ask(trip(tmp_path, questions=[{**TRIP["questions"][0], "answer": None}]))).answers
    assert one.unjudged is Unjudged.NO_ANSWER
    assert [(given.evidence, given.found) for given in one.given] == [(1.0, None)] * len(BUDGETS)


def test_mean_all_and_any_are_three_figures():
    assert Share.of([1.0, 0.5, 0.0, 0.0]).to_json() == {"mean": 0.375, "all": 0.25, "any": 0.5}


def test_an_interval_is_the_same_each_time_holds_the_difference_and_knows_of_pairs():
    better = [(0.0, 1.0)] * 10 + [(1.0, 1.0)] * 90
    one, again = Compared.of(better), Compared.of(better)
    assert one == again
    assert one.difference == pytest.approx(0.1)
    assert 0.03 < one.least < 0.1 < one.most < 0.18
    # The same means, but each question of its own: nothing is sure.
    mixed = [(1.0, 0.0)] * 40 + [(0.0, 1.0)] * 50 + [(1.0, 1.0)] * 10
    assert Compared.of(mixed).least < 0 < Compared.of(mixed).difference == pytest.approx(0.1)
