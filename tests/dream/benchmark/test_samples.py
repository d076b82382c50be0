"""Samples: questions and evidence are read as they are found in the wild, and what cannot be read is counted."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quizzes import GARDEN, KITCHEN, question, quiz_file

from dream.errors import InvalidFileError, UnknownSampleError
from dream.interfaces.benchmark import BenchmarkSample, Faults, read_locomo

NOW = datetime(2025, 1, 1, tzinfo=UTC)


def read(folder: Path, *samples: dict[str, Any], wanted: tuple[str, ...] = ()) -> list[BenchmarkSample]:
    return read_locomo(quiz_file(folder, *samples), now=NOW, wanted=wanted)


def asking(*questions: Any) -> dict[str, Any]:
    return {**KITCHEN, "qa": list(questions)}


def test_a_sample_has_its_turns_by_session_and_ends_with_its_last_turn(tmp_path: Path):
    kitchen, garden = read(tmp_path)
    assert kitchen.sessions == {"kitchen:1": ("D1:1", "D1:2", "D1:3"), "kitchen:2": ("D2:1", "D2:2")}
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
