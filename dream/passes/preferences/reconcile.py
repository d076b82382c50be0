"""Compares new preferences with known ones: new, shown again, superseding a contradicted one, or an open question."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

import orjson

from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.domain.records import Record
from agentcore.domain.text import fold_key, normalise
from agentcore.stores.storage import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.vocabulary import Vocabulary
from dream.passes.conflicts import ConflictVerdict, SideEvidence, judge, speakers_by_entry, speakers_of
from dream.passes.conversation.neighbours import are_related
from dream.passes.conversation.reconcile import fresh_turns, is_forgotten, retells
from dream.passes.conversation.statement import is_under
from dream.passes.preferences.judging import PERMISSION, PREFERENCES, Occasions, Preference
from dream.passes.preferences.prompt import PreferenceItem

PREFER: Final = "prefer"
"""Operation of a change set that adds a preference."""
REINFORCE: Final = "reinforce"
"""Operation of a change set that meets a preference again."""
SUPERSEDE: Final = "supersede"
"""Operation of a change set that puts a preference in the place of another one."""
_QUESTION: Final = (
    "Which of these holds now? New occasions speak against the preference, about as strongly as others for it."
)


@dataclass(frozen=True, slots=True)
class PreferenceReinforcement:
    """An item that meets a preference again by its handle, with what shows it."""

    item: PreferenceItem
    entry_id: str
    occasions: Occasions


@dataclass(frozen=True, slots=True)
class PreferenceSupersession:
    """A preference that contradicts another one, which is as it was shown; None if that one moved or is gone."""

    preference: Preference
    old_id: str
    old: MemoryEntry | None


JudgedPreference = Preference | PreferenceReinforcement | PreferenceSupersession


@dataclass(frozen=True, slots=True)
class PreferenceCandidates:
    """What the store holds that some preferences could meet.

    Args:
        entries: Active preferences of equal text, made of the same turns, or named by their handle; oldest first.
        forgotten: When texts were forgotten that they say, by fold key.
        speakers: Who said the contradicted ones, by their ids, as far as turns show it.
    """

    entries: tuple[MemoryEntry, ...] = ()
    forgotten: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    speakers: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @classmethod
    def of(cls, view: ReadView, shown: Sequence[JudgedPreference]) -> "PreferenceCandidates":
        """Look up what is known of them."""
        keys = {fold_key(one.content) for one in map(_preference, shown) if one is not None}
        found = {entry.id: entry for entry in view.entries.with_fold_keys(keys)}
        turn_ids = sorted({turn.id for one in shown for turn in _occasions(one).evidence.turns})
        made = view.entries.derived_from(SourceKind.TURN.value, *turn_ids)
        found |= {entry.id: entry for entry in made}
        named = [one.entry_id for one in shown if isinstance(one, PreferenceReinforcement)]
        found |= {entry.id: entry for entry in view.entries.get_many(named)}
        wanted = [entry for entry in found.values() if entry.is_active and is_under(entry.category, (PREFERENCES,))]
        ordered = sorted(wanted, key=lambda entry: (entry.created_at, entry.recorded_at, entry.id))
        contradicted = [one.old for one in shown if isinstance(one, PreferenceSupersession) and one.old is not None]
        return cls(tuple(ordered), view.forgotten.since(keys), speakers_by_entry(view, contradicted))


@dataclass(slots=True)
class _PreferenceDraft:
    """An entry as it will be, what made it so, and what it takes the place of."""

    before: MemoryEntry | None
    after: MemoryEntry
    shown: list[Occasions] = field(default_factory=list[Occasions])
    gives_way: MemoryEntry | None = None


@dataclass(slots=True, kw_only=True)
class PreferenceReconciliation:
    """The preferences of one answer, met one by one; lives as long as that.

    Args:
        known: What the store holds.
        declined: Marks that a person declined.
        new_id: Returns a fresh record id.
        as_of: The instant the run judges by.
        vocabulary: Which words are ordinary.
    """

    known: PreferenceCandidates
    declined: frozenset[str]
    new_id: Callable[[], str]
    as_of: datetime
    vocabulary: Vocabulary
    refused: list[Refusal] = field(default_factory=list[Refusal])
    questions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    _drafts: list[_PreferenceDraft] = field(default_factory=list[_PreferenceDraft])
    _found: int = 0
    _nothing_new: int = 0

    def __post_init__(self) -> None:
        """Begin with what is known."""
        self._drafts = [_PreferenceDraft(entry, entry) for entry in self.known.entries]

    def add(self, shown: JudgedPreference) -> None:
        """Meet one more; whatever brings nothing new changes nothing."""
        met = self._met(shown)
        refusal = self._refusal(shown, met)
        if refusal is None and met is None and isinstance(shown, PreferenceSupersession):
            refusal = self._contradiction(shown)
        if refusal is not None:
            self.refused.append(refusal.at(_item(shown).number))
            return
        self._found += 1
        preference = _preference(shown)
        if met is not None:
            self._reinforce(met, _occasions(shown))
        elif preference is not None:
            old = shown.old if isinstance(shown, PreferenceSupersession) else None
            entry = preference.entry(self.new_id(), self.as_of, old)
            self._drafts.append(_PreferenceDraft(None, entry, [preference.occasions], old))

    @property
    def change_sets(self) -> tuple[ChangeSet, ...]:
        """What changes."""
        return tuple(self._change_set(draft) for draft in self._changed)

    def notes(self) -> Mapping[str, Any]:
        """Return the findings for the report."""
        new = [draft for draft in self._changed if draft.before is None]
        return {
            "preferences_found": self._found,
            "new": len(new),
            "reinforced": len(self._changed) - len(new),
            "superseded": sum(draft.gives_way is not None for draft in new),
            "known": self._nothing_new,
            "need_permission": sum(PERMISSION in draft.after.metadata for draft in new),
            "questions": [{"entries": [old], "question": f"{_QUESTION} ({label})"} for label, old in self.questions],
        }

    @property
    def _changed(self) -> list[_PreferenceDraft]:
        return [draft for draft in self._drafts if draft.shown]

    def _met(self, shown: JudgedPreference) -> _PreferenceDraft | None:
        if isinstance(shown, PreferenceReinforcement):
            return next((draft for draft in self._drafts if draft.after.id == shown.entry_id), None)
        preference = shown.preference if isinstance(shown, PreferenceSupersession) else shown
        own = [
            draft
            for draft in self._drafts
            if self._is_the_same(preference, draft.after)
            and not (isinstance(shown, PreferenceSupersession) and draft.after.id == shown.old_id)
        ]
        return min(own, key=lambda draft: normalise(draft.after.content) != normalise(preference.content), default=None)

    def _is_the_same(self, preference: Preference, entry: MemoryEntry) -> bool:
        if normalise(entry.content) == normalise(preference.content):
            return True
        # Of two texts only those that rest on the same turn are known to be about the same thing.
        shares = not set(entry.sources).isdisjoint(preference.occasions.sources)
        return shares and retells(preference.content, entry.content, self.vocabulary)

    def _refusal(self, shown: JudgedPreference, met: _PreferenceDraft | None) -> Refusal | None:
        preference, occasions = _preference(shown), _occasions(shown)
        label, quoted = _item(shown).label, occasions.evidence.quoted
        if preference is not None and is_forgotten(preference.content, quoted, self.known.forgotten):
            return Refusal(Refused.FORGOTTEN, label)
        if isinstance(shown, PreferenceReinforcement):
            if met is None:
                return Refusal(Refused.STALE_SOURCE, shown.entry_id)
            if not are_related(texts_of(occasions), met.after.content):
                return Refusal(Refused.UNRELATED, f"{label} and {shown.entry_id}")
        content = preference.content if preference is not None else met.after.content if met is not None else ""
        is_declined = mark_of(content, [occasions]) in self.declined
        return Refusal(Refused.UNDONE_BY_PERSON, label) if is_declined else None

    def _contradiction(self, shown: PreferenceSupersession) -> Refusal | None:
        """Return why the older preference must not give way; where the evidence is even, a person is asked."""
        old, label = shown.old, shown.preference.item.label
        taken = {draft.gives_way.id for draft in self._drafts if draft.gives_way is not None}
        touched = {draft.after.id for draft in self._changed}
        if old is None:
            return Refusal(Refused.STALE_SOURCE, shown.old_id)
        if old.id in taken | touched:
            return Refusal(Refused.HANDLE_REUSED, old.id)
        if old.pinned:
            return Refusal(Refused.PROTECTED_ENTRY, old.id)
        if not are_related([shown.preference.content, *texts_of(shown.preference.occasions)], old.content):
            return Refusal(Refused.UNRELATED, f"{label} and {old.id}")
        proposed = shown.preference.entry(old.id + "'", self.as_of)
        verdict = judge(
            SideEvidence.of([old], self.known.speakers.get(old.id, ())),
            SideEvidence.of([proposed], speakers_of(shown.preference.occasions.heard)),
            self.as_of,
        )
        if verdict is ConflictVerdict.CLOSE_CALL:
            self.questions.append((label, old.id))
            return Refusal(Refused.CLOSE_CALL, f"{label} and {old.id}")
        return (
            None if verdict is ConflictVerdict.GIVES_WAY else Refusal(Refused.WEAKER_EVIDENCE, f"{label} and {old.id}")
        )

    def _reinforce(self, draft: _PreferenceDraft, occasions: Occasions) -> None:
        after = seen_again(draft.after, occasions, self.as_of)
        gives_way = {one.gives_way.id for one in self._drafts if one.gives_way is not None}
        if after == draft.after or draft.after.id in gives_way:
            self._nothing_new += 1
            return
        draft.after = after
        draft.shown.append(occasions)

    def _change_set(self, draft: _PreferenceDraft) -> ChangeSet:
        reason = draft.shown[0].reason()
        kept = Change[MemoryEntry](
            before=draft.before,
            after=draft.after,
            reason=reason if draft.before is None else f"seen again: {reason}",
        )
        mark = mark_of(draft.after.content, draft.shown)
        changes: tuple[Change[Record], ...] = (kept,)
        marks = {draft.after.id: mark}
        if draft.gives_way is not None:
            changes = (kept, superseded(draft.gives_way, draft.after.id, self.as_of))
            marks[draft.gives_way.id] = mark
        operation = PREFER if draft.before is None else REINFORCE
        return ChangeSet(
            operation=SUPERSEDE if draft.gives_way is not None else operation, changes=changes, fingerprints=marks
        )


def mark_of(content: str, occasions: Iterable[Occasions]) -> str:
    """Return what a person declines by taking a preference back: these words, from these sources."""
    sources = sorted({str(source) for one in occasions for source in one.sources})
    return hashlib.blake2b(orjson.dumps([PREFER, normalise(content), sources]), digest_size=16).hexdigest()


def marks_of(shown: Sequence[JudgedPreference], known: PreferenceCandidates) -> frozenset[str]:
    """Return the marks under which a person may have declined any of them."""
    texts = {entry.id: entry.content for entry in known.entries}
    marks: set[str] = set()
    for one in shown:
        preference = _preference(one)
        content = texts.get(one.entry_id, "") if isinstance(one, PreferenceReinforcement) else ""
        marks.add(mark_of(content if preference is None else preference.content, [_occasions(one)]))
    return frozenset(marks)


def seen_again(entry: MemoryEntry, occasions: Occasions, as_of: datetime) -> MemoryEntry:
    """Return a preference after it was shown again: it counts once more for turns that are not counted yet."""
    fresh = fresh_turns(entry, occasions.heard)
    trust = min(turn.trust for turn in occasions.evidence.turns)
    if not fresh or trust < entry.trust:
        return entry
    said = [turn.occurred_at for turn in fresh]
    return replace(
        entry,
        created_at=min(entry.created_at, *said),
        last_seen_at=max(entry.last_seen_at, min(max(said), as_of)),
        own_count=entry.own_count + 1,
        sources=tuple(sorted({*entry.sources, *occasions.sources})),
    )


def superseded(old: MemoryEntry, heir: str, as_of: datetime) -> Change[MemoryEntry]:
    """Return the change that has another preference take the place of *old*."""
    reason = f"contradicted by {heir}"
    after = replace(old, status=Status.SUPERSEDED, status_reason=reason, successor=heir, status_at=as_of)
    return Change[MemoryEntry](before=old, after=after, reason=reason)


def texts_of(occasions: Occasions) -> list[str]:
    """Return what people said."""
    return [*(turn.content for turn in occasions.heard), *(one.summary for one in occasions.feedback)]


def _preference(shown: JudgedPreference) -> Preference | None:
    if isinstance(shown, PreferenceReinforcement):
        return None
    return shown.preference if isinstance(shown, PreferenceSupersession) else shown


def _occasions(shown: JudgedPreference) -> Occasions:
    if isinstance(shown, PreferenceReinforcement):
        return shown.occasions
    return (shown.preference if isinstance(shown, PreferenceSupersession) else shown).occasions


def _item(shown: JudgedPreference) -> PreferenceItem:
    return (shown.preference if isinstance(shown, PreferenceSupersession) else shown).item
