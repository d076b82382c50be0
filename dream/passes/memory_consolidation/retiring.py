"""Entries that go: superseded by another one, or dropped."""

from agentcore.domain.memory import MemoryEntry, Status
from dream.domain.change import ChangeSet, fingerprint
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.merge_coverage import coverage
from dream.passes.memory_consolidation.desk import Desk
from dream.passes.memory_consolidation.faithful import compare, unfaithful
from dream.passes.memory_consolidation.giving_way import CloseCall, may_give_way
from dream.passes.memory_consolidation.merging import retired
from dream.passes.memory_consolidation.operations import Dropping, Superseding
from dream.passes.memory_consolidation.sheet import Sheet

SUPERSEDE = "supersede"
DROP = "drop"


def judge_superseding(superseding: Superseding, sheet: Sheet, desk: Desk) -> ChangeSet | Refusal | CloseCall:
    """Return the change that has a live entry take the place of an older one, or why it must not."""
    old, successor = sheet.entries[superseding.item.handle], sheet.entries.get(superseding.successor)
    if successor is None:
        return Refusal.of(Refused.STALE_SOURCE, [sheet.ids[superseding.successor]])
    if desk.is_protected_category(old.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, [old.id])
    verdict = may_give_way(old, [successor], desk)
    if verdict is None:
        found = compare(desk, successor.content, [successor], [old], successor.category)
        verdict = unfaithful(found, [old.id])
    if verdict is not None:
        return verdict
    change = retired(old, Status.SUPERSEDED, f"superseded by {successor.id}", successor.id, desk)
    mark = fingerprint(SUPERSEDE, old, successor)
    return ChangeSet(operation=SUPERSEDE, changes=(change,), fingerprints={old.id: mark})


def judge_dropping(dropping: Dropping, sheet: Sheet, desk: Desk) -> ChangeSet | Refusal:
    """Return the change that sets an entry aside for good, or why it must not."""
    entry = sheet.entries[dropping.item.handle]
    if desk.merge_only:
        return Refusal.of(Refused.MERGE_ONLY, [entry.id])
    if desk.is_protected_category(entry.category):
        return Refusal.of(Refused.PROTECTED_CATEGORY, [entry.id])
    if desk.is_worth_keeping(entry):
        return Refusal.of(Refused.PROTECTED_ENTRY, [entry.id])
    change = retired(entry, Status.ARCHIVED, _reason(dropping, entry, desk), None, desk)
    return ChangeSet(operation=DROP, changes=(change,), fingerprints={entry.id: fingerprint(DROP, entry)})


def _reason(dropping: Dropping, entry: MemoryEntry, desk: Desk) -> str:
    """Return the model's reason if it tells nothing that the entry itself does not: so it is forgotten with it."""
    given = dropping.item.reason
    told = given and not coverage((entry.content,), given, desk.vocabulary).invented
    return f"of no lasting value: {given}" if told else "of no lasting value"


def is_over_eager(droppings: int, members: int) -> bool:
    """Tell whether an answer would drop more than three quarters of four records or more.

    Example:
        >>> is_over_eager(4, 4), is_over_eager(3, 4), is_over_eager(3, 3)
        (True, False, False)
    """
    return members >= 4 and 4 * droppings > 3 * members
