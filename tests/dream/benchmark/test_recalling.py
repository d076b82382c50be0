"""One question judged by hand, and the file of six conversations as far as it is there."""

from dataclasses import replace
from datetime import UTC, datetime
from math import log2
from pathlib import Path

import pytest

from agentcore.domain import MemoryEntry, Scope, SourceKind, SourceRef, Turn
from agentcore.recall import CombinedHit
from dream.interfaces.benchmark import QuestionOutcome, SampleQuestion, measure_recall, read_locomo

NOW = datetime(2025, 6, 14, 12, tzinfo=UTC)
LOCOMO = Path(__file__).parents[4] / "shared/data/locomo/locomo-dev.json"


def said(name: str, tokens: int) -> CombinedHit:
    content = "x" * (4 * tokens - len("[14 June 2025] "))
    turn = Turn(
        id=name, scope=Scope.default(), session_id="s", role="user", content=content, occurred_at=NOW, recorded_at=NOW
    )
    return CombinedHit(turn, 1.0)


def noted(name: str, tokens: int, *turns: str) -> CombinedHit:
    entry = MemoryEntry(
        id=name, scope=Scope.default(), content="x" * 4 * tokens, created_at=NOW, recorded_at=NOW, last_seen_at=NOW
    )
    return CombinedHit(entry, 1.0, frozenset(SourceRef(SourceKind.TURN, turn) for turn in turns))


def test_evidence_counts_once_where_it_is_first_found_and_within_what_is_paid():
    ranked = [said("other", 100), noted("n1", 100, "a", "b"), said("a", 51), said("c", 200)]
    found = QuestionOutcome.of(
        SampleQuestion(text="?", category="single-hop", evidence=("D1:1",)), frozenset("abcd"), ranked
    )
    assert found.at == (0.75, 0.75, 0.75, 0.75)
    assert found.within == (0.0, 0.5, 0.75, 0.75, 0.75, 0.75)
    best = sum(1 / log2(place + 2) for place in range(4))
    assert found.gain == pytest.approx((1 / log2(3) + 1 / log2(5)) / best)


def test_nothing_found_is_nothing():
    found = QuestionOutcome.of(SampleQuestion(text="?", category="single-hop", evidence=("D1:1",)), frozenset("a"), [])
    assert (found.at, found.gain, found.within) == ((0.0,) * 4, 0.0, (0.0,) * 6)


@pytest.mark.skipif(not LOCOMO.exists(), reason="the conversations are not shipped")
async def test_a_conversation_is_recalled_as_well_as_the_documentation_says():
    (sample,) = read_locomo(LOCOMO, now=NOW, wanted=["conv-30"])
    third = replace(sample, questions=sample.questions[::3])
    stores = (await measure_recall(third)).stores
    turns = stores["turns"].to_json()["all"]
    assert turns["at_records"]["10"]["mean"] >= 0.8
    assert turns["ndcg_at_10"] >= 0.59
    within = {name: store.to_json()["all"]["within_tokens"]["500"]["mean"] for name, store in stores.items()}
    assert within["both"] > max(within["turns"], within["notes"])
