"""Describes texts of an answer that lost or made up something, for the repair that asks about them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dream.domain.proposal import Refusal
from dream.guards.detail import Detail
from dream.guards.merge_coverage import Coverage
from dream.passes.prompts import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfaithful:
    """A text that would be taken but for what it lost or made up.

    Args:
        place: The number that the answer gives it, from 0.
        coverage: What it lost and made up.
        refusal: Why it is not taken.
    """

    place: int
    coverage: Coverage
    refusal: Refusal


def fault_lines(faults: Iterable[Unfaithful]) -> Iterator[str]:
    """Yield what is wrong with each text, as a line of data for the model."""
    for fault in faults:
        yield f"[{fault.place}] lost={_told(fault.coverage.lost)} made-up={_told(fault.coverage.invented)}"


def _told(details: Sequence[Detail]) -> str:
    return quoted("; ".join(str(detail) for detail in details)) if details else "nothing"
