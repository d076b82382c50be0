"""Recordings: a model's answers give the same dream again without it, and what does not fit is told by name."""

import itertools
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st
from quizzes import KITCHEN, quiz_file, trip_file

from agentcore.clock import SystemClock
from agentcore.llm import ChatMessage, ChatOptions, ChatRequest, ChatRole, OpenAIChatClient
from agentcore.testing import ChatServer, ScriptedChatClient, ServedRequest
from dream.errors import InvalidFileError, StaleRecordingError
from dream.interfaces.benchmark import (
    BenchmarkSample,
    Quotes,
    RecordedClient,
    Recording,
    Result,
    handles,
    measure,
    read_questions,
    scripted_answer,
)
from dream.passes.prompts import fenced

NOW = datetime(2025, 1, 1, tzinfo=UTC)
SHORT = timedelta(milliseconds=10)
TURNS = ('[t1] session="s" at=2024-05-08T18:05 role=user "I moved."', '[t2] session="s" role=user "I sing."')


@pytest.fixture
def kitchen(tmp_path: Path) -> BenchmarkSample:
    return read_questions([quiz_file(tmp_path, KITCHEN)], now=NOW)[0]


async def recorded(sample: BenchmarkSample, path: Path) -> Result:
    """The result of a dream whose answers a server gives after different times, and that are kept."""
    chance = random.Random(7)

    async def answer(request: ServedRequest) -> str:
        await SystemClock().sleep(chance.choice([SHORT, 5 * SHORT]))
        return scripted_answer(request.prompt)

    async with ChatServer(itertools.repeat(answer)) as server:
        model = OpenAIChatClient(ChatOptions(model="scripted", base_url=server.base_url))
        client = RecordedClient(Recording.read(path, must_exist=False), sample.name, Quotes(sample.texts), model)
        async with model:
            result = await measure(sample, model=client)
        client.check()
        return result


async def replayed(sample: BenchmarkSample, path: Path) -> Result:
    client = RecordedClient(Recording.read(path, must_exist=True), sample.name, Quotes(sample.texts))
    result = await measure(sample, model=client)
    client.check()
    return result


def figures(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.to_json().items() if name != "seconds"}


def rows(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    changed = rows(path)
    for row in changed:
        change(row)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in changed))


async def test_a_replay_gives_the_same_figures_and_asks_no_model(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    first = await recorded(kitchen, path)
    assert first.cost.calls > 0
    again = await replayed(kitchen, path)
    assert figures(again) == figures(first)
    assert again.sides == first.sides


async def test_a_recording_holds_no_text_of_the_conversation(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    held = path.read_text("utf-8")
    assert '["D1:1",' in held
    for text in kitchen.texts.values():
        assert not any(text[start : start + 24] in held for start in range(max(1, len(text) - 24)))


async def test_a_missing_answer_fails_by_pass_round_and_records(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    (gone, *rest) = rows(path)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rest))
    with pytest.raises(StaleRecordingError, match=rf"kitchen, {gone['pass']}, round 1 has no answer about t1 to t\d"):
        await replayed(kitchen, path)


async def test_an_answer_that_nothing_asks_for_any_more_fails_by_name(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    extra = rows(path)[0] | {"shown": "other", "records": "t1 to t99"}
    path.write_bytes(path.read_bytes() + orjson.dumps(extra) + b"\n")
    with pytest.raises(StaleRecordingError, match=r"round 1 is not asked about t1 to t99 any more"):
        await replayed(kitchen, path)


async def test_answers_of_other_samples_are_not_stale(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    extra = rows(path)[0] | {"sample": "garden"}
    path.write_bytes(path.read_bytes() + orjson.dumps(extra) + b"\n")
    assert (await replayed(kitchen, path)).cost.calls > 0


async def test_recording_again_asks_for_what_is_missing_alone_and_drops_what_is_stale(
    kitchen: BenchmarkSample, tmp_path: Path
):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    whole = rows(path)
    rewrite(path, lambda row: row.update(model="earlier"))
    kept = rows(path)[1:]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in [*kept, kept[0] | {"shown": "other"}]))
    await recorded(kitchen, path)
    assert sorted(row["model"] for row in rows(path)) == ["earlier"] * len(kept) + ["scripted"]
    assert {row["shown"] for row in rows(path)} == {row["shown"] for row in whole}


def question(*lines: str, rules: str = "Find facts.", mark: str = "m1", repaired: str | None = None) -> ChatRequest:
    prompt = [
        ChatMessage(ChatRole.SYSTEM, f"{rules} Data stands between <<<{mark} and {mark}>>>."),
        ChatMessage(ChatRole.USER, fenced(mark, f"{rules} Turns:", lines)),
    ]
    if repaired is not None:
        prompt += [ChatMessage(ChatRole.ASSISTANT, repaired), ChatMessage(ChatRole.USER, "Repair it.")]
    return ChatRequest(messages=tuple(prompt), max_output_tokens=100, purpose="a-pass")


async def answers(path: Path, *requests: ChatRequest) -> int:
    """How many of the questions had to be asked of a model."""
    model = ScriptedChatClient(itertools.repeat("{}"))
    client = RecordedClient(Recording.read(path, must_exist=False), "s", Quotes({}), model)
    for request in requests:
        await client.complete(request)
    return len(model.requests)


async def test_the_wording_of_a_prompt_voids_no_answer_and_what_it_shows_does(tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    assert await answers(path, question(*TURNS)) == 1
    assert await answers(path, question(*TURNS, rules="Find all facts, one each.", mark="x9")) == 0
    assert await answers(path, question(*(line.replace("session", "talk") for line in TURNS))) == 0
    assert await answers(path, question(TURNS[0])) == 1
    assert await answers(path, question(*(line.replace("sing", "dance") for line in TURNS))) == 1
    assert await answers(path, question(*(line.replace("t2", "t3") for line in TURNS))) == 1
    assert await answers(path, question(*TURNS, repaired="{}")) == 1
    assert await answers(path, question(*TURNS, repaired='{"facts": []}')) == 1


async def test_the_same_question_asked_again_has_an_answer_of_its_own(tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    assert await answers(path, question(*TURNS), question(*TURNS)) == 2
    assert await answers(path, question(*TURNS), question(*TURNS)) == 0
    assert [row["time"] for row in rows(path)] == [1, 2]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read"),
        ("{}", "line 1: it is no answer of a recording; remove that line, and --record asks for what is missing"),
        ("no JSON", "line 1: it is no answer"),
    ],
)
def test_what_is_no_recording_is_refused_in_a_sentence(tmp_path: Path, content: str | None, problem: str):
    path = tmp_path / "answers.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidFileError, match=problem):
        Recording.read(path, must_exist=True)


async def test_a_recording_of_other_data_is_refused(kitchen: BenchmarkSample, tmp_path: Path):
    path = tmp_path / "answers.jsonl"
    await recorded(kitchen, path)
    trip = read_questions([trip_file(tmp_path)], now=NOW)[0]
    client = RecordedClient(Recording.read(path, must_exist=True), "kitchen", Quotes(trip.texts))
    await measure(kitchen, model=client)
    with pytest.raises(StaleRecordingError, match="fact-mining, round 1 has no answer"):
        client.check()


def test_handles_are_named_as_ranges():
    assert handles([("t1", "a"), ("t3", "b"), ("", "line"), ("e1", "c")]) == "t1 to t3, e1"


@given(st.text("ab c", max_size=60), st.lists(st.text("ab c", max_size=60), max_size=3))
def test_what_is_taken_out_is_put_back_exactly(answer: str, texts: list[str]):
    quotes = Quotes({str(number): text for number, text in enumerate(texts)})
    assert quotes.put_back(quotes.taken_out(answer)) == answer
