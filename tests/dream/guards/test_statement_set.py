"""The statements of `tests/data/statements` have the form that their README tells."""

import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from dream.interfaces.benchmark import read_questions
from tests.bench.statement_set import FOLDER, FORMS, HALVES, NATURAL, halves, rows, statements, wilson


def _classes(title: str) -> set[str]:
    """Return the classes that the README lists under a title."""
    section = (FOLDER / "README.md").read_text(encoding="utf-8").split(f"**{title}:**")[1].split("\n\n")[0]
    return set(re.findall(r"`(\w+)`", section))


_MADE = _classes("Faults")
_NATURAL = _classes("Natural errors")
_TALKS = FOLDER.parent / "talks"


def _cases(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (FOLDER / name).read_bytes().splitlines()]


@pytest.mark.parametrize("name", [f"{start}{name}" for start in ("", "more-") for name in HALVES.values()])
def test_a_case_has_two_true_statements_and_four_with_different_faults(name: str):
    for row in _cases(name):
        assert row.keys() == {"id", "language", "form", "evidence", "honest", "faulty"}
        assert row["form"] in FORMS
        assert len(row["honest"]) == 2
        assert len({one["class"] for one in row["faulty"]} & _MADE) == len(row["faulty"]) == 4


@pytest.mark.parametrize("name", HALVES.values())
def test_an_answered_fact_has_two_true_statements_and_three_or_four_with_different_faults(name: str):
    for row in _cases(f"answered-{name}"):
        assert row.keys() == {"id", "language", "form", "evidence", "honest", "faulty"}
        assert row["form"] == "fact"
        assert len(row["honest"]) == 2
        assert len({one["class"] for one in row["faulty"]} & _MADE) == len(row["faulty"]) in {3, 4}


def test_an_answered_fact_rests_on_turns_of_the_talks():
    talks = read_questions(list(_TALKS.glob("*.json")), now=datetime(2025, 1, 1, tzinfo=UTC))
    said = {text for talk in talks for text in talk.texts.values()}
    for row in (row for name in HALVES.values() for row in _cases(f"answered-{name}")):
        assert {one["text"] for one in row["evidence"]} <= said, row["id"]


@pytest.mark.parametrize("name", HALVES.values())
def test_an_excerpt_has_two_true_statements_and_two_natural_errors(name: str):
    for row in _cases(f"natural-{name}"):
        assert row.keys() == {"id", "language", "evidence", "true", "false"}
        assert (len(row["true"]), len(row["false"])) == (2, 2)
        assert {one["class"] for one in row["false"]} <= _NATURAL


@pytest.mark.parametrize(
    "name", [f"{start}{name}" for start in ("", "more-", "answered-", "natural-") for name in HALVES.values()]
)
def test_evidence_tells_who_said_what_when_and_no_statement_repeats_it(name: str):
    for row in _cases(name):
        said = [one["text"] for one in row["evidence"]]
        faulty = [one["statement"] for one in row.get("faulty", row.get("false"))]
        told = [*row.get("honest", row.get("true")), *faulty]
        assert all(one.keys() == {"speaker", "role", "date", "text"} for one in row["evidence"])
        assert len({*said, *told}) == len(said) + len(told), row["id"]


def test_each_class_has_a_hundred_faults():
    told = Counter(case.fault for half in HALVES for case in statements(half) if case.form != NATURAL)
    assert {one: told[one] for one in _MADE if told[one] < 100} == {}


def test_each_half_has_every_class():
    assert (len(_MADE), len(_NATURAL)) == (37, 15)
    for name in HALVES.values():
        assert {one["class"] for row in _cases(name) for one in row["faulty"]} == _MADE
        assert {one["class"] for row in _cases(f"answered-{name}") for one in row["faulty"]} == _MADE
        assert {one["class"] for row in _cases(f"natural-{name}") for one in row["false"]} == _NATURAL


@pytest.mark.parametrize("start", ["", "more-", "answered-", "natural-"])
def test_the_halves_follow_from_the_hash_of_the_ids_and_hold_as_many_of_each_language(start: str):
    development, held_out = (_cases(f"{start}{name}") for name in HALVES.values())
    ids = [{row["id"] for row in half} for half in (development, held_out)]
    assert list(halves([*development, *held_out])) == ids
    languages = [Counter(row["language"] for row in half) for half in (development, held_out)]
    assert all(abs(languages[0][one] - languages[1][one]) <= 1 for one in languages[0] | languages[1])


@pytest.mark.parametrize("half", HALVES)
def test_each_statement_is_judged_with_all_its_evidence(half: str):
    assert [case.statement for case in statements(half)] == [
        text for row in rows(half) for text in (*row["honest"], *(one["statement"] for one in row["faulty"]))
    ]
    assert all(case.evidence for case in statements(half))


def test_the_bounds_of_a_share_are_those_of_wilson():
    # Agresti and Coull, "Approximate Is Better than Exact", The American Statistician 52, 1998: 9 of 10.
    assert [round(bound, 3) for bound in wilson(9, 10)] == [0.596, 0.982]
    assert wilson(0, 5)[0] == 0
    assert wilson(5, 5)[1] == 1
