"""How well the coverage guard judges the labelled merges; the figures stand in docs/reference/merge-coverage.md."""

from collections import Counter
from functools import cache

import pytest

from tests.bench.guards import LABELS, Judged, judged, pairs, precision, share

# Measured, less one or two pairs. `test` was written before the guard was tuned, and its errors were never read.
_FLOORS = {
    ("faithful", "dev"): 0.97,
    ("faithful", "test"): 0.84,
    ("faithful", ""): 0.95,
    ("dropped", "dev"): 0.92,
    ("dropped", "test"): 0.93,
    ("invented", ""): 0.98,
    ("negation", "dev"): 0.97,
    ("negation", "test"): 0.95,
    ("number", "dev"): 0.97,
    ("number", "test"): 0.95,
}


@cache
def _judged() -> list[Judged]:
    return judged(pairs())


@pytest.mark.parametrize(("label", "split"), _FLOORS)
def test_the_guard_judges_at_least_so_many_pairs_rightly(label: str, split: str):
    right, total = share(_judged(), label, split)
    assert right / total >= _FLOORS[label, split]


def test_refusals_are_deserved():
    right, total = precision(_judged())
    assert right / total >= 0.96


def test_the_set_is_large_and_holds_every_kind_in_several_languages():
    counts = Counter(pair.label for pair in pairs())
    assert counts["faithful"] >= 90
    assert all(counts[label] >= 30 for label in LABELS)
    assert {pair.language for pair in pairs()} >= {"en", "pt", "de", "es", "fr", "zh", "ja", "ar"}
    assert len({(pair.sources, pair.merged) for pair in pairs()}) == len(pairs())


def test_no_story_stands_in_both_halves_of_the_set():
    halves = {split: {pair.sources for pair in pairs() if pair.split == split} for split in ("dev", "test")}
    assert halves["dev"].isdisjoint(halves["test"])
