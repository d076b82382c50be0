"""The labelled set of conclusions: the host hands honest ones on, and refuses what structure alone shows to be none."""

from tests.bench.conclusion_set import STRUCTURAL, measured


def test_honest_conclusions_reach_a_reader_and_structural_faults_never_do():
    found = measured()
    honest = [refusal for case, refusal in found if case.is_good]
    assert sum(one is None for one in honest) >= 0.95 * len(honest)
    let_in = [case.case_id for case, refusal in found if case.kind in STRUCTURAL and not case.is_good and not refusal]
    assert let_in == []
