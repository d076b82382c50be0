"""What a model writes of turns: cleaned, and held against what was said."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry, SourceRef
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import clean_content, clean_tags
from agentcore.errors import InvalidContentError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.clauses import are_alike, content_words, names_in
from dream.guards.contradictions import EvidenceText, contradiction
from dream.guards.detail import DetailKind
from dream.guards.details import DocumentFrequency
from dream.guards.languages import language_of_all
from dream.guards.merge_coverage import coverage
from dream.guards.names import Vocabulary, exchanged_nouns
from dream.guards.secrets import secret_in
from dream.passes.conversation.evidence import EvidenceTimes, TurnEvidence
from dream.passes.conversation.neighbours import not_near

_LONGEST: Final = 2_000
"""A statement longer than this is no statement but a transcript."""
_MOST_TAGS: Final = 12
_DEFAULT_BASE: Final = 0.5
_STEP: Final = 0.01


@dataclass(frozen=True, slots=True)
class StatementRules:
    """What statements are judged by.

    Args:
        vocabulary: Which words are ordinary.
        document_frequency: How many entries hold a term.
        protected: Categories that no pass changes.
        protect_importance: Importance from which an entry is protected; a statement stays below.
    """

    vocabulary: Vocabulary
    document_frequency: DocumentFrequency
    protected: Sequence[str]
    protect_importance: float


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
    """A checked item of an answer that its turns bear out.

    Args:
        number: Its place in the answer.
        label: What refusals call it.
        content: What it says.
        category: Where it goes.
        tags: Its tags.
        base: Its importance, below what protects.
        subject_time: The time it is about, if that follows from its turns.
        evidence: What it rests on.
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
    subject_time: SubjectTime | None
    evidence: TurnEvidence
    notes: tuple[str, ...]

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns, sorted."""
        return self.evidence.sources

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
            level=self.level,
            sources=self.sources,
            trust=self.evidence.trust,
        )


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


def made_up(
    label: str,
    content: str,
    category: str,
    *,
    evidence: TurnEvidence,
    told: EvidenceTimes,
    terms: StatementRules,
    also: Sequence[str] = (),
) -> Refusal | None:
    """Return a refusal that names what no source holds or a source denies; what the statement leaves out is no matter.

    Args:
        label: What the refusal calls the item.
        content: The statement.
        category: Where it goes.
        evidence: Its turns; numbers, dates and acronyms may come from the turns beside them.
        told: The times they tell.
        terms: What it is judged by.
        also: What else people said of it.
    """
    said = [f"{turn.speaker or turn.role.title()}: {turn.content}" for turn in evidence.turns]
    found = coverage(
        [*said, *evidence.taken_up, *evidence.denied(content), *also, " ".join((told.sentences(), *evidence.partners))],
        content,
        terms.vocabulary,
        category=category,
        document_frequency=terms.document_frequency,
    )
    # What is denied is judged below: there a clause may deny one thing and affirm another.
    details = [detail for detail in found.invented if detail.kind is not DetailKind.NEGATION]
    invented = [str(detail) for detail in not_near(details, evidence.near, terms.vocabulary)]
    against = contradiction(content, [*evidence.said, *map(EvidenceText, also)])
    if language_of_all([content, *said]) == "de":
        invented += [
            f"{DetailKind.NAME.value} {noun!r}" for noun in exchanged_nouns(content, [*said, *evidence.taken_up, *also])
        ]
    if against is not None:
        invented.append(f"{DetailKind.NEGATION.value}: {against}")
    if invented:
        return Refusal(Refused.INVENTED_DETAIL, f"{label}: {', '.join(invented)}")
    if rests_on_others(content, evidence, also):
        return Refusal(Refused.NOT_EVIDENCE, f"{label} rests on words of the assistant that no user confirmed")
    return None


def rests_on_others(content: str, evidence: TurnEvidence, also: Sequence[str]) -> bool:
    """Tell whether more of a statement stands in what nobody confirmed than in what people said.

    Nobody confirmed the other words of an assistant, nor a question that was answered by neither yes nor no.
    """
    people = "\n".join(
        (*(turn.content for turn in evidence.heard), *evidence.taken_up, *evidence.denied(content), *also)
    )
    unanswered = evidence.unanswered(content)
    for question in unanswered:
        people = people.replace(question, "")
    told = content_words(people)
    others = content_words("\n".join((*(turn.content for turn in evidence.turns), *unanswered)))
    words = content_words(content) - names_in(content)
    heard = {word for word in words if any(are_alike(word, other) for other in told)}
    # Who answers in other words, as in "we spent all day there", need not say each word of the question again.
    least = len(heard) + (bool(heard) and all(turn.role == "user" for turn in evidence.turns))
    return sum(any(are_alike(word, other) for other in others) for word in words - heard) > least


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
    wanted = float(cast("float", given)) if is_number else _DEFAULT_BASE
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
