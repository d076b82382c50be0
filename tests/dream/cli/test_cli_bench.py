"""bench: the figures for people and as a document, and what is missing is asked for."""

import asyncio
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from commandline import CommandLine
from quizzes import GARDEN, KITCHEN, quiz_file, trip_file

from agentcore.testing import ChatServer, ServedRequest
from dream.interfaces.benchmark import Cost, scripted_answer
from dream.interfaces.cli.commands.bench import verdict
from dream.interfaces.cli.screen import Screen


@pytest.fixture
def quizzes(tmp_path: Path) -> Path:
    return quiz_file(tmp_path, KITCHEN, GARDEN)


def test_dreams_are_measured_sample_by_sample_all_together_and_by_category(cli: CommandLine, quizzes: Path):
    told = cli.bare("bench", "dream", quizzes)
    assert (told.code, told.err) == (0, "")
    heads = ["kitchen: 4 questions, 1 left out", "garden: 1 question", "All 2 samples: 5 questions",
             "without adversarial: 4 of 4 can be judged", "\nadversarial: 0 of 1", "\nmulti-hop:", "\ntemporal:",
             "What a turn is given"]  # fmt: skip
    places = [told.out.index(head) for head in heads]
    assert places == sorted(places)
    rows = re.findall(r"^(found|evidence) +(\d+) without +100\.0", told.out, re.MULTILINE)
    assert rows[:4] == [("found", "3"), ("evidence", "4"), ("found", "1"), ("evidence", "1")]
    out = " ".join(told.out.split())
    assert "2 dreams (1 completed, 1 unchanged): 1 entry archived, 1 entry updated; 0 model calls" in out
    assert "unsupported changes: none; undo: exact; a further run: 0 changes" in out
    assert max(map(len, told.out.splitlines())) <= 80


def test_talks_of_all_forms_are_measured_together_and_a_folder_is_read(cli: CommandLine, tmp_path: Path):
    folder = tmp_path / "talks"
    folder.mkdir()
    trip_file(folder)
    document = cli.bare("bench", "dream", folder, quiz_file(tmp_path, GARDEN), "--json").document
    assert [one["sample"] for one in document["samples"]] == ["trip", "garden"]
    assert document["total"]["all"]["judged"] == 4
    assert document["total"]["temporal"]["found"]["4000"]["without"]["mean"] == 1.0
    recall = cli.bare("bench", "recall", folder, "--json").document
    assert recall["total"]["for_turn"]["all"]["within_tokens"]["250"]["mean"] == 1.0


def test_the_document_holds_the_same_figures_twice(cli: CommandLine, quizzes: Path):
    first, second = [cli.bare("--json", "bench", "dream", "--data", quizzes).document for _ in range(2)]
    assert (first["benchmark"], first["data"], first["model"]) == ("dream", [str(quizzes)], None)
    assert [one["sample"] for one in first["samples"]] == ["kitchen", "garden"]
    assert first["total"]["all"]["questions"] == 5
    assert _without_times(first) == _without_times(second)


def _without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {name: _without_times(value) for name, value in document.items() if name != "seconds"}
    return [_without_times(value) for value in document] if isinstance(document, list) else document


def test_samples_are_chosen_one_by_one(cli: CommandLine, quizzes: Path):
    options = ("--format", "locomo", "--no-model", "--sample", "garden", "--data", quizzes, "--json")
    document = cli.bare("bench", "dream", *options).document
    assert [one["sample"] for one in document["samples"]] == ["garden"]
    assert "cellar" in cli.bare("bench", "dream", "--sample", "cellar", "--data", quizzes).complaint


def test_no_memory_is_touched(cli: CommandLine, quizzes: Path, monkeypatch: pytest.MonkeyPatch):
    cli.good("remember", "Ana likes tea")
    monkeypatch.setenv("AGENTCORE_DATA", str(cli.data))
    before = cli.exported()
    assert cli.bare("bench", "dream", "--data", quizzes).code == 0
    assert cli.exported() == before


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "argument FILES is missing"),
        (("--data", "."), "holds no .json file"),
        (("quizzes.json", "nowhere.json"), "does not exist"),
        (("quizzes.json", "--replay", "nowhere.jsonl"), "nowhere.jsonl"),
        (("quizzes.json", "--replay", "a.jsonl", "--model"), "give it alone"),
        (("quizzes.json", "--record", "a.jsonl"), "give --model or --ask too"),
        (("--data", "nowhere.json"), "does not exist"),
        (("--data", __file__), "its format cannot be told"),
        (("--data", "quizzes.json", "--format", "csv"), "locomo"),
        (("--data", "quizzes.json", "--model"), "AGENTCORE_MODEL is missing"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_a_sentence(
    cli: CommandLine, arguments: tuple[str, ...], complaint: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("AGENTCORE_MODEL", "AGENTCORE_DREAM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    told = cli.bare("bench", "dream", *arguments)
    assert told.code == 2
    assert complaint in told.complaint


def test_another_benchmark_is_refused(cli: CommandLine, quizzes: Path):
    told = cli.bare("bench", "sleep", "--data", quizzes)
    assert told.code == 2
    assert "recall" in told.complaint


def test_recall_is_measured_by_store_and_category(cli: CommandLine, quizzes: Path):
    told = cli.bare("bench", "recall", "--data", quizzes)
    assert (told.code, told.err) == (0, "")
    assert max(map(len, told.out.splitlines())) <= 80
    heads = ["kitchen: 4 questions, 1 left out", "garden: 1 question", "By category: 5 questions", "\nall: 5 q",
             "\nwithout adversarial: 4", "\nadversarial: 1", "\nmulti-hop: 1", "\nsingle-hop: 2", "Shares"]  # fmt: skip
    places = [told.out.index(head) for head in heads]
    assert places == sorted(places)
    rows = [line.split() for line in told.out.splitlines() if re.match(r"(turns|notes|both) +\d", line)]
    assert [row[0] for row in rows] == ["turns", "notes", "both"] * 8
    assert told.out.count("\ngiven ") == 8
    documents = [cli.bare("--json", "bench", "recall", "--data", quizzes).document for _ in range(2)]
    assert documents[0] == documents[1]
    whole = documents[0]["total"]
    assert {name: whole[name]["all"]["questions"] for name in ("turns", "notes", "both")} == dict.fromkeys(
        ("turns", "notes", "both"), 5
    )
    assert whole["turns"]["all"]["at_records"]["10"] == {"mean": 1.0, "all": 1.0, "any": 1.0}
    for option in (("--model",), ("--replay", "a.jsonl")):
        assert "leave it out" in cli.bare("bench", "recall", *option, "--data", quizzes).complaint


@contextmanager
def scripted_server() -> Iterator[ChatServer]:
    """A scripted model that listens on a thread of its own, since the command line has an event loop of its own."""
    server, stop, listening = ChatServer(repeat(answered)), asyncio.Event(), Event()

    async def serve() -> None:
        async with server:
            loops.append(asyncio.get_running_loop())
            listening.set()
            await stop.wait()

    loops: list[asyncio.AbstractEventLoop] = []
    thread = Thread(target=asyncio.run, args=[serve()])
    thread.start()
    assert listening.wait(10)
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(10)


def answered(request: ServedRequest) -> str:
    return scripted_answer(request.prompt)


def test_with_a_model_the_dream_asks_what_the_environment_names(
    cli: CommandLine, quizzes: Path, monkeypatch: pytest.MonkeyPatch
):
    with scripted_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTCORE_MODEL", "usual")
        monkeypatch.setenv("AGENTCORE_DREAM_MODEL", "scripted")
        without = cli.bare("bench", "dream", "--data", quizzes, "--json").document
        assert (without["model"], server.calls) == (None, 0)
        told = cli.bare("bench", "dream", "--data", quizzes, "--sample", "kitchen", "--model", "--json")
        assert (told.code, told.err, told.document["model"]) == (0, "", "scripted")
        assert told.document["total"]["dream"]["calls"] == server.calls > 0
        assert {request.model for request in server.requests} == {"scripted"}


def test_answers_are_kept_and_given_again_without_the_model(
    cli: CommandLine, quizzes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    answers = tmp_path / "answers.jsonl"
    with scripted_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("AGENTCORE_MODEL", "scripted")
        first = cli.bare("bench", "dream", quizzes, "--model", "--record", answers, "--json").document
        calls = server.calls
        assert calls == len(answers.read_bytes().splitlines()) > 0
        cli.bare("bench", "dream", quizzes, "--model", "--record", answers, "--json")
        assert server.calls == calls
    monkeypatch.delenv("AGENTCORE_MODEL")
    again = cli.bare("bench", "dream", quizzes, "--replay", answers, "--json").document
    assert _without_times(again) == _without_times(first)
    answers.write_bytes(answers.read_bytes().splitlines(keepends=True)[0])
    stale = cli.bare("bench", "dream", quizzes, "--replay", answers)
    assert (stale.code, stale.out) == (1, "")
    assert "is stale: kitchen, " in stale.complaint
    assert ", round 1 has no answer about " in stale.complaint


def test_a_server_that_is_absent_is_told_and_the_passes_that_need_none_still_count(
    cli: CommandLine, quizzes: Path, monkeypatch: pytest.MonkeyPatch
):
    with scripted_server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("AGENTCORE_MODEL", "gone")
    monkeypatch.setenv("AGENTCORE_RETRIES", "0")
    out = " ".join(cli.bare("bench", "dream", "--data", quizzes, "--sample", "kitchen", "--model").out.split())
    assert "partial): 1 entry archived, 1 entry updated; " in out
    assert "failed: fact-mining: " in out
    assert "undo: exact" in out


@pytest.mark.parametrize(
    ("cost", "complaint"),
    [
        (Cost(outcomes=Counter({"failed": 1})), "a run failed"),
        (Cost(unsupported=Counter({"no_source": 2})), "changes rest on nothing"),
        (Cost(samples=2, undone=1), "an undo did not bring everything back"),
    ],
)
def test_what_must_not_be_ends_in_a_warning_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], cost: Cost, complaint: str
):
    assert verdict(Screen(), cost) == 1
    assert complaint in capsys.readouterr().err
    assert verdict(Screen(), Cost(samples=2, undone=2, outcomes=Counter({"unchanged": 2}))) == 0
    assert capsys.readouterr().err == ""
