"""A trial: a real import, a real run and a real undo, measured in a folder of its own."""

import itertools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from quizzes import GARDEN, KITCHEN, quiz_file

from agentcore.llm import ChatOptions
from agentcore.llm.chat import estimate_tokens
from agentcore.llm.openai_client import OpenAIChatClient
from agentcore.testing import ChatServer
from dream.interfaces.benchmark import SIDES, BenchmarkSample, Result, measure, read_locomo, scripted_answer, total

NOW = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def samples(tmp_path: Path) -> list[BenchmarkSample]:
    return read_locomo(quiz_file(tmp_path, KITCHEN, GARDEN), now=NOW)


def figures(result: Result) -> dict[str, Any]:
    """Everything but the time it took."""
    return {name: value for name, value in result.to_json().items() if name != "seconds"}


async def test_a_fold_costs_no_evidence(samples: list[BenchmarkSample]):
    result = await measure(samples[0], model=None)
    without, after = (result.sides[name] for name in SIDES)
    assert (without.entries, after.entries, after.tokens) == (4, 3, without.tokens - 10)
    every = result.groups()["all"]
    assert (every.questions, every.judged, dict(every.unjudged)) == (4, 3, {"no answer": 1})
    assert all(one.difference == 0 for one in (*every.found.values(), *every.evidence.values()))
    assert result.cost.changes == {"entry_archived": 1, "entry_updated": 1}


async def test_both_sides_keep_to_each_budget_and_use_what_there_is(samples: list[BenchmarkSample]):
    figures = (await measure(samples[0], model=None)).groups()["all"]
    for budget, (without, after) in figures.tokens.items():
        assert 0 < without <= budget
        assert 0 < after <= budget
    # The fold leaves one line less to be shown.
    assert figures.tokens[4_000][1] < figures.tokens[4_000][0]


async def test_dreams_are_a_day_apart_until_one_changes_nothing(samples: list[BenchmarkSample]):
    cost = (await measure(samples[0], model=None)).cost
    assert dict(cost.outcomes) == {"completed": 1, "unchanged": 1}


async def test_a_run_is_undone_exactly_and_a_second_one_changes_nothing(samples: list[BenchmarkSample]):
    cost = (await measure(samples[0], model=None)).cost
    assert (cost.is_undo_exact, cost.replayed, cost.replay_calls) == (True, 0, 0)
    assert (cost.calls, cost.input_tokens, cost.unsupported.total()) == (0, 0, 0)


async def test_the_same_sample_gives_the_same_figures(samples: list[BenchmarkSample]):
    first, second = [await measure(samples[0], model=None) for _ in range(2)]
    assert figures(first) == figures(second)
    assert first.sides == second.sides


async def test_all_together_every_question_weighs_the_same(samples: list[BenchmarkSample]):
    kitchen, garden = [await measure(sample, model=None) for sample in samples]
    whole = total([kitchen, garden])
    assert whole.groups()["all"].questions == 5
    assert whole.sides["after"].entries == 3 + 2
    found = [one.groups()["all"].found[250] for one in (kitchen, garden)]
    both = whole.groups()["all"].found[250]
    assert both.first.mean == (3 * found[0].first.mean + found[1].first.mean) / 4
    assert (whole.name, whole.cost.samples, whole.cost.is_undo_exact) == ("all", 2, True)
    assert whole.seconds["dream"] == kitchen.seconds["dream"] + garden.seconds["dream"]


async def test_categories_are_told_apart_and_the_adversarial_ones_left_out_once(samples: list[BenchmarkSample]):
    document = (await measure(samples[0], model=None)).to_json()
    assert document["all"]["questions"] == 4
    assert document["without_adversarial"]["questions"] == 3
    assert {name for name in document if name in {"multi-hop", "temporal", "single-hop", "adversarial"}} == {
        "multi-hop", "single-hop", "adversarial",
    }  # fmt: skip
    assert document["adversarial"]["found"] == {}


async def test_each_question_asked_is_told(samples: list[BenchmarkSample]):
    asked: list[None] = []
    await measure(samples[1], model=None, asked=lambda: asked.append(None))
    assert len(asked) == len(SIDES)


def scripted_model() -> ChatServer:
    return ChatServer(itertools.repeat(lambda request: scripted_answer(request.prompt)))


def told_tokens(samples: list[BenchmarkSample]) -> int:
    return sum(estimate_tokens(turn.content) for one in samples for turn in one.turns.values())


def asking(server: ChatServer) -> OpenAIChatClient:
    return OpenAIChatClient(ChatOptions(model="scripted", base_url=server.base_url))


async def dreamt(sample: BenchmarkSample) -> tuple[Result, int]:
    """The result of a dream that asked the scripted model, and how often it was asked at the server."""
    async with scripted_model() as server, asking(server) as client:
        return await measure(sample, model=client), server.calls


async def test_what_a_model_is_asked_is_counted_and_what_it_says_is_kept(samples: list[BenchmarkSample]):
    result, asked = await dreamt(samples[0])
    assert result.sides["after"].entries > result.sides["without"].entries
    # Beside the dreams the further run asked, which should find nothing left to ask.
    assert result.cost.calls == asked > 0
    assert result.cost.changes["entry_added"] > 0
    # Turns that all readers have read are consumed.
    assert result.cost.changes["turn_updated"] == 5
    assert "turn_added" not in result.cost.changes
    assert result.cost.unsupported.total() == 0
    assert (result.cost.is_undo_exact, result.cost.replayed, result.cost.replay_calls) == (True, 0, 0)


async def test_it_is_told_what_the_tokens_went_to_and_how_many_a_cache_has_read(samples: list[BenchmarkSample]):
    (result, _), (with_more, _) = [await dreamt(sample) for sample in samples]
    cost = result.cost + with_more.cost
    assert cost.tokens_for.total() == cost.input_tokens + cost.output_tokens
    assert {"reading", "verify"} <= set(cost.tokens_for)
    assert (cost.turns, cost.told_tokens) == (sum(len(one.turns) for one in samples), told_tokens(samples))
    assert 0 <= cost.cached_tokens < cost.input_tokens


async def test_the_scripted_model_gives_the_same_figures_twice(samples: list[BenchmarkSample]):
    (first, _), (second, _) = [await dreamt(samples[0]) for _ in range(2)]
    assert figures(first) == figures(second)
    assert first.cost.input_tokens > 0


async def test_a_failed_call_counts_with_its_tokens(samples: list[BenchmarkSample]):
    async with ChatServer(itertools.repeat("I would rather not.")) as server, asking(server) as client:
        result = await measure(samples[0], model=client)
    assert orjson.loads(orjson.dumps(result.cost.to_json()))["refused"]["answer_unreadable"] > 0
    assert result.cost.output_tokens == 5 * result.cost.calls > 0
    # What was not answered is asked again by the next dream.
    assert result.cost.calls + result.cost.replay_calls == server.calls
    assert result.cost.changes == {"entry_archived": 1, "entry_updated": 1}
