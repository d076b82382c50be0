"""Counts and lists what is unwell in a memory."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from agentcore.domain.claim import ClaimState
from agentcore.domain.hypothesis import VISIBLE
from agentcore.domain.question import QuestionCause
from agentcore.stores.storage import ReadView
from dream.options import HypothesisOptions

_LISTED: Final = 50
"""Ids listed of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHealth:
    """What is unwell in a memory, each with the ids, the oldest first.

    Args:
        stale_facts: Entries that a promoted claim made and that nobody said again or confirmed for long.
        candidate_claims: Claims that wait to be held against their words, or for their gate.
        disputed_claims: Claims that their words, or an equally strong fact, contradict.
        contradictions: Open questions about records that cannot both hold.
        undecided: Hypotheses that nobody decided.
    """

    stale_facts: tuple[str, ...]
    candidate_claims: tuple[str, ...]
    disputed_claims: tuple[str, ...]
    contradictions: tuple[str, ...]
    undecided: tuple[str, ...]

    def counts(self) -> dict[str, int]:
        """Return how many there are of each."""
        return {name: len(ids) for name, ids in asdict(self).items()}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: counts, and the first ids of each."""
        listed = {name: list(ids[:_LISTED]) for name, ids in asdict(self).items() if ids}
        return {**self.counts(), "listed": listed}


def health_of(view: ReadView, options: HypothesisOptions, as_of: datetime) -> MemoryHealth:
    """Return what is unwell as of an instant."""
    facts = [one.fact for one in view.claims.in_states({ClaimState.PROMOTED}) if one.fact is not None]
    old = [
        entry
        for entry in view.entries.get_many(facts)
        if entry.is_active and entry.last_seen_at < as_of - options.stale_after
    ]
    asked = view.questions.waiting()
    conflicts = [one for one in asked if one.cause is not QuestionCause.NEAR_DUPLICATE]
    waiting = view.claims.in_states({ClaimState.CANDIDATE, ClaimState.VALIDATED})
    return MemoryHealth(
        stale_facts=tuple(one.id for one in sorted(old, key=lambda one: (one.last_seen_at, one.id))),
        candidate_claims=tuple(one.id for one in waiting),
        disputed_claims=tuple(one.id for one in view.claims.in_states({ClaimState.DISPUTED})),
        contradictions=tuple(one.id for one in conflicts),
        undecided=tuple(one.id for one in view.hypotheses.in_states(VISIBLE)),
    )
