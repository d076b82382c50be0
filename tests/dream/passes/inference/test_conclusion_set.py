"""The labelled set of conclusions: what the host hands on to a reader, and what is written once it was read."""

from collections import Counter

import pytest

from tests.bench.conclusion_readings import readings
from tests.bench.conclusion_set import HALVES, STRUCTURAL, cases, measured, written

FOUND = measured()
HANDED_ON = {"a": 84, "b": 81}
"""Honest conclusions of each half that the host hands on: of 84 and 86. Half b is below the 95 % that are wanted."""
LET_IN = {"a": 0, "b": 1}
"""Near misses of each half that are written once the recorded reader read them: of 89 and 87."""


def test_the_set_has_enough_honest_conclusions_and_near_misses_in_enough_languages():
    counts = Counter(case.is_good for case in cases())
    assert min(counts[True], counts[False]) >= 150
    assert len({case.language for case in cases()}) >= 4


@pytest.mark.parametrize("half", HALVES)
def test_honest_conclusions_reach_a_reader_and_structural_faults_never_do(half: str):
    mine = [(case, refusal) for case, refusal in FOUND if case.half == half]
    honest = [refusal for case, refusal in mine if case.is_good]
    assert sum(one is None for one in honest) >= HANDED_ON[half]
    let_in = [case.case_id for case, refusal in mine if case.kind in STRUCTURAL and not case.is_good and not refusal]
    assert let_in == []


def test_of_the_whole_set_at_least_ninety_five_of_a_hundred_honest_conclusions_are_written():
    honest = [(case, refusal) for case, refusal in FOUND if case.is_good]
    assert len(written(honest, readings())) >= 0.95 * len(honest)


@pytest.mark.parametrize("half", HALVES)
def test_a_recorded_reader_lets_in_no_more_near_misses_than_it_did(half: str):
    faulty = [(case, refusal) for case, refusal in FOUND if case.half == half and not case.is_good]
    assert len(written(faulty, readings())) <= LET_IN[half]
