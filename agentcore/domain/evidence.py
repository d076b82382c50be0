"""Defines where a text comes from: pointers to its sources, and the sentences that it rests on."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from agentcore.errors import InvalidContentError

MAX_SENTENCE = 300
"""Longest sentence that is kept as evidence, in characters."""
MAX_EVIDENCE = 20
"""Most pieces of evidence that one entry keeps: the earliest and the latest, half of each."""


class SourceKind(StrEnum):
    """What a source reference points to."""

    ENTRY = "entry"
    TURN = "turn"
    FEEDBACK = "feedback"
    DOCUMENT = "document"
    CLAIM = "claim"
    """Of questions alone: no entry rests on a claim, but on the words that it was taken from."""


@dataclass(frozen=True, slots=True, order=True)
class SourceRef:
    """A pointer to the record an entry was derived from.

    Example:
        >>> str(SourceRef.parse("turn:4f00c2"))
        'turn:4f00c2'
    """

    kind: SourceKind
    id: str

    @classmethod
    def parse(cls, text: str) -> "SourceRef":
        """Read `kind:id`."""
        kind, _, record_id = text.partition(":")
        return cls(SourceKind(kind), record_id)

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}"


class EvidenceVerdict(StrEnum):
    """How it is known that a text says what its evidence says; in the order from strong to weak."""

    PROVEN = "proven"
    """The text is put together from whole sentences of the evidence, or is its very sentence."""
    VERBATIM = "verbatim"
    """The sentence was kept as it was said, since nothing shorter could be shown to be true."""
    VERIFIED = "verified"
    """A verifier read the text beside the evidence and quoted where it stands."""
    UNVERIFIED = "unverified"
    """Nobody has read the text beside its evidence."""


_WEAKER_LAST = {verdict: rank for rank, verdict in enumerate(EvidenceVerdict)}


def weakest(verdicts: Iterable[EvidenceVerdict]) -> EvidenceVerdict:
    """Return the weakest of *verdicts*; unverified for none.

    Example:
        >>> weakest([EvidenceVerdict.PROVEN, EvidenceVerdict.VERIFIED]).value
        'verified'
    """
    return max(verdicts, key=_WEAKER_LAST.__getitem__, default=EvidenceVerdict.UNVERIFIED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One sentence that an entry rests on; it stays with the entry when its turn goes.

    Args:
        source: The turn, entry, piece of feedback or document that the sentence stands in.
        speaker: Who said it, where the source gives a name.
        said_at: When it was said; aware, kept in UTC.
        sentence: The exact words, 1 to 300 characters (see `exact_words`).
        verdict: How it is known that the entry says what the sentence says.
        written_by: The model that wrote the entry's text, or chose this sentence for it; empty where no model did.
        verified_by: The model that verified it, `host` for what is proven or verbatim; empty if unverified.
        round: The round of the exchange that decided, counted from 1; 0 where none did.

    Raises:
        InvalidContentError: the sentence is blank or too long, the instant has no time zone, or the round is negative.

    Example:
        >>> moved = Evidence(
        ...     source=SourceRef.parse("turn:4f00c2"), speaker="Ana", said_at=datetime(2025, 5, 1, tzinfo=UTC),
        ...     sentence="I moved to Lisbon.", verdict=EvidenceVerdict.VERIFIED, verified_by="a-model", round=2)
        >>> moved.verdict.value
        'verified'
    """

    source: SourceRef
    speaker: str | None = None
    said_at: datetime
    sentence: str
    verdict: EvidenceVerdict = EvidenceVerdict.UNVERIFIED
    written_by: str = ""
    verified_by: str = ""
    round: int = 0

    def __post_init__(self) -> None:
        """Check the ranges, bring the instant to UTC and an empty name to None."""
        if not self.sentence.strip() or len(self.sentence) > MAX_SENTENCE:
            problem = f"its sentence has {len(self.sentence):,} characters; give 1 to {MAX_SENTENCE} with a visible one"
            raise InvalidContentError(field="evidence", problem=problem)
        if self.said_at.tzinfo is None:
            problem = f"{self.said_at.isoformat()} has no time zone; give one, such as UTC"
            raise InvalidContentError(field="evidence", problem=problem)
        if self.round < 0:
            raise InvalidContentError(field="evidence", problem=f"round {self.round} is below 0")
        object.__setattr__(self, "said_at", self.said_at.astimezone(UTC))
        object.__setattr__(self, "speaker", self.speaker or None)

    @property
    def is_verified_by_its_writer(self) -> bool:
        """Whether one model both wrote the text and read it beside its evidence."""
        is_known = self.verdict is EvidenceVerdict.VERIFIED and bool(self.written_by)
        return is_known and self.written_by == self.verified_by


def exact_words(sentence: str) -> str:
    """Return the beginning of *sentence* that evidence can hold, cut between words where it is too long.

    Example:
        >>> exact_words("I moved to Lisbon."), len(exact_words("again " * 99))
        ('I moved to Lisbon.', 299)
    """
    words = sentence.strip()
    if len(words) <= MAX_SENTENCE:
        return words
    beginning = words[: MAX_SENTENCE + 1]
    whole, _, _ = beginning.rpartition(" ")
    return whole.rstrip() or words[:MAX_SENTENCE]


def with_verdict(
    evidence: Iterable[Evidence],
    verdict: EvidenceVerdict,
    *,
    verified_by: str = "",
    round: int = 0,  # noqa: A002 - the field that it becomes is called so
) -> tuple[Evidence, ...]:
    """Return *evidence* as that of a text that was judged anew, such as a merge or a rewording.

    Args:
        evidence: The sentences that the text rests on.
        verdict: How it is known that the text says what they say.
        verified_by: As of `Evidence`.
        round: As of `Evidence`.

    Example:
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> one = Evidence(source=SourceRef(SourceKind.TURN, "t1"), said_at=said, sentence="I drink tea.")
        >>> [piece.verdict.value for piece in with_verdict([one], EvidenceVerdict.PROVEN, verified_by="host")]
        ['proven']
    """
    return tuple(replace(one, verdict=verdict, verified_by=verified_by, round=round) for one in evidence)


def united_evidence(parts: Iterable[Collection[Evidence]]) -> tuple[Evidence, ...]:
    """Return the union of *parts*, earliest said first; order, grouping and repetition of them change nothing.

    A sentence that comes with several verdicts keeps the weakest, so that no union claims more than its parts. Of more
    than 20 sentences the 10 earliest and the 10 latest stay: the first say how a thing came to be known, the last what
    holds now.

    Example:
        >>> said = datetime(2025, 5, 1, tzinfo=UTC)
        >>> turn = SourceRef(SourceKind.TURN, "t1")
        >>> tea, cats = (Evidence(source=turn, said_at=said, sentence=one) for one in ("I drink tea.", "I like cats."))
        >>> united_evidence([[cats], [tea, cats]]) == (tea, cats)
        True
    """
    known: dict[_Place, Evidence] = {}
    for part in parts:
        for one in part:
            place = _place(one)
            other = known.get(place)
            known[place] = one if other is None else max(one, other, key=_weakness)
    kept = sorted(known)
    if len(kept) > MAX_EVIDENCE:
        half = MAX_EVIDENCE // 2
        kept = [*kept[:half], *kept[-half:]]
    return tuple(known[place] for place in kept)


_Place = tuple[datetime, SourceRef, str, str]


def _place(one: Evidence) -> _Place:
    return one.said_at, one.source, one.sentence, one.speaker or ""


def _weakness(one: Evidence) -> tuple[int, int, str, str]:
    # All that can differ between two pieces of one place has a say, so that which of them stays is no matter of order.
    return _WEAKER_LAST[one.verdict], one.round, one.verified_by, one.written_by
