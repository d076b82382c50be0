"""What a model writes of turns: cleaned, and held against what was said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar, Final, Self, TypeVar, cast

import regex

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceRef
from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_content, clean_tags
from agentcore.errors import InvalidContentError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.guards.wording import sentences_of
from dream.passes.conversation.evidence import TurnEvidence
from dream.passes.conversation.sentences import kept_sentences
from dream.passes.exchange_state import Item, Settled
from dream.passes.second_reading import evidence_text

_LONGEST: Final = 2_000
"""A statement longer than this is no statement but a transcript."""
MOST_WORDS: Final = 25
"""Words of a statement at most: a longer one makes more than one claim."""
_MOST_CHARACTERS: Final = 300
_QUOTED: Final = regex.compile(
    r"[\"\u201c\u201d\u201e\u00ab\u00bb\u300c][^\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]*[\"\u201c\u201d\u00ab\u00bb\u300d]"
)
_STOPS: Final = regex.compile(r"[.!?\u2026\u061f\u3002\uff01\uff1f]")
_MOST_TAGS: Final = 12
DEFAULT_BASE: Final = 0.5
_STEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class StatementRules:
    """What statements are judged by.

    Args:
        vocabulary: Which words are ordinary.
        protected: Categories that no pass changes.
        protect_importance: Importance from which an entry is protected; a statement stays below.
        shown: All texts that the model was shown: what stands there is not made up.
        reads_all: Whether what is proven is read a second time as well, since there are off-limits topics.
    """

    vocabulary: Vocabulary
    protected: Sequence[str]
    protect_importance: float
    shown: Sequence[EvidenceText] = ()
    reads_all: bool = False


def speaker_of(turn: Turn) -> str:
    """Return who spoke, in words for people."""
    return turn.speaker or f"the {turn.role}"


def reason_of(evidence: TurnEvidence) -> str:
    """Return why something is remembered, in words for people."""
    turn = evidence.quoted
    day = f"{turn.occurred_at.day} {turn.occurred_at:%B %Y}"
    return f'said by {speaker_of(turn)} on {day}: "{shortened(evidence.quote)}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStatement:
    """A checked item of an answer that its turns may bear out.

    Args:
        number: Its place in the answer.
        label: What refusals call it.
        content: What it says.
        category: Where it goes.
        tags: Its tags.
        base: Its importance, below what protects.
        subject_time: The time it is about, if that follows from its turns.
        evidence: What it rests on.
        metadata: String pairs that its entry carries.
        notes: What the host repaired: names of counts in the report.
    """

    level: ClassVar[Level]
    """The level of its entry."""

    number: int
    label: str
    content: str
    category: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None = None
    evidence: TurnEvidence
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to what it rests on, sorted."""
        return self.evidence.sources

    @property
    def texts(self) -> tuple[str, ...]:
        """What it says, in all words by which a person may have asked to forget it."""
        return (self.content,)

    def settled(self, how: Settled[Self]) -> Self:
        """Return it with the sentences that show it."""
        kept = kept_sentences(
            self.evidence.lines(),
            (self.evidence.quote, *how.quotes),
            how.verdict,
            written_by=how.written_by,
            verified_by=how.verified_by,
            number=how.round,
        )
        return replace(self, evidence=replace(self.evidence, sentences=kept))

    def reason(self) -> str:
        """Return why it is remembered, in words for people."""
        return reason_of(self.evidence)

    def entry(self, entry_id: str, as_of: datetime) -> MemoryEntry:
        """Return the entry it makes if nobody knows it yet: one observation, however many turns tell it."""
        said = [turn.occurred_at for turn in self.evidence.turns]
        return MemoryEntry(
            id=entry_id,
            scope=self.evidence.quoted.scope,
            content=self.content,
            category=self.category,
            tags=self.tags,
            base=self.base,
            created_at=min(said),
            recorded_at=as_of,
            last_seen_at=min(max(said), as_of),
            subject_time=self.subject_time,
            metadata=self.metadata,
            level=self.level,
            sources=self.sources,
            evidence=self.evidence.sentences,
            trust=self.evidence.trust,
        )


S = TypeVar("S", bound=TurnStatement)


def statement(text: str, label: str) -> str | Refusal:
    """Return *text* on one line as it can be stored, or why it cannot."""
    try:
        content = clean_content(" ".join(text.split()))
    except InvalidContentError as error:
        return Refusal(Refused.INVALID_CONTENT, f"{label}: {error}")
    if len(content) > _LONGEST:
        return Refusal(Refused.INVALID_CONTENT, f"{label} has {len(content):,} characters, not a statement")
    return content


def secret_told(label: str, source: str, *texts: str) -> Refusal | None:
    """Return a refusal if one of *texts* holds a secret.

    Args:
        label: What the refusal calls the item.
        source: The record it came from, such as `turn 4f00c2`.
        texts: What would be stored.
    """
    secret = next((found for found in map(secret_in, texts) if found is not None), None)
    # The refusal is kept and shown, so it names the record and never the text.
    return None if secret is None else Refusal(Refused.SECRET, f"{label} from {source} looks like a {secret}")


def protected(label: str, category: str, terms: StatementRules) -> Refusal | None:
    """Return a refusal if no pass may write into *category*."""
    return (
        Refusal(Refused.PROTECTED_CATEGORY, f"{label} in {category}") if is_under(category, terms.protected) else None
    )


def judged_by_words(value: S, rules: StatementRules) -> Item[S]:
    """Return a statement with the verdict of the words it rests on; two claims in one, or a long one, are refused.

    Args:
        value: It.
        rules: What it is judged by.
    """
    lines = value.evidence.lines()
    said = [evidence_text(line) for line in lines if not line.is_beside]
    found = judge(value.content, said, beside=rules.shown, vocabulary=rules.vocabulary)
    assertion = Assertion(text=value.content, evidence=lines)
    refusal = split_up(value.label, value.content)
    if refusal is None and found.verdict is Verdict.REFUTED:
        refusal = Refusal(Refused.INVENTED_DETAIL, f"{value.label}: {', '.join(map(str, found.details))}")
    if refusal is not None:
        refused = refusal.at(value.number)
        return Item(number=value.number, value=value, verdict=Verdict.REFUTED, assertion=assertion, refusal=refused)
    is_read = rules.reads_all or found.verdict is Verdict.UNDECIDED
    return Item(number=value.number, value=value, verdict=found.verdict, assertion=assertion if is_read else None)


def split_up(label: str, content: str) -> Refusal | None:
    """Return a refusal of a statement that makes more than one claim, as far as its length and its stops tell."""
    # What somebody is quoted with may have stops of its own.
    pieces = sentences_of(_QUOTED.sub(lambda said: _STOPS.sub(" ", said.group()), content))
    # A stop behind a number may belong to it, as in "14. April".
    words, sentences = len(content.split()), 1 + sum(not one[-2:-1].isdigit() for one in pieces[:-1])
    if words <= MOST_WORDS and len(content) <= _MOST_CHARACTERS and sentences == 1:
        return None
    return Refusal(Refused.SPLIT_IT, f"{label} has {words} words in {sentences} sentences")


def usable_tags(given: object) -> tuple[str, ...]:
    """Return the words among what stood where tags are due, without secrets."""
    values = cast("list[object]", given) if isinstance(given, list) else []
    tags = (value.lower() for value in values if isinstance(value, str) and secret_in(value) is None)
    return clean_tags(tag.encode("utf-8", "replace").decode() for tag in tags)[:_MOST_TAGS]


def base_below(given: object, protect_importance: float, *, least: float = 0.0, most: float = 1.0) -> float:
    """Return an importance below the one that protects: no model makes its own words undroppable.

    Args:
        given: Whatever stood there; 0.5 unless it is a number.
        protect_importance: What it stays below.
        least: The lower end of the scale.
        most: The upper end.
    """
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    wanted = float(cast("float", given)) if is_number else DEFAULT_BASE
    return max(0.0, min(max(least, min(wanted, most)), protect_importance - _STEP))


def is_under(category: str, prefixes: Sequence[str]) -> bool:
    """Tell whether a category is one of *prefixes* or below it, whatever the case.

    Example:
        >>> is_under("Episodes/task", ["episodes"]), is_under("episodes-old", ["episodes"])
        (True, False)
    """
    folded = category.casefold()
    roots = [prefix.casefold().rstrip("/") for prefix in prefixes]
    return any(folded == root or folded.startswith(f"{root}/") for root in roots)


def shortened(quote: str, most: int = 200) -> str:
    """Return *quote*, cut where it is long."""
    return quote if len(quote) <= most else f"{quote[: most - 1].rstrip()}…"
