"""A fact: what is left of an item of the answer once the host has checked and computed all it can."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, cast

import regex

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry, SourceKind, SourceRef, Trust
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import DEFAULT_CATEGORY, clean_category, clean_content, clean_tags
from agentcore.errors import InvalidContentError
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.coverage import coverage
from dream.guards.rare_terms import DocumentFrequency
from dream.guards.secrets import secret_in
from dream.guards.vocabulary import Vocabulary
from dream.passes.fact_mining.answer import Item
from dream.passes.fact_mining.evidence import Evidence
from dream.passes.fact_mining.times import ToldTimes, subject_time_of

_LONGEST: Final = 2_000
"""A statement longer than this is no statement but a transcript."""
_MOST_TAGS: Final = 12
_DEFAULT_BASE: Final = 0.5
_STEP: Final = 0.01
_RESERVED: Final = ("anti-patterns", "user-preferences/inferred")
"""Categories that other passes write."""
_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")


@dataclass(frozen=True, slots=True)
class Terms:
    """What facts are judged by.

    Args:
        vocabulary: Which words are ordinary.
        document_frequency: How many entries hold a term.
        protected: Categories that no pass changes.
        protect_importance: Importance from which an entry is protected; a fact stays below.
    """

    vocabulary: Vocabulary
    document_frequency: DocumentFrequency
    protected: Sequence[str]
    protect_importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A checked fact.

    Args:
        number: Its place in the answer.
        content: The statement.
        category: Where it goes.
        tags: Its tags.
        base: Its importance, below what protects.
        subject_time: The time it is about, if that follows from its turns.
        evidence: What it rests on.
        notes: What the host repaired: names of counts in the report.
    """

    number: int
    content: str
    category: str
    tags: tuple[str, ...]
    base: float
    subject_time: SubjectTime | None
    evidence: Evidence
    notes: tuple[str, ...]

    @property
    def sources(self) -> tuple[SourceRef, ...]:
        """References to its turns, sorted."""
        return tuple(sorted(SourceRef(SourceKind.TURN, turn.id) for turn in self.evidence.turns))

    @property
    def trust(self) -> Trust:
        """The least trust of its turns; a machine never calls a fact confirmed."""
        return min([Trust.STATED, *(turn.trust for turn in self.evidence.turns)])

    def reason(self) -> str:
        """Return why it is remembered, in words for people."""
        turn = self.evidence.quoted
        day = f"{turn.occurred_at.day} {turn.occurred_at:%B %Y}"
        return f'said by {speaker_of(turn)} on {day}: "{_shortened(self.evidence.quote)}"'

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
            level=Level.EXPLICIT,
            sources=self.sources,
            trust=self.trust,
        )


def speaker_of(turn: Turn) -> str:
    """Return who spoke, in words for people."""
    return turn.speaker or f"the {turn.role}"


def fact_of(item: Item, evidence: Evidence, terms: Terms) -> Fact | Refusal:
    """Check what a fact says against its turns; return it, or why it must not be remembered."""
    try:
        content = clean_content(" ".join(item.content.split()))
    except InvalidContentError as error:
        return Refusal(Refused.INVALID_CONTENT, f"fact {item.number}: {error}")
    if len(content) > _LONGEST:
        return Refusal(Refused.INVALID_CONTENT, f"fact {item.number} has {len(content):,} characters, not a statement")
    secret = secret_in(content) or secret_in(evidence.quote)
    if secret is not None:
        # The refusal is kept and shown, so it names the turn and never the text.
        return Refusal(Refused.SECRET, f"fact {item.number} from turn {evidence.quoted.id} looks like a {secret}")
    category, repaired = _category(item.category)
    if _is_under(category, terms.protected):
        return Refusal(Refused.PROTECTED_CATEGORY, f"fact {item.number} in {category}")
    told = ToldTimes.of(evidence)
    invented = _invented(content, category, evidence, told, terms)
    if invented:
        return Refusal(Refused.INVENTED_DETAIL, f"fact {item.number}: {', '.join(invented)}")
    subject_time, dropped = subject_time_of(item.subject_time, told)
    return Fact(
        number=item.number,
        content=content,
        category=category,
        tags=_tags(item.tags),
        base=_base(item.importance, terms.protect_importance),
        subject_time=subject_time,
        evidence=evidence,
        notes=(*(["categories_repaired"] if repaired else []), *(["subject_times_dropped"] if dropped else [])),
    )


def _invented(content: str, category: str, evidence: Evidence, told: ToldTimes, terms: Terms) -> list[str]:
    """Return details that no cited turn holds; what the fact leaves out is no matter."""
    said = [f"{turn.speaker or turn.role.title()}: {turn.content}" for turn in evidence.turns]
    found = coverage(
        [*said, " ".join((told.sentences(), *evidence.partners))],
        content,
        terms.vocabulary,
        category=category,
        document_frequency=terms.document_frequency,
    )
    return [str(detail) for detail in found.invented]


def _category(given: object) -> tuple[str, bool]:
    """Return a category that can be stored, and whether it is another than the model gave."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return DEFAULT_CATEGORY, False
    cleaned = clean_category(given).lower() if isinstance(given, str) and given.isprintable() else ""
    usable = _CATEGORY.fullmatch(cleaned) is not None and not _is_under(cleaned, _RESERVED)
    return (cleaned, cleaned != given) if usable else (DEFAULT_CATEGORY, True)


def _tags(given: object) -> tuple[str, ...]:
    values = cast("list[object]", given) if isinstance(given, list) else []
    tags = (value.lower() for value in values if isinstance(value, str) and secret_in(value) is None)
    return clean_tags(tag.encode("utf-8", "replace").decode() for tag in tags)[:_MOST_TAGS]


def _base(given: object, protect_importance: float) -> float:
    """Return an importance below the one that protects: no model makes its own words undroppable."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    wanted = float(cast("float", given)) if is_number else _DEFAULT_BASE
    return max(0.0, min(wanted, protect_importance - _STEP))


def _is_under(category: str, prefixes: Sequence[str]) -> bool:
    folded = category.casefold()
    roots = [prefix.casefold().rstrip("/") for prefix in prefixes]
    return any(folded == root or folded.startswith(f"{root}/") for root in roots)


def _shortened(quote: str, most: int = 200) -> str:
    return quote if len(quote) <= most else f"{quote[: most - 1].rstrip()}…"
