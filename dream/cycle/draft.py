"""A step before it is committed: what it would do, and what of that may happen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dream.domain.change import ChangeSet
from dream.domain.proposal import Proposal, Refusal


@dataclass(slots=True)
class Admission:
    """What of a proposal may happen, what may not and why, and the ids to look at again."""

    accepted: list[ChangeSet] = field(default_factory=list[ChangeSet])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    stale: list[str] = field(default_factory=list[str])
    deferred: list[ChangeSet] = field(default_factory=list[ChangeSet])
    retired: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDraft:
    """A step that is about to be committed.

    Args:
        proposal: What to do.
        seconds: How long it took so far.
        batch: What its row keeps: for a packing the batches, else ids and versions; those of its changes if None.
        reader: The cursor it moves, if it is not the pass's own: the name after the pass's.
        reopen: Ids that the next run has to look at again.
        waited: Keys of deferred change sets it settles one way or the other.
        extra: More for its report.
    """

    proposal: Proposal
    seconds: float
    batch: list[list[Any]] | None = None
    reader: str = ""
    reopen: tuple[str, ...] = ()
    waited: tuple[int, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of what the question was about, if it is an answered batch."""
        return tuple(str(record_id) for record_id, _ in self.batch or ()) if "batch" in self.extra else ()
