"""Defines a hypothesis: what might be true of two memories together, kept beside memory until a person decides."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from types import MappingProxyType
from typing import Final

from agentcore.domain.conclusion import Confidence, Premise
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import Trust
from agentcore.domain.scope import Scope
from agentcore.errors import ForbiddenTransitionError, InvalidContentError

KEPT_FOR: Final = timedelta(days=30)
"""How long a hypothesis waits for a decision before it goes stale."""
LONGEST_FEEDBACK: Final = 1_024
"""Characters of a person's feedback."""
PLAUSIBLE: Final = frozenset({"likeness", "rarity", "proposed"})
"""Factors that speak for a relation; the others tell how well founded that is."""
_PROPOSED: Final = "proposed"
"""The factor of a likelihood that somebody gave."""
_SUPPORT: Final = "support"
FEEDBACK_LABEL: Final = "dream_feedback"
"""Tag of the entry that holds the words by which somebody confirmed a hypothesis, and how its source begins."""
_LONGEST_TEXT: Final = 1_000
_MEDIUM: Final = 0.4
_HIGH: Final = 0.7


class HypothesisState(StrEnum):
    """How far a hypothesis has come."""

    PROPOSED = "proposed"
    """It waits for a decision."""
    REINFORCED = "reinforced"
    """Somebody wants to keep it in sight, or its sources were found intact; that proves nothing."""
    STALE = "stale"
    """A source is gone or says something else, it expired, or somebody set it aside."""
    REJECTED = "rejected"
    """Somebody said that it is wrong; it is not proposed again."""
    PROMOTED = "promoted"
    """Somebody confirmed it in their own words, which then went the way of every memory."""


VISIBLE: Final = frozenset({HypothesisState.PROPOSED, HypothesisState.REINFORCED})
"""States in which recall names it beside its results."""


class HypothesisDecision(StrEnum):
    """What somebody decides about a hypothesis."""

    REINFORCE = "reinforce"
    STALE = "stale"
    REJECT = "reject"
    PROMOTE_CANDIDATE = "promote_candidate"


_BY_DECISION: Final = MappingProxyType(
    {
        HypothesisDecision.REINFORCE: HypothesisState.REINFORCED,
        HypothesisDecision.STALE: HypothesisState.STALE,
        HypothesisDecision.REJECT: HypothesisState.REJECTED,
        HypothesisDecision.PROMOTE_CANDIDATE: HypothesisState.PROMOTED,
    }
)
_OPEN: Final = frozenset(HypothesisState) - {HypothesisState.PROPOSED}
TRANSITIONS: Final[Mapping[HypothesisState, frozenset[HypothesisState]]] = MappingProxyType(
    {
        HypothesisState.PROPOSED: _OPEN,
        HypothesisState.REINFORCED: _OPEN - {HypothesisState.REINFORCED},
        HypothesisState.STALE: frozenset({HypothesisState.REINFORCED, HypothesisState.REJECTED}),
        HypothesisState.REJECTED: frozenset[HypothesisState](),
        HypothesisState.PROMOTED: frozenset[HypothesisState](),
    }
)
"""To which states each may go; an undo alone goes back."""


class HypothesisSourceKind(StrEnum):
    """What a hypothesis rests on."""

    ENTRY = "entry"
    TURN = "turn"
    CLAIM = "claim"
    HYPOTHESIS = "hypothesis"


@dataclass(frozen=True, slots=True, order=True)
class HypothesisSource:
    """One record that a hypothesis rests on.

    `SourceRef` knows no hypotheses, so that no entry can name one as its source.

    Example:
        >>> str(HypothesisSource.parse("claim:4f00c2"))
        'claim:4f00c2'
    """

    kind: HypothesisSourceKind
    id: str

    @classmethod
    def parse(cls, text: str) -> "HypothesisSource":
        """Read `kind:id`."""
        kind, _, record_id = text.partition(":")
        return cls(HypothesisSourceKind(kind), record_id)

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Factor:
    """One number, 0 to 1, that a rank was computed from; ranks are no probabilities.

    Example:
        >>> str(Factor.parse("rarity=0.83"))
        'rarity=0.83'
    """

    name: str
    value: float

    @classmethod
    def parse(cls, text: str) -> "Factor":
        """Read `name=value`."""
        name, _, value = text.rpartition("=")
        return cls(name, float(value))

    def __str__(self) -> str:
        return f"{self.name}={self.value:.4g}"


class Bearing(StrEnum):
    """What a later entry says of a hypothesis."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class WeighedEntry:
    """One entry that came after a hypothesis and was held against it.

    Args:
        entry_id: It.
        text_key: The fold key of its text as it was weighed: one that says something else is to be weighed anew.
        bearing: What it says of the hypothesis.
        counts: Whether it is one more independent piece of evidence for it.
        quote: The words of the entry that say so.
        by: Who read it.
    """

    entry_id: str
    text_key: str
    bearing: Bearing
    counts: bool = False
    quote: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedDecision:
    """One line of the log of decisions.

    Args:
        decision: What was decided.
        by: Who decided, such as `person`; the pass, where a dream did.
        at: When.
        feedback: Their words; empty if they gave none.
    """

    decision: HypothesisDecision
    by: str
    at: datetime
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One guess about records of one scope; never part of what is recalled, and evidence for nothing.

    Args:
        id: Unique within the scope; `hypothesis_id` makes it of the sources as they were.
        scope: Whose memory: that of its sources.
        hypothesis: What might be true.
        what_if: The question that it asks.
        possible_outcome: What would change if it were true.
        rationale: Why it was proposed.
        question: What to ask somebody to settle it.
        likelihood: Rank from 0 to 1 of how much speaks for it, computed from `factors`.
        confidence: Rank from 0 to 1 of how well founded that is, computed in the same way.
        source_refs: What it rests on, sorted.
        created_at: When it was proposed.
        created_by: The pass that proposed it, or who else did.
        expires_at: When it goes stale by itself.
        content_hash: What tells equal ones.
        factors: What the ranks were computed from.
        premises: The entries among the sources as they were.
        quotes: What of the sources it was proposed for, word for word.
        generator: What worded it: `shared-terms`, `chain`, `person`, or the model's name.
        support: Independent pieces of evidence that came later and bear on it; surviving a night is none.
        touching: What came later and touches it, whether or not it was counted.
        weighed: What of that was held against it, and what it says of it.
        trust: The least of its sources.
        state: How far it has come.
        state_reason: Why it is there.
        state_at: Since when.
        evaluated_at: When a dream last looked at its sources.
        decisions: Who decided what, when and in which words.
        fragment: The entry with the words that confirmed it.
        version: Optimistic version.
    """

    id: str
    scope: Scope
    hypothesis: str
    what_if: str
    possible_outcome: str
    rationale: str
    question: str
    likelihood: float
    confidence: float
    source_refs: tuple[HypothesisSource, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime
    content_hash: str = ""
    factors: tuple[Factor, ...] = ()
    premises: tuple[Premise, ...] = ()
    quotes: tuple[str, ...] = ()
    generator: str = "person"
    support: int = 0
    touching: tuple[SourceRef, ...] = ()
    weighed: tuple[WeighedEntry, ...] = ()
    trust: Trust = Trust.STATED
    state: HypothesisState = HypothesisState.PROPOSED
    state_reason: str | None = None
    state_at: datetime | None = None
    evaluated_at: datetime | None = None
    decisions: tuple[LoggedDecision, ...] = ()
    fragment: str | None = None
    version: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        """Sort the sources, and refuse what is blank, too long, founded on fewer than two, or ranked beyond 0 to 1."""
        object.__setattr__(self, "source_refs", tuple(sorted(set(self.source_refs))))
        if self.weighed:  # a forget finds what was weighed by what touches it
            named = {SourceRef(SourceKind.ENTRY, one.entry_id) for one in self.weighed}
            object.__setattr__(self, "touching", tuple(sorted({*self.touching, *named})))
        if len(self.source_refs) < 2:
            raise InvalidContentError(field="source_refs", problem="a hypothesis rests on two records or more")
        for name in ("hypothesis", "what_if"):
            text: str = getattr(self, name)
            if not text.strip() or len(text) > _LONGEST_TEXT:
                raise InvalidContentError(field=name, problem=f"write 1 to {_LONGEST_TEXT:,} characters")
        for name in ("likelihood", "confidence"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidContentError(field=name, problem="give a number from 0 to 1")
        if not self.content_hash:
            object.__setattr__(self, "content_hash", hash_of(self))

    @property
    def is_visible(self) -> bool:
        """Whether recall names it beside its results."""
        return self.state in VISIBLE

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """The entries and turns it rests on, as guards ask for them."""
        kinds = {HypothesisSourceKind.ENTRY: SourceKind.ENTRY, HypothesisSourceKind.TURN: SourceKind.TURN}
        return tuple(SourceRef(kinds[ref.kind], ref.id) for ref in self.source_refs if ref.kind in kinds)

    def moved(self, to: HypothesisState, *, reason: str, at: datetime) -> "Hypothesis":
        """Return it in another state.

        Raises:
            ForbiddenTransitionError: the table does not allow it.
        """
        if to not in TRANSITIONS[self.state]:
            raise ForbiddenTransitionError(record_id=self.id, state=self.state, wanted=to)
        return replace(self, state=to, state_reason=reason, state_at=at)

    def with_weighed(self, weighed: Iterable[WeighedEntry]) -> "Hypothesis":
        """Return it with these weighed entries and no others.

        Each piece of evidence that counts halves what its likelihood lacks to 1; nothing else moves a likelihood.

        Example:
            >>> from datetime import UTC
            >>> said = datetime(2025, 5, 1, tzinfo=UTC)
            >>> guess = Hypothesis(id="h", scope=Scope.default(), hypothesis="It rains.", what_if="What if?",
            ...     possible_outcome="", rationale="", question="", likelihood=0.5, confidence=0.5, created_at=said,
            ...     source_refs=tuple(map(HypothesisSource.parse, ("entry:a", "entry:b"))), created_by="person",
            ...     expires_at=said + KEPT_FOR)
            >>> piece = WeighedEntry(entry_id="c", text_key="k", bearing=Bearing.SUPPORTS, counts=True)
            >>> (held := guess.with_weighed([piece])).likelihood, held.support, held.with_weighed([]).likelihood
            (0.75, 1, 0.5)
        """
        kept = tuple(sorted(weighed))
        pieces = sum(one.counts for one in kept)
        factors = tuple(one for one in self.factors if one.name != _SUPPORT)
        if not any(one.name in PLAUSIBLE for one in factors):
            factors = (*factors, Factor(_PROPOSED, self.likelihood))  # so that it can be taken back
        likely = rank_of(one for one in factors if one.name in PLAUSIBLE)
        told = (*factors, Factor(_SUPPORT, round(1.0 - 0.5**pieces, 4))) if pieces else factors
        return replace(
            self,
            weighed=kept,
            support=pieces,
            factors=told,
            likelihood=round(1.0 - (1.0 - likely) * 0.5**pieces, 4),
        )

    def decided(self, logged: LoggedDecision, *, reason: str) -> "Hypothesis | None":
        """Return it after a decision; None if it stands as decided already.

        Raises:
            ForbiddenTransitionError: the table does not allow it.
        """
        to = _BY_DECISION[logged.decision]
        if to is self.state:
            return None
        return replace(self.moved(to, reason=reason, at=logged.at), decisions=(*self.decisions, logged))


def level_of(rank: float) -> Confidence:
    """Return a rank as people read it.

    Example:
        >>> [level_of(rank).value for rank in (0.1, 0.5, 0.9)]
        ['low', 'medium', 'high']
    """
    return Confidence.HIGH if rank >= _HIGH else Confidence.MEDIUM if rank >= _MEDIUM else Confidence.LOW


def rank_of(factors: Iterable[Factor]) -> float:
    """Return the mean of factors, 0 of none.

    Example:
        >>> rank_of([Factor("rarity", 0.5), Factor("independence", 1.0)])
        0.75
    """
    values = [min(1.0, max(0.0, one.value)) for one in factors]
    return round(sum(values) / len(values), 4) if values else 0.0


def hash_of(hypothesis: Hypothesis) -> str:
    """Return what tells equal hypotheses: their texts and sources."""
    told = (hypothesis.hypothesis, hypothesis.what_if, hypothesis.possible_outcome)
    return blake2b("\x1f".join([*told, *map(str, hypothesis.source_refs)]).encode(), digest_size=16).hexdigest()


def hypothesis_id(sources: Iterable[tuple[HypothesisSource, str]]) -> str:
    """Return the id of a hypothesis about sources that say just this.

    Args:
        sources: Each with the key of its text: another text is another pair.

    Example:
        >>> pair = [(HypothesisSource.parse("entry:a"), "k"), (HypothesisSource.parse("entry:b"), "l")]
        >>> hypothesis_id(pair) == hypothesis_id(reversed(pair))
        True
    """
    told = sorted(f"{ref}@{key}" for ref, key in sources)
    return blake2b("\x1f".join(told).encode(), digest_size=16).hexdigest()
