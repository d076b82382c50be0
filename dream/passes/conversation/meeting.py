"""What becomes of statements when they meet the memory."""

from collections.abc import Mapping
from dataclasses import dataclass

from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal


@dataclass(frozen=True, slots=True)
class Meeting:
    """What becomes of some statements: changes, refusals, and counts for the report by name."""

    change_sets: tuple[ChangeSet, ...]
    refused: tuple[Refusal, ...]
    counts: Mapping[str, int]
