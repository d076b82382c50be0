"""The labelled set of conclusions: what the host hands on to a reader, and what is written once it was read."""

from collections import Counter

import pytest

from tests.bench.conclusion_set import HALVES, STRUCTURAL, cases, measured

FOUND = measured()


def test_the_set_has_enough_honest_conclusions_and_near_misses_in_enough_languages():
    counts = Counter(case.is_good for case in cases())
    assert min(counts[True], counts[False]) >= 150
    assert len({case.language for case in cases()}) >= 4


@pytest.mark.parametrize("half", HALVES)
def test_honest_conclusions_reach_a_reader_and_structural_faults_never_do(half: str):
    mine = [(case, refusal) for case, refusal in FOUND if case.half == half]
    honest = [refusal for case, refusal in mine if case.is_good]
    assert sum(one is None for one in honest) >= 0.95 * len(honest)
    let_in = [case.case_id for case, refusal in mine if case.kind in STRUCTURAL and not case.is_good and not refusal]
    assert let_in == []
