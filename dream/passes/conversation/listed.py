"""The items of an answer: a list under one name, each item read or refused by itself."""

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
