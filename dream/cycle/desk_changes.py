"""Makes the change sets of what a person decides about entries and questions; no store is asked, nothing is written.

A person may do what no pass may: raise trust, unpin, touch protected categories. So no guard judges these changes;
one is asked which entries say the same to the letter, so that what holds never rests on what does not.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Status, Trust, own_words
from agentcore.domain.question import Question, QuestionCause, QuestionState, QuestionVerdict
from agentcore.domain.records import Record
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import absorb, merged_fields
from agentcore.domain.text import normalise
from agentcore.domain.validity import superseded
from agentcore.errors import InvalidSubjectTimeError
from agentcore.hosting.checks import clean_subject_time
from dream.domain.change import Change, ChangeSet, fingerprint
from dream.domain.desk_decision import DeskDecision
from dream.guards import DetailKind, measures_of
from dream.guards.verdict import EvidenceText, Verdict, judge

if TYPE_CHECKING:
    from dream.guards.dates import Day
    from dream.guards.numbers import Quantity

EDIT: Final = "edit"
MERGE: Final = "merge"
SUPERSEDE: Final = "supersede"
ANSWER: Final = "answer"

_YEAR: Final = re.compile(r"(?<![-\d])[12]\d{3}(?!\d)")


def time_told(before: MemoryEntry, content: str) -> SubjectTime | None:
    """Return what an entry is about once it has another text: the same time, unless that tells other days or years.

    Of a text that tells one day, or a month, of a known year it is that; of any other with other days it is unknown. A
    number may be no year, so another one counts only where the entry is about the year that the former text told.
    """
    days, about = _days(content), before.subject_time
    if days == _days(before.content):
        return about and _in_other_years(about, _years(before.content), _years(content))
    (year, month, day), *others = days or [(None, None, None)]
    if not days and about is not None and len(years := _years(content)) == 1:
        return clean_subject_time(*years)
    if year is None or month is None or others:
        return None
    return clean_subject_time(f"{year:04}-{month:02}" + (f"-{day:02}" if day else ""))


def _days(content: str) -> list[tuple[int | None, int | None, int | None]]:
    told = (cast("Day", one.key) for one in measures_of(content) if one.kind is DetailKind.DATE)
    return sorted({(one.year, one.month, one.day) for one in told}, key=str)


def _years(content: str) -> set[str]:
    told = (cast("Quantity", one.key) for one in measures_of(content) if one.kind is DetailKind.NUMBER)
    return {one.values[0] for one in told if one.unit in {None, "year"} and _YEAR.fullmatch(one.values[0])}


def _in_other_years(about: SubjectTime, former: set[str], told: set[str]) -> SubjectTime | None:
    """Return a time in the years that are *told* instead of the *former* ones; None where it is not clear in which."""
    gone, come = {one for one in former - told if one in _YEAR.findall(str(about))}, told - former
    if not gone:
        return about
    if len(gone) == len(come) == 1:
        (year,), (other,) = gone, come
        with suppress(InvalidSubjectTimeError):
            return clean_subject_time(re.sub(rf"(?<![-\d]){year}[-0-9T:]*", other, str(about)))
    return clean_subject_time(*told) if len(told) == 1 else None


def edited(before: MemoryEntry, after: MemoryEntry, what: str, decision: DeskDecision) -> ChangeSet | None:
    """Return the change of one entry, None if there is none; a text that a person wrote is evidence of its own."""
    if after == before:
        return None
    if after.content != before.content:
        after = replace(
            after,
            evidence=(own_words(after, decision.at, decision.by),),
            trust=max(after.trust, Trust.STATED),
            updated_at=decision.at,
        )
    change = Change[Record](before=before, after=after, reason=decision.told(what))
    return ChangeSet(operation=EDIT, changes=(change,))


def merged(keep: MemoryEntry, others: Sequence[MemoryEntry], decision: DeskDecision) -> list[Change[Record]]:
    """Return the changes by which one entry takes over others that say the same; a person vouches for it."""
    after = absorb(keep, list(map(_with_evidence, others)))
    after = replace(after, trust=max(after.trust, decision.trust))
    names = ", ".join(other.id for other in others)
    kept = Change[Record](before=keep, after=after, reason=decision.told(f"took over {names},"))
    return [kept, *(_merged_into(keep.id, other, decision) for other in others)]


def _with_evidence(entry: MemoryEntry) -> MemoryEntry:
    """Return an entry with what it rests on: its own words, where it has nothing else."""
    return entry if entry.evidence else replace(entry, evidence=(own_words(entry, entry.created_at, "host"),))


def _merged_into(heir: str, entry: MemoryEntry, decision: DeskDecision) -> Change[Record]:
    what = f"merged into {heir}"
    after = replace(
        entry,
        status=Status.ARCHIVED,
        # Without the person's words: these are kept where a forget finds them, in the journal and with the question.
        status_reason=f"{what} by {decision.by}",
        successor=heir,
        status_at=decision.at,
        valid_until=None,
    )
    return Change[Record](before=entry, after=after, reason=decision.told(what))


def replaced(keep: MemoryEntry, others: Sequence[MemoryEntry], decision: DeskDecision) -> list[Change[Record]]:
    """Return the changes by which one entry takes the place of others that do not hold; a person vouches for it."""
    kept: list[Change[Record]] = []
    after = replace(keep, trust=max(keep.trust, decision.trust))
    if after != keep:
        kept.append(Change[Record](before=keep, after=after, reason=decision.told("confirmed")))
    return [*kept, *(_superseded(keep, other, decision) for other in others)]


def _superseded(heir: MemoryEntry, entry: MemoryEntry, decision: DeskDecision) -> Change[Record]:
    what = f"superseded by {heir.id}, decided"
    after = superseded(entry, by=heir, reason=f"{what} by {decision.by}", at=decision.at)
    return Change[Record](before=entry, after=after, reason=decision.told(what))


def kept(keep: MemoryEntry, others: Sequence[MemoryEntry], decision: DeskDecision) -> list[Change[Record]]:
    """Return the changes by which one entry takes over those that say it too, and replaces all others."""
    agreeing = [other for other in others if says_too(other.content, keep.content)]
    rest = [other for other in others if other not in agreeing]
    if not agreeing:
        return replaced(keep, rest, decision)
    return [*merged(keep, agreeing, decision), *(_superseded(keep, other, decision) for other in rest)]


def rewritten(
    entry_id: str,
    content: str,
    members: Sequence[MemoryEntry],
    decision: DeskDecision,
    *,
    agreeing: Sequence[MemoryEntry],
) -> list[Change[Record]]:
    """Return the changes by which a new text takes the place of *members*.

    Args:
        entry_id: Of the new entry.
        content: Its text, clean.
        members: What it takes the place of, the filing is the oldest one's.
        decision: Who decides.
        agreeing: Those of them that say the same, so that what was observed of them counts for the new text.
    """
    fields = merged_fields(members)
    same = merged_fields(list(map(_with_evidence, agreeing))) if agreeing else None
    oldest = min(members, key=lambda entry: (entry.created_at, entry.id))
    new = MemoryEntry(
        id=entry_id,
        scope=oldest.scope,
        content=content,
        category=oldest.category,
        tags=fields.tags,
        base=fields.base,
        created_at=same.created_at if same else decision.at,
        recorded_at=decision.at,
        last_seen_at=decision.at,
        own_count=0 if same else 1,
        absorbed=same.absorbed if same else (),
        subject_time=same.subject_time if same else None,
        metadata=fields.metadata,
        # Of all of them: who forgets one by where it came from reaches the text that was written in its place.
        sources=fields.sources,
        trust=decision.trust,
        pinned=fields.pinned,
    )
    own = own_words(new, decision.at, decision.by)
    new = replace(new, evidence=(own, *same.evidence) if same else (own,))
    reason = decision.told(f"written in the place of {', '.join(member.id for member in members)}")
    made = Change[Record](before=None, after=new, reason=reason)
    gone = [
        _merged_into(new.id, member, decision) if member in agreeing else _superseded(new, member, decision)
        for member in members
    ]
    return [made, *gone]


def settled(
    question: Question,
    verdict: QuestionVerdict | None,
    decision: DeskDecision,
    result: str | None = None,
) -> Change[Record]:
    """Return the change that closes a question; dismissed without a verdict."""
    state = QuestionState.DISMISSED if verdict is None else QuestionState.RESOLVED
    after = replace(
        question,
        state=state,
        verdict=verdict,
        result=None if result is None else SourceRef(SourceKind.ENTRY, result),
        answered_by=decision.by,
        answered_at=decision.at,
        reason=decision.why,
    )
    return Change[Record](before=question, after=after, reason=decision.told(f"{verdict or state}, said"))


def change_set(operation: str, changes: Sequence[Change[Record]]) -> ChangeSet:
    """Return changes as one operation; whoever takes it back is not asked by a dream to have it done again."""
    retired = [change.before for change in changes if _retires(change) and change.before is not None]
    marks = {entry.id: fingerprint(operation, entry) for entry in retired}
    return ChangeSet(operation=operation, changes=tuple(changes), fingerprints=marks)


def _retires(change: Change[Record]) -> bool:
    before, after = change.before, change.after
    return (
        isinstance(before, MemoryEntry) and isinstance(after, MemoryEntry) and before.is_active and not after.is_active
    )


def says_the_same(question: Question) -> bool:
    """Tell whether the members of a question may be alike; of the other causes at most one holds."""
    return question.cause is QuestionCause.NEAR_DUPLICATE


def says_too(other: str, held: str) -> bool:
    """Tell whether a text says what another one says to the letter: what was observed of it then counts for both.

    That two texts leave room for each other is nothing that words show, so all else counts for no other text.

    Example:
        >>> says_too("Ana drinks tea", "Ana drinks tea."), says_too("Ana drinks coffee.", "Ana drinks tea.")
        (True, False)
        >>> says_too("Ana drinks tea. She lives in Bonn.", "Ana drinks tea.")
        True
    """
    return judge(held, [EvidenceText(text=other)]).verdict is Verdict.PROVEN


def twin_of(content: str, members: Sequence[MemoryEntry]) -> MemoryEntry | None:
    """Return the member that says just this text already."""
    text = normalise(content)
    return next((member for member in members if normalise(member.content) == text), None)
