"""Judges edits of the peer card, one line each, and makes the changes of those that hold."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Final, TypeAlias

from pydantic import BeforeValidator, Strict, WithJsonSchema

from agentcore.domain.card import LONGEST_CARD_LINE, MOST_LINES, CardLine, CardSection
from agentcore.domain.conclusion import Premise
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.text import fold_key
from dream.domain.card_marks import line_mark
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.card_guard import not_stated
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.answers import (
    NULLABLE_TEXT,
    AnswerItem,
    Handle,
    Handles,
    Otherwise,
    choice_of,
    one_line,
    text_or_none,
)
from dream.passes.conversation.statement import split_up, statement
from dream.passes.exchange_state import Item, Settled
from dream.passes.inference.judging import InferenceRules
from dream.passes.inference.wording import fleeting_words

CARD_ADD: Final = "card_add"
CARD_REPLACE: Final = "card_replace"
CARD_REMOVE: Final = "card_remove"
_LONGEST_REASON: Final = 200
_NO_LONGER: Final = "This does not hold any longer: "


class CardAction(StrEnum):
    """What an edit does to a line."""

    ADD = "add"
    REPLACE = "replace"
    REMOVE = "remove"


OPERATIONS: Final[Mapping[CardAction, str]] = {
    CardAction.ADD: CARD_ADD,
    CardAction.REPLACE: CARD_REPLACE,
    CardAction.REMOVE: CARD_REMOVE,
}


class CardItem(AnswerItem):
    """One item of `card`."""

    called: ClassVar[str] = "card edit {}"

    action: Annotated[
        CardAction,
        WithJsonSchema(choice_of(CardAction)),
        Otherwise(Refused.INVALID_CONTENT, "{} neither adds, replaces nor removes a line"),
    ]
    line: Handle = None
    """The handle of the line that is replaced or removed."""
    section: Annotated[
        CardSection | None,
        BeforeValidator(lambda given: given.strip().rstrip(":").casefold() or None if isinstance(given, str) else None),
        WithJsonSchema({"type": ["string", "null"], "enum": [*map(str, CardSection), None]}),
        Otherwise(Refused.INVALID_CONTENT, "{} names no section that there is"),
    ] = None
    content: Annotated[str | None, BeforeValidator(text_or_none), WithJsonSchema(dict(NULLABLE_TEXT))] = None
    premises: Annotated[
        Handles, Otherwise(Refused.NO_SOURCES, "{} names no premise", "{} lists something that is no handle")
    ]
    reason: Annotated[str, Strict(), Otherwise(Refused.NO_REASON, "{} does not say why")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardEdit:
    """An edit of the card that only a reader has still to check.

    Args:
        number: Its place in the answer, after the conclusions.
        label: What refusals call it.
        action: What it does.
        premises: What it rests on.
        entries: The entries of these, in the same order.
        reason: Why, in the model's words.
        section: What sort of thing the new line tells; None where a line is only removed.
        content: What the new line says; empty where a line is only removed.
        before: The line that goes; None for a new one.
    """

    asks: ClassVar[bool] = False
    number: int
    label: str
    action: CardAction
    premises: tuple[Premise, ...]
    entries: tuple[MemoryEntry, ...]
    reason: str
    section: CardSection | None = None
    content: str = ""
    before: CardLine | None = None

    @property
    def room(self) -> int:
        """How many more lines the card has room for by it: a line that is lost takes up none."""
        return (self.before is not None and self.before.is_active) - (self.action is not CardAction.REMOVE)

    def assertion(self) -> Assertion:
        """Return what a reader has to check."""
        lines = tuple(
            EvidenceLine(text=entry.content, said_at=one.said_at, source=SourceRef(SourceKind.ENTRY, entry.id))
            for one, entry in zip(self.premises, self.entries, strict=True)
        )
        gone = "" if self.before is None else f"{_NO_LONGER}{self.before.content}"
        return Assertion(text=self.content or gone, evidence=lines, infers=True)


_Judged: TypeAlias = CardEdit | Refusal


def judge_card_edits(
    items: Iterable[CardItem], rules: InferenceRules, *, behind: int
) -> tuple[list[Item[CardEdit]], list[Refusal]]:
    """Return the edits that a reader has to check, and why others are not taken.

    Args:
        items: What the answer proposes; nothing of it is looked at where the card is not edited.
        rules: What they are judged by, with the card as it is.
        behind: Items of the answer's other list, behind which these are counted.
    """
    made: list[Item[CardEdit]] = []
    refused: list[Refusal] = []
    if rules.card is None:
        return [], []
    room = MOST_LINES - len(rules.card)
    edited: Counter[str] = Counter()
    for item in items:
        found = _edit(item, rules, behind)
        if isinstance(found, CardEdit):
            found = _beside_others(found, edited, room)
        if isinstance(found, Refusal):
            refused.append(found.at(behind + item.number))
            continue
        room += found.room
        edited.update({*([found.before.id] if found.before else ()), fold_key(found.content)} - {fold_key("")})
        assertion = found.assertion()
        made.append(Item(number=found.number, value=found, verdict=Verdict.UNDECIDED, assertion=assertion))
    return made, refused


def _beside_others(edit: CardEdit, edited: Mapping[str, int], room: int) -> _Judged:
    """Refuse a second edit of one line, a line told twice, and one that a full card has no room for."""
    if edit.before is not None and edited.get(edit.before.id):
        return Refusal(Refused.HANDLE_REUSED, f"{edit.label} edits line {edit.before.id} a second time")
    if edit.content and edited.get(fold_key(edit.content)):
        return Refusal(Refused.ALREADY_KNOWN, f"{edit.label} is told twice")
    if edit.room < 0 and room < 1:
        return Refusal(Refused.CARD_FULL, f"{edit.label} names no line that gives way")
    return edit


def _edit(item: CardItem, rules: InferenceRules, behind: int) -> _Judged:
    before = _line(item, rules)
    if isinstance(before, Refusal):
        return before
    entries = _stated(item, rules)
    if isinstance(entries, Refusal):
        return entries
    reason = one_line(item.reason)[:_LONGEST_REASON]
    if not reason:
        return Refusal(Refused.NO_REASON, f"{item.label} does not say why")
    if secret_in(reason) is not None:
        return Refusal(Refused.SECRET, f"{item.label} looks like a secret")
    pairs = sorted((rules.shown.premises[entry.id], entry.id, entry) for entry in entries)
    edit = CardEdit(
        number=behind + item.number,
        label=item.label,
        action=item.action,
        premises=tuple(one for one, _, _ in pairs),
        entries=tuple(entry for _, _, entry in pairs),
        reason=reason,
        before=before,
    )
    return edit if item.action is CardAction.REMOVE else _worded(edit, item, rules)


def _line(item: CardItem, rules: InferenceRules) -> CardLine | Refusal | None:
    """Return the line that an edit takes off the card, as it was shown and still stands there."""
    if item.action is CardAction.ADD:
        return None
    if not item.line or item.line not in rules.shown.ids or item.line in rules.shown.entries:
        return Refusal(Refused.UNKNOWN_HANDLE, f"{item.label} names {(item.line or 'no line')[:40]!r}")
    shown = rules.shown.card.get(item.line)
    if shown is None:
        return Refusal(Refused.STALE_SOURCE, rules.shown.ids[item.line])
    return Refusal(Refused.PINNED, f"line {shown.id}") if shown.pinned else shown


def _stated(item: CardItem, rules: InferenceRules) -> list[MemoryEntry] | Refusal:
    """Return the entries that an edit rests on: what was said, holds, and was shown."""
    found: list[MemoryEntry] = []
    for handle in item.premises:
        if handle not in rules.shown.ids:
            return Refusal(Refused.UNKNOWN_HANDLE, f"{item.label} names {handle[:40]!r}")
        entry, record_id = rules.shown.entries.get(handle), rules.shown.ids[handle]
        if handle in rules.shown.turns or handle in rules.shown.card:
            return Refusal(Refused.NO_PREMISE, f"{item.label} rests on {record_id}")
        if entry is None:
            return Refusal(Refused.STALE_SOURCE, record_id)
        found.append(entry)
    refusal = next((one for one in (not_stated(entry, item.section) for entry in found) if one is not None), None)
    return found if refusal is None else refusal


def _worded(edit: CardEdit, item: CardItem, rules: InferenceRules) -> _Judged:
    """Return an edit with what its line says, or why that cannot stand on the card."""
    label = item.label
    if item.section is None:
        return Refusal(Refused.INVALID_CONTENT, f"{label} names no section")
    said = " ".join((item.content or "").split())
    content = statement(said.removeprefix(f"{item.section.value.upper()}:").strip(), label)
    if isinstance(content, Refusal):
        return content
    refusal = _misworded(content, item.section, edit, rules)
    return replace(edit, section=item.section, content=content) if refusal is None else refusal


def _misworded(content: str, section: CardSection, edit: CardEdit, rules: InferenceRules) -> Refusal | None:
    """Return why a line must not be worded so."""
    label, key = edit.label, fold_key(content)
    fleeting = fleeting_words(content)
    on_card = {(one.section, fold_key(one.content)) for one in rules.card or ()}
    evidence = [EvidenceText(text=entry.content, said_at=entry.created_at) for entry in edit.entries]
    found = judge(content, evidence, vocabulary=rules.vocabulary)
    invented = found.details if found.verdict is Verdict.REFUTED else ()
    too_long = f"{label} has {len(content)} characters, more than {LONGEST_CARD_LINE}"
    faults = (
        (len(content) > LONGEST_CARD_LINE, Refused.INVALID_CONTENT, too_long),
        (secret_in(content) is not None, Refused.SECRET, f"{label} looks like a secret"),
        (fleeting is not None, Refused.TRANSITORY, f"{label} says {fleeting!r}"),
        (rules.known.get(key) is Refused.FORGOTTEN, Refused.FORGOTTEN, label),
        ((section, key) in on_card, Refused.ALREADY_KNOWN, label),
        (bool(invented), Refused.INVENTED_DETAIL, f"{label}: {', '.join(map(str, invented))}"),
    )
    return next((Refusal(code, told) for is_so, code, told in faults if is_so), split_up(label, content))


def card_change_set(settled: Settled[CardEdit], line_id: str, as_of: datetime, by: str) -> ChangeSet:
    """Return the changes that a settled edit makes.

    Args:
        settled: It, and who read it.
        line_id: The id of the new line.
        as_of: The instant the run judges by.
        by: The pass.
    """
    edit = settled.value
    changes: list[Change[CardLine]] = []
    marks: dict[str, str] = {}
    if edit.section is not None:
        scope = edit.entries[0].scope
        new = CardLine(
            id=line_id,
            scope=scope,
            section=edit.section,
            content=edit.content,
            set_at=as_of,
            set_by=by,
            reason=edit.reason,
            sources=tuple(sorted({SourceRef(SourceKind.ENTRY, entry.id) for entry in edit.entries})),
            premises=edit.premises,
        )
        changes.append(Change(before=None, after=new, reason=edit.reason))
        marks[new.id] = line_mark(new.section, edit.entries)
    if edit.before is not None:
        heir = changes[0].record_id if changes else None
        gone = replace(
            edit.before,
            status=Status.ARCHIVED if heir is None else Status.SUPERSEDED,
            status_reason=edit.reason,
            successor=heir,
            status_at=as_of,
        )
        changes.append(Change(before=edit.before, after=gone, reason=edit.reason))
        marks[gone.id] = fingerprint(CARD_REMOVE, edit.before)
    return ChangeSet(operation=OPERATIONS[edit.action], changes=tuple(changes), fingerprints=marks)
