"""The table of mutants names code that is there: what moves is found again before a run of hours says so."""

from pathlib import Path

import pytest

from tests.quality.mutants import MUTANTS, Mutant

_ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_mutant_changes_a_text_that_stands_once_where_the_table_says(mutant: Mutant):
    assert (_ROOT / mutant.file).read_text("utf-8").count(mutant.text) == 1
    assert all((_ROOT / path).exists() for path in mutant.tests)
