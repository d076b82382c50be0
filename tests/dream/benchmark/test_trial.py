"""A trial: a real import, a real run and a real undo, measured in a folder of its own."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quizzes import GARDEN, KITCHEN, quiz_file

from agentcore.llm import ChatOptions
from agentcore.testing import ChatServer
from dream.interfaces.benchmark import BenchmarkSample, Figures, Result, measure, read_locomo, scripted_answer, total

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def samples(tmp_path: Path) -> list[BenchmarkSample]:
    return read_locomo(quiz_file(tmp_path, KITCHEN, GARDEN), now=NOW)


def figures(result: Result) -> dict[str, Any]:
    """Everything but the time it took."""
    return {name: value for name, value in result.to_json().items() if name != "seconds"}


async def test_a_fold_costs_no_evidence_and_frees_a_place_among_the_best(samples: list[BenchmarkSample]):
    result = await measure(samples[0], model=None)
    before, after = Figures.of(result.before.answers), Figures.of(result.after.answers)
    assert (result.before.entries, result.before.repeated) == (4, 1)
    assert (result.after.entries, result.after.repeated) == (3, 0)
    assert result.after.tokens == result.before.tokens - 10
    # D2:2, what Paul is allergic to, stands in no observation.
    assert before.kept.mean == after.kept.mean == 0.75
    assert result.cost.changes == {"entry_archived": 1, "entry_updated": 1}
    assert before.stale[10] > after.stale[10] == 0


async def test_the_turns_as_they_were_said_hold_all_the_evidence(samples: list[BenchmarkSample]):
    result = await measure(samples[0], model=None)
    turns = Figures.of(result.turns.answers)
    assert (result.turns.entries, turns.kept.mean, turns.stale[10]) == (5, 1, 0)
    assert turns.at[5].some > 0


async def test_a_run_is_undone_exactly_and_a_second_one_changes_nothing(samples: list[BenchmarkSample]):
    cost = (await measure(samples[0], model=None)).cost
    assert (cost.is_undo_exact, cost.replayed, cost.replay_calls) == (True, 0, 0)
    assert (cost.calls, cost.input_tokens, cost.unsupported.total()) == (0, 0, 0)
    assert dict(cost.outcomes) == {"completed": 1}


async def test_the_same_sample_gives_the_same_figures(samples: list[BenchmarkSample]):
    first, second = [await measure(samples[0], model=None) for _ in range(2)]
    assert figures(first) == figures(second)
    assert first.before.answers == second.before.answers
    assert first.after.answers == second.after.answers


async def test_all_together_every_question_weighs_the_same(samples: list[BenchmarkSample]):
    kitchen, garden = [await measure(sample, model=None) for sample in samples]
    whole = total([kitchen, garden])
    shares = [one.kept for one in (*kitchen.after.answers, *garden.after.answers)]
    assert Figures.of(whole.after.answers).kept.mean == sum(shares) / 5
    assert whole.after.entries == 3 + 2
    assert (whole.name, whole.cost.samples, whole.cost.is_undo_exact) == ("all", 2, True)
    assert whole.seconds["dream"] == kitchen.seconds["dream"] + garden.seconds["dream"]


async def test_categories_are_told_apart_and_the_adversarial_ones_left_out_once(samples: list[BenchmarkSample]):
    document = (await measure(samples[0], model=None)).to_json()["after"]
    assert document["all"]["questions"] == 4
    assert document["without_adversarial"]["questions"] == 3
    assert {name for name in document if name in {"multi-hop", "temporal", "single-hop", "adversarial"}} == {
        "multi-hop", "single-hop", "adversarial",
    }  # fmt: skip


async def test_each_question_asked_is_told(samples: list[BenchmarkSample]):
    asked: list[None] = []
    await measure(samples[1], model=None, asked=lambda: asked.append(None))
    assert len(asked) == 3


def scripted_model() -> ChatServer:
    return ChatServer(itertools.repeat(lambda request: scripted_answer(request.prompt)))


async def dreamt(sample: BenchmarkSample) -> tuple[Result, int]:
    """The result of a dream that asked the scripted model, and how often it was asked at the server."""
    async with scripted_model() as server:
        result = await measure(sample, model=ChatOptions(model="scripted", base_url=server.base_url))
        return result, server.calls


async def test_facts_mined_with_a_model_reach_evidence_that_no_observation_has(samples: list[BenchmarkSample]):
    result, asked = await dreamt(samples[0])
    assert Figures.of(result.before.answers).kept.mean == 0.75
    assert Figures.of(result.after.answers).kept.mean == 1
    assert result.cost.calls == asked > 0
    assert result.cost.changes["entry_added"] > 0
    assert result.cost.unsupported.total() == 0
    assert (result.cost.is_undo_exact, result.cost.replayed, result.cost.replay_calls) == (True, 0, 0)


async def test_the_scripted_model_gives_the_same_figures_twice(samples: list[BenchmarkSample]):
    (first, _), (second, _) = [await dreamt(samples[0]) for _ in range(2)]
    assert figures(first) == figures(second)
    assert first.cost.input_tokens > 0


async def test_a_failed_call_counts_with_its_tokens(samples: list[BenchmarkSample]):
    async with ChatServer(itertools.repeat("I would rather not.")) as server:
        result = await measure(samples[0], model=ChatOptions(model="scripted", base_url=server.base_url))
    assert result.cost.refused["answer_unreadable"] > 0
    assert result.cost.output_tokens == 5 * result.cost.calls > 0
    # What was not answered is asked again by the next run.
    assert result.cost.calls + result.cost.replay_calls == server.calls
    assert result.cost.changes == {"entry_archived": 1, "entry_updated": 1}
