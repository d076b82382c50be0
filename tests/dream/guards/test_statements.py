"""How well the passes judge statements written without sight of the rules (docs/reference/merge-coverage.md)."""

import asyncio
from functools import cache

import pytest

from tests.bench.statements import SPLITS, Outcome, cases, judged

_WRONG = {
    # (what it is about, whether it is true): the most that may be judged wrongly, in (dev, held out).
    (2, True): (3, 7),
    (2, False): (1, 6),
    (3, True): (1, 4),
    (3, False): (0, 0),
    (5, True): (5, 8),
    (5, False): (1, 6),
}


@cache
def _outcomes(split: str) -> list[Outcome]:
    return asyncio.run(judged(cases(SPLITS[split])))


@pytest.mark.parametrize("place", range(len(SPLITS)), ids=list(SPLITS))
@pytest.mark.parametrize(("subject", "is_true"), _WRONG)
def test_no_more_statements_are_judged_wrongly_than_were_measured(subject: int, is_true: bool, place: int):
    found = [one for one in _outcomes([*SPLITS][place]) if one.case.row["item"] == subject]
    wrong = [one.case.row["id"] for one in found if one.case.is_true is is_true and not one.is_right]
    assert len(wrong) <= _WRONG[subject, is_true][place], wrong
