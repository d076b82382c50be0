"""The product against what it was: the same lives leave the same records, journals, reports and prompts."""

import pytest

from tests.oracle.freezing import FROZEN, differences, shown
from tests.oracle.stores import STORES


@pytest.mark.parametrize("name", STORES)
def test_a_store_ends_as_it_did_when_it_was_frozen(name: str):
    told = differences([name])
    assert not told, f"{shown(told)}\n\nIf all of this is meant: python -m tests.oracle make"


def test_nothing_is_frozen_that_no_store_leaves():
    assert {path.name for path in FROZEN.iterdir()} == {*(f"{name}.jsonl" for name in STORES), "messages.txt"}
