"""Defines what a conclusion rests on, and computes from that alone whether it stands and how sure it is."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Final

APART: Final = timedelta(days=1)
"""Time after which something said in the same session is another occasion."""
LEAST_OCCASIONS: Final = 2
"""Occasions that a pattern takes: one is an event."""
_MEDIUM: Final = 3
_HIGH: Final = 5
_LEAST_FOR: Final = 2
"""Times as many occasions for a pattern as against it, without which it is a question."""
_HIGH_FOR: Final = 4


class Pattern(StrEnum):
    """What sort of pattern an inductive conclusion tells."""

    PREFERENCE = "preference"
    """A consistent choice."""
    BEHAVIOR = "behavior"
    """Something done again and again."""
    PERSONALITY = "personality"
    """A stable trait."""
    TENDENCY = "tendency"
    """What somebody is inclined to under some condition."""
    CORRELATION = "correlation"
    """Two things that come together."""


class Confidence(StrEnum):
    """How sure a pattern is; computed from its occasions, never taken from a model."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, order=True)
class Premise:
    """One entry that a conclusion rests on, and the occasion on which that was said.

    Args:
        entry_id: The entry.
        text_key: The fold key of its text as it was judged: a premise that says something else is gone.
        said_at: When it was first said.
        session: The conversation in which it was; empty if that is not known.
        against: Whether it speaks against the conclusion.
        past: Whether it is enough that it held once.
    """

    entry_id: str
    text_key: str
    said_at: datetime
    session: str = ""
    against: bool = False
    past: bool = False


def occasions(premises: Iterable[Premise]) -> int:
    """Count independent occasions: different sessions, or a day apart; what was said elsewhere counts by its day.

    A premise counts on the one occasion on which it was first said, however often it was repeated since. Taking a
    premise away never raises the count.

    Example:
        >>> from datetime import UTC
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> occasions([Premise("a", "k", said, "s1"), Premise("b", "l", said, "s1"), Premise("c", "m", said, "s2")])
        2
    """
    ordered = sorted(premises, key=lambda one: (one.session, one.said_at))
    return sum(_apart(one.said_at for one in group) for _, group in groupby(ordered, key=lambda one: one.session))


def _apart(instants: Iterable[datetime]) -> int:
    """Count the most of these instants, in order, of which each is a day after the one before."""
    found, last = 0, None
    for instant in instants:
        if last is None or instant - last >= APART:
            found, last = found + 1, instant
    return found


def confidence_of(premises: Iterable[Premise]) -> Confidence | None:
    """Return how sure a pattern is by its occasions; None where they are too few, or too many speak against it.

    Counted are the occasions for it minus those against it: 2 are low, 3 and 4 medium, 5 and more high. Where some
    speak against it, there have to be twice as many for it, and four times as many for high.

    Example:
        >>> from datetime import UTC
        >>> def said(*days, against=False):
        ...     return [Premise(f"{day}{against}", "k", datetime(2025, 5, day, tzinfo=UTC), against=against)
        ...             for day in days]
        >>> confidence_of(said(1, 3, 5)), confidence_of(said(1)), confidence_of(said(1, 3) + said(2, against=True))
        (<Confidence.MEDIUM: 'medium'>, None, None)
    """
    given = list(premises)
    ayes = [one for one in given if not one.against]
    pro, contra = occasions(ayes), occasions(one for one in given if one.against)
    net = pro - contra
    if net < LEAST_OCCASIONS or len({one.entry_id for one in ayes}) < LEAST_OCCASIONS or pro < _LEAST_FOR * contra:
        return None
    if net >= _HIGH and pro >= _HIGH_FOR * contra:
        return Confidence.HIGH
    return Confidence.MEDIUM if net >= _MEDIUM else Confidence.LOW


@dataclass(frozen=True, slots=True)
class Footing:
    """How a conclusion stands by those of its premises that are live.

    Args:
        stands: Whether it has what it needs.
        confidence: How sure a pattern is; None for a deduction, or where it does not stand.
        missing: The first of its premises that are gone.
    """

    stands: bool
    confidence: Confidence | None
    missing: str | None


def footing_of(premises: Iterable[Premise], is_live: Callable[[Premise], bool], *, is_pattern: bool) -> Footing:
    """Judge a conclusion by its premises: a deduction needs all of them, a pattern two occasions and more for it."""
    live, missing = list[Premise](), list[str]()
    for one in premises:
        if is_live(one):
            live.append(one)
        else:
            missing.append(one.entry_id)
    first = min(missing, default=None)
    if not is_pattern:
        return Footing(bool(live) and first is None, None, first)
    confidence = confidence_of(live)
    return Footing(confidence is not None, confidence, first)
