"""Defines the gates that a claim passes to become a fact: a row per predicate, shipped here and replaced in a file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

from agentcore.errors import InvalidOptionsError


class PredicatePolicy(StrEnum):
    """How many objects a subject has at once."""

    SINGLE_CURRENT = "single_current"
    """One: another takes its place, is refused as weaker, or is a contradiction that asks."""
    MULTI = "multi"
    """Several beside each other."""
    APPEND_ONLY = "append_only"
    """Several, of which none is ever replaced."""
    VERSIONED = "versioned"
    """One at a time: another always takes its place, and what it replaces stays readable as having held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateRule:
    """What a claim with a predicate has to have.

    Args:
        policy: How many objects a subject has at once.
        confidence: Least confidence of the claim.
        sources: Least number of independent sources.
        entailed: Whether its words have to be held against it, and say it.
        says: The words between subject and object by which it is found without a model.
    """

    policy: PredicatePolicy
    confidence: float
    sources: int = 1
    entailed: bool = False
    says: tuple[str, ...] = ()


_SINGLE: Final = PredicateRule(policy=PredicatePolicy.SINGLE_CURRENT, confidence=0.85, entailed=True)
_MULTI: Final = PredicateRule(policy=PredicatePolicy.MULTI, confidence=0.75)

RULES: Final[Mapping[str, PredicateRule]] = MappingProxyType(
    {
        "born_on": replace(_SINGLE, confidence=0.90, says=("was born on",)),
        "died_on": replace(_SINGLE, confidence=0.90, says=("died on",)),
        "works_at": replace(_SINGLE, sources=1, says=("works at", "works for")),
        "identity_is": _SINGLE,
        "profile_fact": _SINGLE,
        "lives_in": replace(_SINGLE, says=("lives in",)),
        "likes": replace(_MULTI, confidence=0.70, says=("likes", "loves")),
        "prefers": replace(_MULTI, confidence=0.70, says=("prefers",)),
        "uses": replace(_MULTI, confidence=0.70, says=("uses",)),
        "knows": replace(_MULTI, says=("knows",)),
        "has_skill": replace(_MULTI, confidence=0.80),
        "works_on": replace(_MULTI, says=("works on",)),
        "has_goal": _MULTI,
        "relationship_to": _MULTI,
        "located_in": replace(_MULTI, says=("is located in", "is in")),
        "corrected": PredicateRule(policy=PredicatePolicy.APPEND_ONLY, confidence=0.80),
    }
)
"""The rows that are shipped: Dense-Mem's, with `lives_in` and `located_in`."""

DEFAULT: Final = "default"
"""The row of the file that holds for predicates that no row names; without it they are refused."""


def rules_from(text: str, *, where: str) -> dict[str, PredicateRule]:
    """Return the shipped rows with those of a TOML text put over them; `[default]` is for all other predicates.

    Args:
        text: A table per predicate with `policy`, and any of `confidence`, `sources`, `entailed` and `says`.
        where: What errors call it.

    Raises:
        InvalidOptionsError: it is no TOML, or a row cannot be read.

    Example:
        >>> found = rules_from("owns = {policy = 'multi', confidence = 0.6}", where="rules.toml")
        >>> found["owns"].confidence, found["works_at"].policy.value
        (0.6, 'single_current')
    """
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidOptionsError(field=where, value="its text", allowed=f"it is no TOML: {error}") from None
    return {**RULES, **{name.casefold(): _row(name, values, where) for name, values in told.items()}}


def read_rules(path: Path | None) -> Mapping[str, PredicateRule]:
    """Return the rows of a file put over the shipped ones; the shipped ones without a file.

    Raises:
        InvalidOptionsError: the file cannot be read.
    """
    if path is None:
        return RULES
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOptionsError(
            field="dreaming.claims.rules", value=str(path), allowed=f"it cannot be read: {error}"
        ) from None
    return rules_from(text, where=str(path))


def _row(name: str, values: Any, where: str) -> PredicateRule:
    field = f"{where} [{name}]"
    if not isinstance(values, dict):
        raise InvalidOptionsError(field=field, value=values, allowed="write a table for each predicate")
    known = RULES.get(name.casefold())
    try:
        row = dict(cast("dict[str, Any]", values))
        row["policy"] = PredicatePolicy(row["policy"]) if "policy" in row or known is None else known.policy
        row |= {"says": tuple(row["says"])} if "says" in row else {}
        made = PredicateRule(**row) if known is None else replace(known, **row)
        is_possible = 0.0 <= made.confidence <= 1.0 and made.sources >= 1 and made.entailed in {True, False}
    except (KeyError, TypeError, ValueError):
        is_possible = False
        made = None
    if made is None or not is_possible:
        allowed = (
            f"give policy ({', '.join(PredicatePolicy)}), confidence from 0 to 1, sources from 1, entailed and says"
        )
        raise InvalidOptionsError(field=field, value=str(cast("object", values)), allowed=allowed)
    return made
