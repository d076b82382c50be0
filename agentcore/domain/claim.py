"""Defines a claim: subject, predicate and object of something that was said, with the words that say it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

from agentcore.domain.evidence import SourceRef
from agentcore.domain.memory import Trust
from agentcore.domain.scope import Scope
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import fold_key
from agentcore.errors import ForbiddenTransitionError, InvalidContentError

LONGEST_PART: Final = 200
"""Characters of a subject, a predicate or an object."""


class ClaimState(StrEnum):
    """How far a claim has come."""

    CANDIDATE = "candidate"
    """Nobody has held it against its words yet, or they do not say it."""
    VALIDATED = "validated"
    """Its words say it."""
    DISPUTED = "disputed"
    """Its words, or an equally strong fact, say something else."""
    REJECTED = "rejected"
    """It was refused as weaker than what is known, or by a person."""
    SUPERSEDED = "superseded"
    """Another claim took its place."""
    PROMOTED = "promoted"
    """An entry of the memory says it."""


_TRANSITIONS: Final = {
    ClaimState.CANDIDATE: {ClaimState.VALIDATED, ClaimState.DISPUTED, ClaimState.REJECTED},
    ClaimState.VALIDATED: {ClaimState.DISPUTED, ClaimState.REJECTED, ClaimState.PROMOTED},
    ClaimState.DISPUTED: {ClaimState.VALIDATED, ClaimState.REJECTED, ClaimState.PROMOTED},
    ClaimState.REJECTED: set[ClaimState](),
    ClaimState.SUPERSEDED: set[ClaimState](),
    ClaimState.PROMOTED: {ClaimState.SUPERSEDED},
}


class Entailment(StrEnum):
    """What the words of a claim say of it."""

    ENTAILED = "entailed"
    CONTRADICTED = "contradicted"
    INSUFFICIENT = "insufficient"


ClaimKey = tuple[str, str]
"""Subject and predicate, case and spacing aside: claims of one key are about the same thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement taken from entries or turns of one scope.

    Args:
        id: Unique within the scope.
        scope: Whose memory.
        subject: What it is about, such as `Ana`.
        predicate: What is said of it, a name such as `works_at`.
        object: What that is, such as `Acme`.
        quote: The words of a source that say it.
        sources: The entries and turns in which it is said.
        asserted_at: When it was said.
        asserted_by: The pass or the person who took it from there.
        negated: Whether it is said not to be so.
        subject_time: When it is so, where that was said.
        confidence: How sure whoever took it from there is of its parts, 0 to 1.
        trust: The least of its sources.
        entailment: What a verifier said; None while none has.
        verified_by: Who that was.
        state: How far it has come.
        state_reason: Why it is there.
        state_at: Since when.
        fact: The entry that says it since it was promoted.
        version: Optimistic version.

    Example:
        >>> from datetime import UTC
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> print(Claim(id="a", scope=Scope.default(), subject="Ana", predicate="works_at", object="Acme",
        ...             quote="Ana works at Acme.", sources=(SourceRef.parse("turn:t"),), asserted_at=said,
        ...             asserted_by="person"))
        Ana works_at Acme
    """

    id: str
    scope: Scope
    subject: str
    predicate: str
    object: str
    quote: str
    sources: tuple[SourceRef, ...]
    asserted_at: datetime
    asserted_by: str
    negated: bool = False
    subject_time: SubjectTime | None = None
    confidence: float = 0.9
    trust: Trust = Trust.STATED
    entailment: Entailment | None = None
    verified_by: str | None = None
    state: ClaimState = ClaimState.CANDIDATE
    state_reason: str | None = None
    state_at: datetime | None = None
    fact: str | None = None
    version: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Refuse one without parts, words or sources."""
        for name in ("subject", "predicate", "object"):
            part: str = getattr(self, name)
            if not part.strip() or len(part) > LONGEST_PART or len(part.splitlines()) > 1:
                raise InvalidContentError(field=name, problem=f"write one line of 1 to {LONGEST_PART} characters")
        if not self.quote.strip():
            raise InvalidContentError(field="quote", problem="give the words that say it")
        if not self.sources:
            raise InvalidContentError(field="sources", problem="name the entry or the turn that says it")
        if not 0.0 <= self.confidence <= 1.0:
            raise InvalidContentError(field="confidence", problem="give a number from 0 to 1")
        object.__setattr__(self, "sources", tuple(sorted(set(self.sources))))

    def __str__(self) -> str:
        return f"{self.subject} {'not ' if self.negated else ''}{self.predicate} {self.object}"

    @property
    def key(self) -> ClaimKey:
        """Subject and predicate, case and spacing aside."""
        return claim_key(self.subject, self.predicate)

    def says_as(self, other: "Claim") -> bool:
        """Tell whether two claims of one key say the same."""
        return (fold_key(self.object), self.negated) == (fold_key(other.object), other.negated)

    def moved(self, to: ClaimState, *, reason: str, at: datetime) -> "Claim":
        """Return it in another state.

        Raises:
            ForbiddenTransitionError: a claim in this state does not go there.
        """
        if to not in _TRANSITIONS[self.state]:
            raise ForbiddenTransitionError(record_id=self.id, state=self.state, wanted=to)
        return replace(self, state=to, state_reason=reason, state_at=at)


def claim_key(subject: str, predicate: str) -> ClaimKey:
    """Return what claims about the same thing share.

    Example:
        >>> claim_key("Ana ", "Works_At") == claim_key("ana", "works_at")
        True
    """
    return fold_key(subject), predicate.strip().casefold()


def independent_sources(claims: Iterable[Claim]) -> int:
    """Count the different entries and turns that say it."""
    return len({source for one in claims for source in one.sources})
