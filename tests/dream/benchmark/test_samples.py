"""Samples: questions and evidence are read as they are found in the wild, and what cannot be read is counted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quizzes import GARDEN, KITCHEN, TRIP, question, quiz_file, trip_file

from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.benchmark import BenchmarkSample, Faults, read_locomo, read_questions

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def read(folder: Path, *samples: dict[str, Any], wanted: tuple[str, ...] = ()) -> list[BenchmarkSample]:
    return read_locomo(quiz_file(folder, *samples), now=NOW, wanted=wanted)


def asking(*questions: Any) -> dict[str, Any]:
    return {**KITCHEN, "qa": list(questions)}


def test_a_sample_has_its_turns_by_session_and_ends_with_its_last_turn(tmp_path: Path):
    kitchen, garden = read(tmp_path)
    assert kitchen.sessions == ("kitchen:1", "kitchen:2")
    assert {name: turn.session_id for name, turn in kitchen.turns.items()} == {
        "D1:1": "kitchen:1", "D1:2": "kitchen:1", "D1:3": "kitchen:1", "D2:1": "kitchen:2", "D2:2": "kitchen:2",
    }  # fmt: skip
    assert kitchen.ended_at == datetime(2024, 3, 10, 18, 30, 1, tzinfo=UTC)
    assert (garden.name, len(garden.questions)) == ("garden", 1)


def test_samples_come_as_they_are_wanted_and_once_each(tmp_path: Path):
    names = [sample.name for sample in read(tmp_path, wanted=("garden", "kitchen", "garden"))]
    assert names == ["garden", "kitchen"]


@pytest.mark.parametrize(
    ("pieces", "evidence"),
    [
        (["D1:1; D2:1"], ("D1:1", "D2:1")),
        (["D:1:2"], ("D1:2",)),
        (["D1:03"], ("D1:3",)),
        (["D1:1 D1:2", "D1:1"], ("D1:1", "D1:2")),
    ],
)
def test_evidence_in_an_odd_spelling_is_repaired_and_counted(
    tmp_path: Path, pieces: list[str], evidence: tuple[str, ...]
):
    (sample,) = read(tmp_path, asking(question("Where?", *pieces)))
    assert [one.evidence for one in sample.questions] == [evidence]
    assert sample.faults == Faults(repaired=1)


def test_evidence_that_names_nothing_is_left_out_of_its_question(tmp_path: Path):
    (sample,) = read(tmp_path, asking(question("Where?", "D", "D9:9", "D1:1")))
    assert [one.evidence for one in sample.questions] == [("D1:1",)]
    assert sample.faults == Faults(unreadable=1, unknown=1)


def test_a_question_without_any_evidence_is_left_out_and_counted(tmp_path: Path):
    nothing = {"question": "Why?", "category": 3, "evidence": None}
    (sample,) = read(tmp_path, asking(question("Where?", "D1:1"), question("Who?"), question("When?", "D7:1"), nothing))
    assert [one.text for one in sample.questions] == ["Where?"]
    assert sample.faults == Faults(left_out=3, unknown=1)


@pytest.mark.parametrize(
    ("sample", "problem"),
    [
        (asking(question("Where?", "D1:1", category=6)), "a category from 1 to 5"),
        (asking(question(" ", "D1:1")), "lacks its text"),
        (asking("Where?"), "a question is no object"),
        (asking(), "holds no question"),
        ({**GARDEN, "qa": None}, "holds no question"),
        ({**GARDEN, "conversation": {}, "observation": {}}, "holds no turn"),
    ],
)
def test_a_sample_that_cannot_be_asked_is_refused_by_name(tmp_path: Path, sample: dict[str, Any], problem: str):
    with pytest.raises(InvalidFileError, match=f"sample {sample['sample_id']}: .*{problem}"):
        read(tmp_path, sample)


def test_a_sample_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path):
    with pytest.raises(UnknownSampleError, match=r"kitchen.*garden"):
        read(tmp_path, wanted=("garden", "cellar"))


def test_answers_are_texts_and_an_adversarial_question_has_none(tmp_path: Path):
    kitchen, garden = read(tmp_path)
    assert [one.answer for one in kitchen.questions] == ["in Porto", "rye bread", "walnuts", None]
    assert [(one.name, one.answer) for one in garden.questions] == [("1", "2021")]


def test_chat_json_is_told_by_its_content_and_keeps_names_answers_and_times(tmp_path: Path):
    (trip,) = read_questions([trip_file(tmp_path)], now=NOW)
    assert (trip.name, trip.file_format, trip.sessions) == ("trip", "chat-json", ("trip:1", "trip:2"))
    assert trip.turns["2"].role == "assistant"
    first, second, _ = trip.questions
    assert (first.name, first.category, first.evidence, first.answer) == ("q1", "temporal", ("1",), "7 May 2024")
    assert first.asked_at == datetime(2024, 11, 2, 10, tzinfo=UTC)
    assert (second.name, second.asked_at) == ("2", None)


def test_several_files_and_folders_are_read_together_and_no_name_twice(tmp_path: Path):
    folder = tmp_path / "talks"
    folder.mkdir()
    paths = [trip_file(folder).parent, quiz_file(tmp_path)]
    assert [sample.name for sample in read_questions(paths, now=NOW)] == ["trip", "kitchen", "garden"]
    assert [sample.name for sample in read_questions(paths, now=NOW, wanted=["garden", "trip"])] == ["garden", "trip"]
    with pytest.raises(InvalidFileError, match=r"sample trip: .* holds one of that name too"):
        read_questions([folder, folder / "trip.json"], now=NOW)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"turns": []}, "it holds no turn"),
        ({"questions": []}, "it holds no question"),
        ({"questions": [{**TRIP["questions"][0], "evidence": ["9"]}]}, "no question with evidence"),
        ({"questions": ["When?"]}, "question 1: it is no object"),
        ({"questions": [{"question": "When?"}]}, "question 1: category is missing"),
        ({"questions": [{**TRIP["questions"][0], "asked_at": "soon"}]}, "question 1: .*soon"),
        ({"turns": [TRIP["turns"][0]] * 2}, "turn 2: an earlier turn has the id '1' too"),
        ({"turns": [{**TRIP["turns"][0], "timestamp": None}]}, "turn 1: timestamp is missing"),
        ({"turns": [{**TRIP["turns"][0], "role": "boss"}]}, "turn 1: role should be one of"),
        ({"turns": "none"}, "it is not JSON"),
    ],
)
def test_a_talk_that_cannot_be_asked_about_is_refused_in_a_sentence(
    tmp_path: Path, changed: dict[str, Any], problem: str
):
    with pytest.raises(InvalidFileError, match=problem):
        read_questions([trip_file(tmp_path, **changed)], now=NOW)


def test_a_folder_without_files_and_a_file_without_questions_are_refused(tmp_path: Path):
    with pytest.raises(InvalidFileError, match=r"holds no \.json file"):
        read_questions([tmp_path], now=NOW)
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "Hi"}\n', encoding="utf-8")
    with pytest.raises(InvalidFileError, match="a chat-jsonl file holds no questions"):
        read_questions([chat], now=NOW)


def test_the_three_talks_have_a_hundred_questions_each_whose_evidence_is_there():
    talks = read_questions([Path(__file__).parents[2] / "data/talks"], now=NOW)
    assert sorted(talk.name for talk in talks) == ["assistant", "family", "team"]
    assert [(len(talk.questions), talk.faults) for talk in talks] == [(100, Faults())] * 3
    assert all(question.answer and question.asked_at for talk in talks for question in talk.questions)
