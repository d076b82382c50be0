"""Reads the list in a model's answer item by item; a bad item is refused without affecting the others."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused

T = TypeVar("T")


def read_listed(
    answer: Mapping[str, Any], name: str, *, what: str, most: int, read: Callable[[int, object], T | Refusal]
) -> tuple[list[T], list[Refusal]]:
    """Return the items that can be read, and why others cannot; of an answer in another shape nothing is used.

    Args:
        answer: The answer's object.
        name: The field that holds the list.
        what: What its items are called in refusals.
        most: How many there may be.
        read: Reads one item, given its number from 1.
    """
    given: object = answer.get(name)
    if not isinstance(given, list):
        return [], [Refusal(Refused.BROKEN_ANSWER, f'it has no list "{name}"')]
    values = cast("list[object]", given)
    if len(values) > most:
        return [], [Refusal(Refused.BROKEN_ANSWER, f"it holds {len(values):,} {what}, more than {most}")]
    outcomes = [read(number, value) for number, value in enumerate(values, 1)]
    refused = [outcome.at(number) for number, outcome in enumerate(outcomes, 1) if isinstance(outcome, Refusal)]
    return [outcome for outcome in outcomes if not isinstance(outcome, Refusal)], refused


def cited(given: object) -> tuple[str, ...] | None:
    """Return the handles of a list, each once; none if it is no list, None if something in it is no handle.

    Example:
        >>> cited(["[t1]", "t2", "t1"]), cited("t1"), cited([7])
        (('t1', 't2'), (), None)
    """
    values = cast("list[object]", given) if isinstance(given, list) else []
    handles = [value.strip().strip("[]") for value in values if isinstance(value, str)]
    return tuple(dict.fromkeys(handles)) if len(handles) == len(values) else None
