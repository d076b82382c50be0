"""How well the passes judge statements written without sight of the rules (docs/reference/merge-coverage.md)."""

import pytest

from tests.bench.statements import SPLITS, cases, judged

# What it is about, and whether it is true: the most that may be judged wrongly.
_MOST = {
    "dev": {(2, True): 3, (2, False): 1, (3, True): 1, (3, False): 0, (5, True): 5, (5, False): 1},
    "held out": {(2, True): 7, (2, False): 6, (3, True): 4, (3, False): 0, (5, True): 8, (5, False): 6},
}


@pytest.mark.parametrize("split", SPLITS)
async def test_no_more_statements_are_judged_wrongly_than_were_measured(split: str):
    wrong: dict[tuple[int, bool], list[str]] = {key: [] for key in _MOST[split]}
    for one in await judged(cases(SPLITS[split])):
        if not one.is_right:
            wrong[one.case.row["item"], one.case.is_true].append(one.case.row["id"])
    assert {key: ids for key, ids in wrong.items() if len(ids) > _MOST[split][key]} == {}
