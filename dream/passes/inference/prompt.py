"""Asks what follows from entries, and reads the answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import BeforeValidator, Strict, WithJsonSchema

from agentcore.domain.card import MOST_LINES, CardLine, in_order
from agentcore.domain.conclusion import Pattern, Premise
from agentcore.domain.conversation import Turn
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.question import Question, QuestionCause, QuestionState
from agentcore.llm.chat import ChatRequest, ResponseFormat, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.reasons import Refused
from dream.domain.rounds import Round, RoundKind, Version
from dream.domain.step import Batch
from dream.passes.answers import (
    NULLABLE_TEXT,
    AnswerItem,
    Handle,
    HandleList,
    Handles,
    Otherwise,
    answer_form,
    choice_of,
    item_schema,
    text_or_none,
)
from dream.passes.inference.lookups import SearchItem
from dream.passes.inference.premises import premises_of
from dream.passes.prompts import build_request, fenced, quoted
from dream.passes.protocol import ModelContext

_LONGEST_LINE: Final = 400
"""Characters of a text that are shown."""
MOST_OPEN: Final = 10
"""Open contradictions that are shown with one question at most, the oldest first."""
_OPEN: Final = (
    "Contradictions that the person is asked about already: do not ask again. If a new entry tells which side holds, "
    "name it and the side that cannot hold as a `contradiction`; conclude nothing that takes a side:"
)


class DeductionKind(StrEnum):
    """What a deduction is."""

    CHANGE = "change"
    IMPLICATION = "implication"
    CONTRADICTION = "contradiction"


class DeductionItem(AnswerItem):
    """One item of `conclusions`."""

    called: ClassVar[str] = "conclusion {}"

    kind: Annotated[
        DeductionKind,
        WithJsonSchema(choice_of(DeductionKind)),
        Otherwise(Refused.INVALID_CONTENT, "{} is no change, implication or contradiction"),
    ]
    existing: Handle = None
    """The handle of the conclusion that it is, if that lost what it rested on and follows from these premises."""
    content: Annotated[str, Strict(), Otherwise(Refused.INVALID_CONTENT, "{} has no text")]
    premises: Annotated[
        Handles, Otherwise(Refused.NO_SOURCES, "{} names no premise", "{} lists something that is no handle")
    ]


class PatternItem(AnswerItem):
    """One item of `patterns`."""

    called: ClassVar[str] = "pattern {}"

    existing: Handle = None
    """The handle of the pattern that it is, if it is known."""
    content: Annotated[str | None, BeforeValidator(text_or_none), WithJsonSchema(dict(NULLABLE_TEXT))] = None
    pattern: Annotated[
        Pattern | None,
        BeforeValidator(lambda given: given or None),
        WithJsonSchema(choice_of(Pattern)),
        Otherwise(Refused.INVALID_CONTENT, "{} is no sort of pattern that there is"),
    ] = None
    premises: Annotated[
        Handles, Otherwise(Refused.NO_SOURCES, "{} names no premise", "{} lists something that is no handle")
    ]
    against: Annotated[
        HandleList,
        BeforeValidator(lambda given: () if given is None else given),
        Otherwise(Refused.UNKNOWN_HANDLE, "{} lists something that is no handle"),
    ] = ()


_SEARCH: Final = """\
- "search": [] or, to see more first, up to three of {"words", "after", "before", "in"}; then the other list is []."""
_NO_SEARCH: Final = """\
- "search": [], since nothing more can be looked up."""

_DEDUCTION: Final = """\
Answer with {{"search": [...], "conclusions": [...]}}:
{search}
- "conclusions": what must be true if the entries are; each has "kind" ("change", "implication" or "contradiction"),
  "content", "premises" (handles), and "existing": null, or the handle of one marked `lost` that follows from these
  premises all the same. At least one premise of each is an entry not marked `seen`.
Another reader, who sees the premises alone, checks whether each one follows."""

CARD_CONTRACT: Final = """\
- "card": edits of single lines of the card, which keeps what lasts about whomever the entries are about at hand; each
  has "action" ("add", "replace" or "remove"), "line" (the handle of the line that goes, null for "add"), "section"
  ("identity", "attribute", "relationship" or "instruction"; null for "remove"), "content" (at most 200 characters; null
  for "remove"), "premises" (handles of entries that were said, not concluded) and "reason". A line `by a person` stays.
The card has {lines} of {most} lines.{full}"""
_FULL: Final = " It is full: whoever adds a line replaces the one that gives way."

_INDUCTION: Final = """\
Answer with {{"search": [...], "patterns": [...]}}:
{search}
- "patterns": what keeps coming back; each has "content" and "pattern" ("preference", "behavior", "personality",
  "tendency" or "correlation"), or both null and "existing" with the handle of a pattern that is known; and "premises"
  and "against" (handles). At least one of these is an entry not marked `seen`.
Another reader, who sees these entries alone, checks each one; the host counts the occasions."""

_SEARCHES: Final = item_schema(SearchItem)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShape:
    """What one of the two passes reads of an answer.

    Args:
        name: The list that holds its items.
        contract: What the host reads, with a place for whether it may be searched.
        form: The JSON.
        level: What it concludes.
        card: What it reads about the card; empty if it does not edit it.
    """

    name: str
    contract: str
    form: ResponseFormat
    level: Level
    card: str = ""

    @property
    def overhead(self) -> int:
        """Tokens of a question beside its records, directives aside."""
        return estimate_tokens(self.contract + self.card + _SEARCH) + 64

    def text(self, card: Sequence[CardLine], *, may_search: bool) -> str:
        """Return what the host reads, as the question says it."""
        contract = self.contract.format(search=_SEARCH if may_search else _NO_SEARCH)
        if not self.card:
            return contract
        card = [line for line in card if line.is_active]
        told = self.card.format(lines=len(card), most=MOST_LINES, full=_FULL if len(card) >= MOST_LINES else "")
        return f"{contract}\n{told}"


CONCLUSIONS: Final = AnswerShape(
    name="conclusions",
    contract=_DEDUCTION,
    level=Level.DEDUCTIVE,
    form=answer_form("deductions", search=_SEARCHES, conclusions=item_schema(DeductionItem)),
)
PATTERNS: Final = AnswerShape(
    name="patterns",
    contract=_INDUCTION,
    level=Level.INDUCTIVE,
    form=answer_form("patterns", search=_SEARCHES, patterns=item_schema(PatternItem)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordHandles:
    """The records of one exchange by handle.

    Args:
        ids: The record id of each handle.
        entries: The entries that are as they were shown, by handle.
        turns: The same of turns.
        premises: Each entry as a premise, by its id.
        fresh: Handles of what is new.
        card: The lines of the card that stand there as they were shown, and those that lost what they rested on.
        disputes: Contradictions that wait for a person and are about some of the entries.
    """

    ids: Mapping[str, str]
    entries: Mapping[str, MemoryEntry] = field(default_factory=dict[str, MemoryEntry])
    turns: Mapping[str, Turn] = field(default_factory=dict[str, Turn])
    premises: Mapping[str, Premise] = field(default_factory=dict[str, Premise])
    fresh: frozenset[str] = frozenset()
    card: Mapping[str, CardLine] = field(default_factory=dict[str, CardLine])
    disputes: tuple[Question, ...] = ()

    @classmethod
    def of(
        cls, view: ReadView, batch: Batch, rounds: Sequence[Round], found: Collection[Version] = ()
    ) -> "RecordHandles":
        """Find what a batch, the lookups of these rounds and what was just *found* show, as it was shown."""
        looked_up = [version for one in rounds if one.kind is RoundKind.LOOKUP for version in one.shown]
        versions = dict.fromkeys((*batch.members, *batch.beside, *looked_up, *found))
        entries = {entry.id: entry for entry in view.entries.get_many([one for one, _ in versions])}
        turns = {turn.id: turn for turn in view.learnable.turns.get_many([one for one, _ in versions])}
        lines = {line.id: line for line in view.card.get_many([one for one, _ in versions]) if _stands(line)}
        ids = {f"e{place}": record_id for place, (record_id, _) in enumerate(versions, 1)}
        as_shown = dict(versions.keys())
        return cls(
            ids=ids,
            entries={
                handle: entries[one]
                for handle, one in ids.items()
                if one in entries and entries[one].version == as_shown[one] and _is_told(entries[one])
            },
            turns={
                handle: turns[one]
                for handle, one in ids.items()
                if one in turns and turns[one].version == as_shown[one]
            },
            card={
                handle: lines[one]
                for handle, one in ids.items()
                if one in lines and lines[one].version == as_shown[one]
            },
            premises=premises_of(view, entries.values()),
            fresh=frozenset(handle for handle, one in ids.items() if one in set(batch.member_ids)),
            disputes=tuple(disputes_among(view, entries)),
        )

    def lines(self) -> list[str]:
        """Return a line for each record."""
        sessions: dict[str, int] = {}
        said = [self.premises[entry.id].session for entry in self.entries.values()]
        for session in (*said, *(turn.session_id for turn in self.turns.values())):
            if session:
                sessions.setdefault(session, len(sessions) + 1)
        told = {
            **{handle: self._entry(handle, entry, sessions) for handle, entry in self.entries.items()},
            **{handle: _turn(handle, turn, sessions) for handle, turn in self.turns.items()},
        }
        return [told[handle] for handle in self.ids if handle in told]

    def card_lines(self) -> list[str]:
        """Return a line for each line of the card, in their order."""
        handles = {line.id: handle for handle, line in self.card.items()}
        return [_card_line(handles[line.id], line) for line in in_order(self.card.values())]

    def dispute_lines(self) -> list[str]:
        """Return a line for each contradiction that is open, with the handles of its sides."""
        handles = {entry.id: handle for handle, entry in self.entries.items() if entry.is_active}
        sides = [[handles[ref.id] for ref in one.members if ref.id in handles] for one in self.disputes]
        told = [
            f"{', '.join(handles)} {quoted(_clip(one.text))}"
            for handles, one in zip(sides, self.disputes, strict=True)
            if len(handles) > 1
        ]
        return told[:MOST_OPEN]

    def _entry(self, handle: str, entry: MemoryEntry, sessions: Mapping[str, int]) -> str:
        premise = self.premises[entry.id]
        parts = [f"[{handle}] {premise.said_at:%Y-%m-%d}"]
        if premise.session:
            parts.append(f"#{sessions[premise.session]}")
        if entry.status is Status.SUPERSEDED:
            parts.append(f"former until={entry.valid_until}")
        if entry.is_conclusion:
            sure = "" if entry.pattern is None else f" {entry.pattern.value} {entry.confidence}"
            parts.append(f"{entry.level.value}{sure}")
        if entry.lost_premises:
            parts.append("lost")
        if entry.subject_time is not None:
            parts.append(f"about={entry.subject_time}")
        if handle not in self.fresh:
            parts.append("seen")
        return " ".join([*parts, quoted(_clip(entry.content))])


def disputes_among(view: ReadView, entries: Collection[str]) -> list[Question]:
    """Return the contradictions that wait for a person and are about one of these entries or more, the oldest first."""
    causes = (QuestionCause.CONTRADICTION, QuestionCause.CLOSE_CALL)
    waiting = [one for cause in causes for one in view.questions.in_state(QuestionState.OPEN, cause)]
    found = [one for one in waiting if any(ref.id in entries for ref in one.members)]
    return sorted(found, key=lambda one: (one.asked_at, one.id))


def _is_told(entry: MemoryEntry) -> bool:
    """Tell whether an entry holds, held once until something took its place, or lost what it rested on."""
    return _stands(entry) or (entry.status is Status.SUPERSEDED and entry.valid_until is not None)


def _stands(record: MemoryEntry | CardLine) -> bool:
    return record.is_active or record.lost_premises


def _turn(handle: str, turn: Turn, sessions: Mapping[str, int]) -> str:
    speaker = quoted(turn.speaker) if turn.speaker else turn.role
    told = quoted(_clip(turn.content))
    return f"[{handle}] {turn.occurred_at:%Y-%m-%d} #{sessions[turn.session_id]} turn by {speaker} {told}"


def _clip(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 1].rstrip()}…"


def _card_line(handle: str, line: CardLine) -> str:
    by = " by a person" if line.pinned else " lost" if line.lost_premises else ""
    return f"[{handle}] {line.section.value.upper()}{by} {quoted(line.content)}"


def card_line_tokens(line: CardLine) -> int:
    """Return the tokens of a line of the card, as far as packing has to know."""
    return 16 + estimate_tokens(quoted(line.content))


def dispute_tokens(disputes: Collection[Question]) -> int:
    """Return the tokens that open contradictions take at most in a question, as far as packing has to know."""
    longest = sorted((16 + estimate_tokens(quoted(_clip(one.text))) for one in disputes), reverse=True)
    return sum(longest[:MOST_OPEN], estimate_tokens(_OPEN)) if longest else 0


def line_tokens(entry: MemoryEntry) -> int:
    """Return the tokens of an entry's line, as far as packing has to know."""
    return 16 + estimate_tokens(quoted(_clip(entry.content)))


def question(
    context: ModelContext,
    shape: AnswerShape,
    shown: RecordHandles,
    directives: Sequence[str],
    purpose: str,
    *,
    may_search: bool,
) -> ChatRequest:
    """Return the request about these records."""
    contract = shape.text(list(shown.card.values()), may_search=may_search)
    blocks = [contract, fenced(context.marker, "Entries, the new ones first:", shown.lines())]
    disputes = shown.dispute_lines() if shape.level is Level.DEDUCTIVE else []
    if disputes:
        blocks.append(fenced(context.marker, _OPEN, disputes))
    if shown.card:
        blocks.append(fenced(context.marker, "Lines of the card:", shown.card_lines()))
    return build_request(context, directives=directives, blocks=blocks, answer=shape.form, purpose=purpose)


__all__ = [
    "CARD_CONTRACT",
    "CONCLUSIONS",
    "MOST_OPEN",
    "PATTERNS",
    "AnswerShape",
    "DeductionItem",
    "DeductionKind",
    "PatternItem",
    "RecordHandles",
    "card_line_tokens",
    "dispute_tokens",
    "disputes_among",
    "line_tokens",
    "question",
]
