"""Reconciles preferences with known ones: new, shown again, superseding a contradicted one, or an open question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final

from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.validity import superseded
from agentcore.stores.storage import ReadView
from dream.domain.change import Change, ChangeSet
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes.conflicts import ConflictVerdict, SideEvidence, judge, speakers_by_entry, speakers_of
from dream.passes.conversation.neighbours import are_related
from dream.passes.conversation.reconcile import EntryDraft, KnownEntries, Reconciler, Reinforcement
from dream.passes.preferences.judging import PERMISSION, PREFERENCES, Occasions, Preference

PREFER: Final = "prefer"
"""Operation of a change set that adds a preference."""
SUPERSEDE: Final = "supersede"
"""Operation of a change set that puts a preference in the place of another one."""
_QUESTION: Final = (
    "Which of these holds now? New occasions speak against the preference, about as strongly as others for it."
)

JudgedPreference = Preference | Reinforcement


@dataclass(kw_only=True)
class PreferenceReconciler(Reconciler[Preference]):
    """Reconciles preferences with known ones, stated and inferred."""

    adds: ClassVar[str] = PREFER
    found: ClassVar[str] = "preferences_found"
    within: ClassVar[str | None] = PREFERENCES

    questions: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @classmethod
    def candidates(cls, view: ReadView, statements: Sequence[JudgedPreference]) -> KnownEntries:
        """Look up what is known, and who said what is contradicted."""
        known = KnownEntries.of(view, statements, cls.within)
        contradicted = [one.old for one in statements if isinstance(one, Preference) and one.old is not None]
        return replace(known, speakers=speakers_by_entry(view, contradicted))

    @classmethod
    def marked_sources(cls, statement: JudgedPreference) -> Iterable[str]:
        """Return the turns and the feedback that show it."""
        return map(str, statement.sources)

    def is_same(self, statement: Preference, entry: MemoryEntry, *, is_equal: bool) -> bool:
        """Tell whether a preference other than the contradicted one says the same."""
        is_other = entry.id != statement.old_id
        return is_other and Reconciler[Preference].is_same(self, statement, entry, is_equal=is_equal)

    def refusal(self, statement: JudgedPreference, draft: EntryDraft[Preference] | None) -> Refusal | None:
        """Return why a preference must not be remembered, or must not supersede another one."""
        refusal = super().refusal(statement, draft)
        if refusal is not None or draft is not None or not isinstance(statement, Preference):
            return refusal
        return None if statement.old_id is None else self._contradiction(statement, statement.old_id)

    def least_trust(self, statement: JudgedPreference) -> Trust:
        """Return the least trust of the turns."""
        return min(turn.trust for turn in statement.evidence.turns)

    def reinforced(self, draft: EntryDraft[Preference], statement: JudgedPreference) -> MemoryEntry:
        """Reinforce an entry unless another preference supersedes it."""
        if draft.after.id in self._superseded:
            return draft.after
        return super().reinforced(draft, statement)

    def change_set(self, draft: EntryDraft[Preference]) -> ChangeSet:
        """Return the change set of one draft, with the preference that it supersedes."""
        made = super().change_set(draft)
        old = _gives_way(draft)
        if old is None:
            return made
        marks = {**made.fingerprints, old.id: made.fingerprints[draft.after.id]}
        changes = (*made.changes, contradicted(old, draft.after, self.as_of))
        return replace(made, operation=SUPERSEDE, changes=changes, fingerprints=marks)

    def notes(self) -> Mapping[str, Any]:
        """Return the findings for the report."""
        new = [draft for draft in self.changed if draft.before is None]
        return {
            "preferences_found": self.counts[self.found],
            "new": len(new),
            "reinforced": len(self.changed) - len(new),
            "superseded": len(self._superseded),
            "known": self.counts["known"],
            "need_permission": sum(PERMISSION in draft.after.metadata for draft in new),
            "questions": [{"entries": [old], "question": f"{_QUESTION} ({label})"} for label, old in self.questions],
        }

    @property
    def _superseded(self) -> set[str]:
        return {old.id for old in map(_gives_way, self.drafts) if old is not None}

    def _contradiction(self, statement: Preference, old_id: str) -> Refusal | None:
        """Return why the older preference must not give way; where the evidence is even, a person is asked."""
        old, label = statement.old, statement.label
        if old is None:
            return Refusal(Refused.STALE_SOURCE, old_id)
        if old.id in self._superseded | {draft.after.id for draft in self.changed}:
            return Refusal(Refused.HANDLE_REUSED, old.id)
        if old.pinned:
            return Refusal(Refused.PROTECTED_ENTRY, old.id)
        if not are_related([statement.content, *texts_of(statement.evidence)], old.content):
            return Refusal(Refused.UNRELATED, f"{label} and {old.id}")
        proposed = replace(statement, old=None).entry(old.id + "'", self.as_of)
        verdict = judge(
            SideEvidence.of([old], self.known.speakers.get(old.id, ())),
            SideEvidence.of([proposed], speakers_of(statement.evidence.heard)),
            self.as_of,
        )
        if verdict is ConflictVerdict.CLOSE_CALL:
            self.questions.append((label, old.id))
            return Refusal(Refused.CLOSE_CALL, f"{label} and {old.id}")
        return (
            None if verdict is ConflictVerdict.GIVES_WAY else Refusal(Refused.WEAKER_EVIDENCE, f"{label} and {old.id}")
        )


def _gives_way(draft: EntryDraft[Preference]) -> MemoryEntry | None:
    """Return the entry that a new preference takes the place of."""
    first = draft.statements[0] if draft.statements and draft.before is None else None
    return first.old if isinstance(first, Preference) else None


def contradicted(old: MemoryEntry, heir: MemoryEntry, as_of: datetime) -> Change[MemoryEntry]:
    """Return the change that has another preference take the place of *old*."""
    reason = f"contradicted by {heir.id}"
    return Change[MemoryEntry](before=old, after=superseded(old, by=heir, reason=reason, at=as_of), reason=reason)


def texts_of(occasions: Occasions) -> list[str]:
    """Return what people said."""
    return [*(turn.content for turn in occasions.heard), *(one.summary for one in occasions.feedback)]
