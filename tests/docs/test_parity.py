"""The pages on parity name tests that exist."""

import re
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PAGES = sorted((_ROOT / "docs" / "reference" / "parity").glob("*.md"))
_PLACES = (_ROOT / "tests", _ROOT / "agentcore" / "testing" / "contracts")


@pytest.fixture(scope="module")
def known() -> set[str]:
    texts = (path.read_text("utf-8") for place in _PLACES for path in place.rglob("*.py"))
    return {name for text in texts for name in re.findall(r"def (test_\w+)", text)}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_a_page_names_only_tests_that_exist(page: Path, known: set[str]):
    named = set(re.findall(r"`(test_\w+)`", page.read_text("utf-8")))
    assert named
    assert named - known == set()
