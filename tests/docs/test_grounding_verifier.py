"""The example of a grounding model, with a plain function in the place of the weights."""

import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dream.domain.verification import Assertion, EvidenceLine, Reading, Verifier

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "grounding_verifier.py"
LINE = EvidenceLine(text="I moved to Lisbon.", speaker="Ana", role="user", said_at=datetime(2025, 6, 2, tzinfo=UTC))


@pytest.fixture(scope="module")
def example() -> Any:
    spec = importlib.util.spec_from_file_location("grounding_verifier", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def shared(document: str, statement: str) -> float:
    words = statement.casefold().split()
    return sum(word in document.casefold() for word in words) / len(words)


async def test_it_denies_what_scores_below_the_threshold_and_nothing_else(example: Any):
    verifier = example.GroundingVerifier(shared, threshold=0.5)
    assert isinstance(verifier, Verifier)
    near, far = (Assertion(text=text, evidence=(LINE,)) for text in ("Ana moved to Lisbon", "Rui sells cars"))
    assert [one.reading for one in await verifier.read([near, far])] == [Reading.SAYS, Reading.NOT_SAID]


async def test_a_procedure_that_may_add_steps_is_left_to_the_model(example: Any):
    verifier = example.GroundingVerifier(shared, threshold=0.5)
    (found,) = await verifier.read([Assertion(text="Rui sells cars", evidence=(LINE,), adds=True)])
    assert found.reading is Reading.SAYS


def test_the_document_tells_who_said_it_and_when(example: Any):
    document = example.document_of(Assertion(text="Ana moved.", evidence=(LINE,)))
    assert document == "Ana on Monday, 2025-06-02: I moved to Lisbon."


async def test_it_loads_no_model_before_it_is_told_to(example: Any):
    assert example.GroundingVerifier(shared).threshold > 0
    assert "transformers" not in sys.modules
