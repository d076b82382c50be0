"""Themes and lasting truths by arithmetic, after the formulas of OpenClaw's memory-core."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dream.passes.promotion.blocks import DocumentTexts
from dream.passes.promotion.scoring import MOST_TAGS

_LEAST_CONFIDENCE: Final = 0.45
_MOST_TRUTHS: Final = 3
_SAME: Final = 0.88
_FULL_HITS: Final = 6
_FULL_DAYS: Final = 3
_NAMED: Final = 3
"""Concepts that name a theme at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """An entry that needs recalled.

    Args:
        entry_id: The entry.
        text: What it says, on one line.
        concepts: What it is about.
        relevance: The mean of its hits' relevances, from 0 to 1.
        hits: How often it was recalled.
        days: On how many days.
        is_told: Whether an earlier summary rests on it.
    """

    entry_id: str
    text: str
    concepts: tuple[str, ...]
    relevance: float
    hits: int
    days: int
    is_told: bool = False

    @property
    def confidence(self) -> float:
        """How likely it lasts, from 0 to 1: well recalled, often, on several days, and about something.

        Example:
            >>> one = Recollection(entry_id="e", text="", concepts=("a",) * 6, relevance=1.0, hits=6, days=3)
            >>> round(one.confidence, 4)
            1.0
        """
        often = min(1.0, math.log1p(self.hits) / math.log1p(_FULL_HITS))
        spread, about = min(1.0, self.days / _FULL_DAYS), min(1.0, len(self.concepts) / MOST_TAGS)
        return 0.45 * min(1.0, max(0.0, self.relevance)) + 0.25 * often + 0.2 * spread + 0.1 * about


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """What several recalled entries share.

    Args:
        concepts: Their concepts; those that stand in exactly the same entries are one theme.
        entry_ids: The entries.
        strength: Twice their share of all that was recalled, 1 at most.
    """

    concepts: tuple[str, ...]
    entry_ids: tuple[str, ...]
    strength: float


def themes_of(recalled: Sequence[Recollection], *, least: float, limit: int) -> tuple[Theme, ...]:
    """Return the strongest themes that at least two entries share, one of which no earlier summary rests on.

    Args:
        recalled: What was recalled.
        least: Strength that a theme must have.
        limit: How many at most.
    """
    holders: dict[str, list[int]] = {}
    for place, one in enumerate(recalled):
        for concept in one.concepts:
            holders.setdefault(concept, []).append(place)
    together: dict[tuple[int, ...], list[str]] = {}
    for concept, places in holders.items():
        if len(places) > 1 and not all(recalled[place].is_told for place in places):
            together.setdefault(tuple(places), []).append(concept)
    found = [
        Theme(
            concepts=tuple(sorted(concepts)[:_NAMED]),
            entry_ids=tuple(recalled[place].entry_id for place in places),
            strength=min(1.0, 2 * len(places) / len(recalled)),
        )
        for places, concepts in together.items()
    ]
    strong = [theme for theme in found if theme.strength >= least]
    return tuple(sorted(strong, key=lambda one: (-one.strength, -len(one.entry_ids), one.concepts))[:limit])


def truths_of(recalled: Sequence[Recollection], *, limit: int) -> tuple[Recollection, ...]:
    """Return what likely lasts and no earlier summary told, the most likely first, nothing twice in other words."""
    said, found = DocumentTexts(_SAME), list[Recollection]()
    likely = [one for one in recalled if not one.is_told and one.confidence >= _LEAST_CONFIDENCE]
    for one in sorted(likely, key=lambda one: (-one.confidence, -one.hits, one.entry_id)):
        if len(found) < min(_MOST_TRUTHS, limit) and not said.holds(one.text):
            found.append(one)
            said.add(one.text)
    return tuple(found)
