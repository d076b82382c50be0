"""Refuses texts of an answer that lost or made up something, and describes them for the repair that asks about them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
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


def unfaithful(found: Coverage, record_ids: Sequence[str]) -> Refusal | None:
    """Return why a text is not taken, or None if it is faithful."""
    if found.faithful:
        return None
    code, details = (Refused.LOST_DETAIL, found.lost) if found.lost else (Refused.INVENTED_DETAIL, found.invented)
    # The details are counted by kind, not told: a report outlives what it is about.
    counted = ", ".join(f"{count} x {kind}" for kind, count in Counter(item.kind.value for item in details).items())
    return Refusal(code, f"{Refusal.of(code, record_ids).detail}: {counted}")


def fault_lines(faults: Iterable[Unfaithful]) -> Iterator[str]:
    """Yield what is wrong with each text, as a line of data for the model."""
    for fault in faults:
        yield f"[{fault.place}] lost={_told(fault.coverage.lost)} made-up={_told(fault.coverage.invented)}"


def _told(details: Sequence[Detail]) -> str:
    return quoted("; ".join(str(detail) for detail in details)) if details else "nothing"
