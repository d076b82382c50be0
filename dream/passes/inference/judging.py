"""Judges conclusions by their premises, as far as that needs no reader: what they rest on, how they are worded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from agentcore.domain.card import CardLine
from agentcore.domain.conclusion import Confidence, Pattern, Premise, confidence_of, occasions
from agentcore.domain.evidence import Evidence, SourceKind, SourceRef, exact_words
from agentcore.domain.memory import Level, MemoryEntry, Trust
from agentcore.domain.text import fold_key
from agentcore.domain.validity import revived, superseded
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge
from dream.passes.conflicts import ConflictVerdict, SideEvidence, judge as weigh
from dream.passes.conversation.statement import split_up, statement
from dream.passes.exchange_state import Item, Settled
from dream.passes.inference.premises import MOST_DEPTH
from dream.passes.inference.prompt import DeductionItem, DeductionKind, PatternItem, RecordHandles
from dream.passes.inference.wording import are_alike, fleeting_words, is_computed, restates

DEDUCE: Final = "deduce"
UPDATE: Final = "update"
GENERALISE: Final = "generalise"
RESOLVE: Final = "resolve"
"""Operation of a change set that supersedes the side of a contradiction that is backed by less."""
_WHICH: Final = "Which of these holds now? They cannot both be true, and the evidence for each is about as strong."
_BASE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A conclusion that only a reader has still to check.

    Args:
        number: Its place in the answer.
        label: What refusals call it.
        content: What it says.
        premises: What it rests on and what speaks against it.
        entries: The entries of these, in the same order.
        pattern: What sort of pattern it tells; None for a deduction.
        existing: The conclusion that it adds evidence to, or has rest on other premises, if it is known.
        kept: Those premises of the existing one that still bear it.
        kind: What it is, of a deduction.
        outdated: The entry that a change takes the place of, if that is still active; of a contradiction the side
            that is backed by less, None where the evidence is about as strong.
    """

    number: int
    label: str
    content: str
    premises: tuple[Premise, ...]
    entries: tuple[MemoryEntry, ...]
    pattern: Pattern | None = None
    existing: MemoryEntry | None = None
    kept: tuple[Premise, ...] = ()
    kind: DeductionKind | None = None
    outdated: MemoryEntry | None = None

    @property
    def supporting(self) -> list[MemoryEntry]:
        """The entries that speak for it."""
        return [entry for one, entry in zip(self.premises, self.entries, strict=True) if not one.against]

    @property
    def asks(self) -> bool:
        """Whether it is a contradiction that only a person can resolve."""
        return self.kind is DeductionKind.CONTRADICTION and self.outdated is None

    @property
    def operation(self) -> str:
        """What its change set does."""
        if self.kind is DeductionKind.CONTRADICTION:
            return RESOLVE
        return GENERALISE if self.pattern else UPDATE if self.outdated else DEDUCE

    def assertion(self) -> Assertion:
        """Return what a reader has to check."""
        lines = tuple(
            EvidenceLine(
                text=entry.content,
                said_at=one.said_at,
                is_beside=one.against,
                source=SourceRef(SourceKind.ENTRY, entry.id),
            )
            for one, entry in zip(self.premises, self.entries, strict=True)
        )
        if self.kind is DeductionKind.CONTRADICTION:
            both = " / ".join(entry.content for entry in self.entries)
            return Assertion(text=f"These cannot both be true at one time: {both}", evidence=lines, infers=True)
        return Assertion(text=self.content, evidence=lines, infers=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRules:
    """What conclusions are judged by.

    Args:
        shown: What the exchange showed.
        depths: How many conclusions each shown entry stands on, by its id.
        missing: Ids of the premises of each shown conclusion that do not hold, by its id.
        known: Fold keys of texts that active entries say, and of those that a person asked to forget.
        vocabulary: Which words are ordinary.
        sides: What backs each shown entry against another one.
        as_of: The instant the run judges by.
        card: The lines of the card as it is; None where it is not edited.
    """

    shown: RecordHandles
    depths: Mapping[str, int]
    known: Mapping[str, Refused]
    vocabulary: Vocabulary
    sides: Mapping[str, SideEvidence]
    as_of: datetime
    card: tuple[CardLine, ...] | None = None
    missing: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def conflict(self, old: MemoryEntry, new: MemoryEntry) -> ConflictVerdict:
        """Return whether an older entry gives way to a newer one."""
        return weigh(self.sides[old.id], self.sides[new.id], self.as_of)

    def kept(self, existing: MemoryEntry | None) -> tuple[Premise, ...]:
        """Return the premises of a known conclusion that hold."""
        gone = frozenset[str]() if existing is None else self.missing.get(existing.id, frozenset())
        return tuple(one for one in (existing.premises if existing else ()) if one.entry_id not in gone)


def judge_deductions(items: Iterable[DeductionItem], rules: InferenceRules) -> tuple[list[Item[Drawn]], list[Refusal]]:
    """Return the deductions that a reader has to check, and why others are not taken."""
    return _sorted_out([(one.number, _deduction(one, rules)) for one in items], rules)


def judge_patterns(items: Iterable[PatternItem], rules: InferenceRules) -> tuple[list[Item[Drawn]], list[Refusal]]:
    """Return the patterns that a reader has to check, and why others are not taken; one told twice is told once."""
    drawn: list[tuple[int, Drawn | Refusal]] = []
    for item in items:
        found = _pattern(item, rules)
        earlier = [one for _, one in drawn if isinstance(one, Drawn)]
        if isinstance(found, Drawn) and any(_is_same(found, one) for one in earlier):
            found = Refusal(Refused.ALREADY_KNOWN, f"{item.label} is told twice")
        drawn.append((item.number, found))
    return _sorted_out(drawn, rules)


def _is_same(one: Drawn, other: Drawn) -> bool:
    if one.existing is not None and other.existing is not None:
        return one.existing.id == other.existing.id
    return are_alike(one.content, other.content)


def _sorted_out(
    drawn: Sequence[tuple[int, Drawn | Refusal]], rules: InferenceRules
) -> tuple[list[Item[Drawn]], list[Refusal]]:
    items: list[Item[Drawn]] = []
    refused: list[Refusal] = []
    for number, one in drawn:
        refusal = one if isinstance(one, Refusal) else _worded_wrong(one, rules)
        if refusal is not None:
            refused.append(refusal.at(number))
        elif isinstance(one, Drawn):
            items.append(Item(number=number, value=one, verdict=Verdict.UNDECIDED, assertion=one.assertion()))
    return items, refused


def _named(label: str, handles: Sequence[str], rules: InferenceRules) -> Refusal | list[MemoryEntry]:
    """Return the entries behind handles, or why one of them bears no conclusion."""
    found: list[MemoryEntry] = []
    for handle in handles:
        if handle not in rules.shown.ids:
            return Refusal(Refused.UNKNOWN_HANDLE, f"{label} names {handle[:40]!r}")
        entry = rules.shown.entries.get(handle)
        record_id = rules.shown.ids[handle]
        if handle in rules.shown.turns or (entry is not None and _bears_nothing(entry)):
            return Refusal(Refused.NO_PREMISE, f"{label} rests on {record_id}")
        if entry is None:
            return Refusal(Refused.STALE_SOURCE, record_id)
        found.append(entry)
    if all(entry.is_conclusion for entry in found):
        return Refusal(Refused.NO_PREMISE, f"{label} rests on conclusions alone")
    if not any(handle in rules.shown.fresh for handle in handles):
        return Refusal(Refused.TOO_FEW_CITATIONS, f"{label} rests on nothing that is new")
    return found


def _bears_nothing(entry: MemoryEntry) -> bool:
    return entry.level is Level.INDUCTIVE or entry.lost_premises


def _deduction(item: DeductionItem, rules: InferenceRules) -> Drawn | Refusal:
    entries = _named(item.label, item.premises, rules)
    if isinstance(entries, Refusal):
        return entries
    if item.kind is not DeductionKind.IMPLICATION and len(entries) != 2:
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} is a {item.kind} and names {len(entries)} premises")
    if max(rules.depths[entry.id] for entry in entries) >= MOST_DEPTH:
        return Refusal(Refused.TOO_DEEP, item.label)
    existing = _lost(item, rules)
    if isinstance(existing, Refusal):
        return existing
    drawn = _drawn(item.number, item.label, existing.content if existing else item.content, entries, rules)
    if isinstance(drawn, Refusal):
        return drawn
    of_kind = replace(drawn, kind=item.kind, existing=existing)
    return _change(of_kind, entries, rules) if item.kind is DeductionKind.CHANGE else _present(of_kind, rules)


def _lost(item: DeductionItem, rules: InferenceRules) -> MemoryEntry | Refusal | None:
    """Return the lost conclusion that is drawn again: the one named, or one that says the same."""
    known = [one for one in rules.shown.entries.values() if one.lost_premises and one.level is Level.DEDUCTIVE]
    if not item.existing:
        return next((one for one in known if fold_key(one.content) == fold_key(item.content)), None)
    named = rules.shown.entries.get(item.existing)
    if named not in known or item.kind is DeductionKind.CONTRADICTION:
        return Refusal(Refused.UNKNOWN_HANDLE, f"{item.label} names {item.existing[:40]!r} as a lost conclusion")
    return named


def _present(drawn: Drawn, rules: InferenceRules) -> Drawn | Refusal:
    """Refuse what rests on an entry that does not hold any longer; find the weaker side of a contradiction."""
    former = next((entry.id for entry in drawn.entries if not entry.is_active), None)
    if former is not None:
        return Refusal(Refused.NO_PREMISE, f"{drawn.label} rests on {former}, which does not hold any longer")
    if drawn.kind is not DeductionKind.CONTRADICTION:
        return drawn
    old, new = sorted(drawn.entries, key=lambda entry: (rules.shown.premises[entry.id].said_at, entry.id))
    verdict = rules.conflict(old, new)
    weaker = {ConflictVerdict.GIVES_WAY: old, ConflictVerdict.STAYS: new}.get(verdict)
    return drawn if weaker is None or weaker.pinned or weaker.is_conclusion else replace(drawn, outdated=weaker)


def _change(drawn: Drawn, entries: Sequence[MemoryEntry], rules: InferenceRules) -> Drawn | Refusal:
    """Return a change from what held to what holds: the first of its premises gave way, or gives way now."""
    old, new = sorted(entries, key=lambda entry: (entry.is_active, rules.shown.premises[entry.id].said_at, entry.id))
    if not new.is_active:
        return Refusal(Refused.NO_PREMISE, f"{drawn.label} rests on {new.id}, which does not hold any longer")
    past = replace(drawn, premises=tuple(replace(one, past=True) for one in drawn.premises))
    if not old.is_active:
        return past
    verdict = rules.conflict(old, new)
    if verdict is ConflictVerdict.GIVES_WAY and not old.pinned and old.level is not Level.DEDUCTIVE:
        return replace(past, outdated=old)
    if verdict is ConflictVerdict.CLOSE_CALL:
        return replace(drawn, kind=DeductionKind.CONTRADICTION, content=_WHICH, existing=None)
    return Refusal(Refused.WEAKER_EVIDENCE, f"{old.id} and {new.id}")


def _pattern(item: PatternItem, rules: InferenceRules) -> Drawn | Refusal:
    entries = _named(item.label, [*item.premises, *item.against], rules)
    if isinstance(entries, Refusal):
        return entries
    if set(item.premises) & set(item.against):
        return Refusal(Refused.HANDLE_REUSED, f"{item.label} names an entry for and against")
    existing = _existing(item, rules)
    if isinstance(existing, Refusal):
        return existing
    content = existing.content if existing else item.content or ""
    if existing is None and item.pattern is None:
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} names no sort of pattern")
    drawn = _drawn(item.number, item.label, content, entries, rules, against=set(item.against))
    if isinstance(drawn, Refusal):
        return drawn
    kept = rules.kept(existing)
    unsure = _unsure(item.label, (*kept, *drawn.premises))
    pattern = existing.pattern if existing else item.pattern
    return unsure or replace(drawn, pattern=pattern, existing=existing, kept=kept)


def _existing(item: PatternItem, rules: InferenceRules) -> MemoryEntry | Refusal | None:
    """Return the pattern that an item adds to: the one it names, or one that says the same in nearly the same words."""
    if item.existing:
        found = rules.shown.entries.get(item.existing)
        if found is None or found.level is not Level.INDUCTIVE:
            return Refusal(Refused.UNKNOWN_HANDLE, f"{item.label} names {item.existing[:40]!r} as a pattern")
        return found
    known = [entry for entry in rules.shown.entries.values() if entry.level is Level.INDUCTIVE]
    return next((entry for entry in known if are_alike(item.content or "", entry.content)), None)


def _unsure(label: str, premises: Sequence[Premise]) -> Refusal | None:
    """Return why the occasions make no pattern."""
    distinct = {one.entry_id: one for one in premises}.values()
    if confidence_of(distinct) is not None:
        return None
    pro = occasions(one for one in distinct if not one.against)
    contra = occasions(one for one in distinct if one.against)
    code = Refused.TOO_MUCH_AGAINST if contra else Refused.TOO_FEW_OCCASIONS
    return Refusal(code, f"{label}: {pro} for it, {contra} against it")


def _drawn(
    number: int,
    label: str,
    text: str,
    entries: Sequence[MemoryEntry],
    rules: InferenceRules,
    *,
    against: Iterable[str] = (),
) -> Drawn | Refusal:
    content = statement(text, label)
    if isinstance(content, Refusal):
        return content
    if secret_in(content) is not None:
        return Refusal(Refused.SECRET, f"{label} looks like a secret")
    contra = {rules.shown.ids[handle] for handle in against}
    pairs = sorted(
        (replace(rules.shown.premises[entry.id], against=entry.id in contra), entry.id, entry) for entry in entries
    )
    return Drawn(
        number=number,
        label=label,
        content=content,
        premises=tuple(one for one, _, _ in pairs),
        entries=tuple(entry for _, _, entry in pairs),
    )


def _worded_wrong(drawn: Drawn, rules: InferenceRules) -> Refusal | None:
    """Return why a conclusion must not be worded so; a question and a known pattern are not judged by words."""
    if drawn.kind is DeductionKind.CONTRADICTION or drawn.existing is not None:
        return None
    label, content = drawn.label, drawn.content
    fleeting = fleeting_words(content, is_change=drawn.kind is DeductionKind.CHANGE)
    if fleeting is not None:
        return Refusal(Refused.TRANSITORY, f"{label} says {fleeting!r}")
    if fold_key(content) in rules.known:
        return Refusal(rules.known[fold_key(content)], label)
    supporting = drawn.supporting
    if any(restates(content, entry.content) for entry in supporting):
        return Refusal(Refused.RESTATES, label)
    said = [EvidenceText(text=entry.content, said_at=entry.created_at) for entry in supporting]
    found = judge(content, said, vocabulary=rules.vocabulary)
    details = [one for one in found.details if drawn.pattern or not is_computed(one, said)]
    if found.verdict is Verdict.REFUTED and details:
        return Refusal(Refused.INVENTED_DETAIL, f"{label}: {', '.join(map(str, details))}")
    return split_up(label, content)


def change_set_of(settled: Settled[Drawn], entry_id: str, as_of: datetime) -> ChangeSet:
    """Return the changes that a settled conclusion makes.

    Args:
        settled: It, and who read it.
        entry_id: The id of its entry, if nobody knows it yet.
        as_of: The instant the run judges by.
    """
    drawn = settled.value
    known = drawn.existing
    new = entry_of(settled, entry_id, as_of) if known is None else with_more_evidence(known, settled)
    mark = fingerprint(drawn.operation, *drawn.entries)
    reason = _reason(drawn) if known is None or known.lost_premises else "met again on another occasion"
    changes = [Change[MemoryEntry](before=known, after=new, reason=reason)]
    marks = {new.id: mark}
    old = drawn.outdated
    if drawn.kind is DeductionKind.CONTRADICTION:
        changes, marks = [], {}
    if old is not None:
        heir = next(entry for entry in drawn.entries if entry.id != old.id)
        reason = f"{heir.id} holds, which is backed by more" if drawn.operation == RESOLVE else f"{heir.id} holds now"
        changes.append(Change(before=old, after=superseded(old, by=heir, reason=reason, at=as_of), reason=reason))
        marks[old.id] = mark
    return ChangeSet(operation=drawn.operation, changes=tuple(changes), fingerprints=marks)


def _reason(drawn: Drawn) -> str:
    ids = ", ".join(entry.id for entry in drawn.supporting)
    return f"a pattern over {ids}" if drawn.pattern else f"follows from {ids}"


def entry_of(settled: Settled[Drawn], entry_id: str, as_of: datetime) -> MemoryEntry:
    """Return the entry that a conclusion makes: as trusted as the least of its premises, and at most inferred."""
    drawn = settled.value
    supporting = drawn.supporting
    return MemoryEntry(
        id=entry_id,
        scope=supporting[0].scope,
        content=drawn.content,
        category=supporting[-1].category,
        base=min([_BASE, *(entry.base for entry in supporting)]),
        created_at=max(one.said_at for one in drawn.premises if not one.against),
        recorded_at=as_of,
        last_seen_at=min(max(entry.last_seen_at for entry in supporting), as_of),
        level=Level.INDUCTIVE if drawn.pattern else Level.DEDUCTIVE,
        sources=_sources(drawn.premises),
        evidence=_evidence(settled),
        trust=min([Trust.INFERRED, *(entry.trust for entry in drawn.entries)]),
        pattern=drawn.pattern,
        confidence=confidence_of(drawn.premises) if drawn.pattern else None,
        premises=drawn.premises,
    )


def with_more_evidence(known: MemoryEntry, settled: Settled[Drawn]) -> MemoryEntry:
    """Return a known conclusion with what bears it now beside what still does; what it says stays as it is."""
    drawn = settled.value
    premises = tuple(sorted({one.entry_id: one for one in (*drawn.premises, *drawn.kept)}.values()))
    return replace(
        revived(known),
        premises=premises,
        sources=tuple(sorted({*known.sources, *_sources(premises)})),
        evidence=(*known.evidence, *_evidence(settled)),
        confidence=(confidence_of(premises) or Confidence.LOW) if known.pattern else None,
        last_seen_at=max([known.last_seen_at, *(entry.last_seen_at for entry in drawn.supporting)]),
        trust=min([known.trust, *(entry.trust for entry in drawn.entries)]),
    )


def _sources(premises: Iterable[Premise]) -> tuple[SourceRef, ...]:
    return tuple(sorted({SourceRef(SourceKind.ENTRY, one.entry_id) for one in premises}))


def _evidence(settled: Settled[Drawn]) -> tuple[Evidence, ...]:
    drawn = settled.value
    return tuple(
        Evidence(
            source=SourceRef(SourceKind.ENTRY, entry.id),
            said_at=one.said_at,
            sentence=exact_words(entry.content),
            verdict=settled.verdict,
            written_by=settled.written_by,
            verified_by=settled.verified_by,
            round=settled.round,
        )
        for one, entry in zip(drawn.premises, drawn.entries, strict=True)
        if not one.against
    )
