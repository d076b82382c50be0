"""Exact-duplicate fold: equal texts become one entry, the older one."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.temporal import absorb, foldable
from agentcore.domain.text import fold_key
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import EXACT_FOLD
from dream.domain.change import FOLD, Change, ChangeSet, fingerprint
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.passes.declared import DeclaredPass
from dream.passes.protocol import DreamContext

_WINDOW = 20_000
"""Places in the order of arrival that one step looks at: a text that is alone costs an index look-up only."""


@dataclass(frozen=True, slots=True)
class _Window:
    """Groups of equal texts with a member in the window of positions, and where that window ends."""

    groups: tuple[tuple[MemoryEntry, ...], ...]
    marks: frozenset[str]
    fresh: frozenset[str]
    end: int
    last: int
    compared: int


@dataclass(frozen=True, slots=True)
class _Fold:
    """Copies that become one with their survivor."""

    survivor: MemoryEntry
    copies: tuple[MemoryEntry, ...]

    def marks(self) -> dict[str, str]:
        """Return, per member, what a person declines by taking the fold back: that these be one again."""
        return {member.id: _mark(member) for member in (self.survivor, *self.copies)}


class ExactFold(DeclaredPass, declaration=EXACT_FOLD):
    """Folds entries whose normalised text, category and level are equal and whose subject times are compatible.

    The oldest survives with its id, text and trust; counts are summed over distinct observations, tags united, and the
    copies archived with the survivor as successor.
    """

    async def has_work(self, context: DreamContext) -> Work:
        """Anything new or reopened has to be compared."""
        return Work(
            await context.read(
                lambda view: view.entries.count_material(after=context.cursor, also=context.reopened),
            ),
        )

    async def propose(self, context: DreamContext) -> Proposal:
        """Fold the groups of the next window, as many as fit the step."""
        window = await context.read(lambda view: _next_window(view, context))
        declined = await context.withheld(window.marks)
        # Hundreds of folds take longer than the event loop may stall.
        return await asyncio.to_thread(_proposed, window, declined, context)

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over the steps."""
        return summed(notes, "compared", "folded")


def _proposed(window: _Window, declined: Mapping[str, Refused], context: DreamContext) -> Proposal:
    folds, refused = _judged(window, declined, context.options.protected_categories)
    fitting, truncated = _fitting(folds, context.options.step_size)
    end = context.cursor if truncated else window.end
    return Proposal(
        change_sets=tuple(_change_set(fold, context.as_of) for fold in fitting),
        refused=() if truncated else tuple(refused),
        notes={
            "compared": 0 if truncated else window.compared,
            "folded": sum(len(fold.copies) for fold in fitting),
        },
        cursor=end,
        looked_at=() if truncated else tuple(sorted(context.reopened)),
        done=not truncated and window.end >= window.last,
    )


def _next_window(view: ReadView, context: DreamContext) -> _Window:
    last = max(view.entries.last_position(), context.cursor)
    end = min(last, context.cursor + _WINDOW)
    # Each has a twin, often outside the window, that changes with it; a step cut short looks at its window again.
    limit = context.options.step_size // 2
    found = view.entries.repeated(after=context.cursor, upto=end, also=context.reopened, limit=limit)
    if len(found) >= limit:
        end = max(context.cursor, found[-1].position)
    members = view.entries.with_fold_keys({item.fold_key for item in found})
    keyed = sorted(
        ((fold_key(entry.content), place, entry) for place, entry in enumerate(members)), key=lambda k: k[:2]
    )
    groups = tuple(tuple(entry for _, _, entry in group) for _, group in groupby(keyed, key=lambda k: k[0]))
    compared = view.entries.count_material(after=context.cursor, also=context.reopened, upto=end)
    marks = frozenset(_mark(entry) for group in groups for entry in group)
    return _Window(groups, marks, frozenset(item.id for item in found), end, last, compared)


def _judged(
    window: _Window, declined: Mapping[str, Refused], protected: Sequence[str]
) -> tuple[list[_Fold], list[Refusal]]:
    """Return the folds that may be, and what was refused; members of an undone fold never join again."""
    refused: list[Refusal] = []
    folds = [fold for group in window.groups for fold in _folds(group, protected, window.fresh, declined, refused)]
    return folds, refused


def _folds(
    group: Sequence[MemoryEntry],
    protected: Sequence[str],
    fresh: frozenset[str],
    declined: Mapping[str, Refused],
    refused: list[Refusal],
) -> list[_Fold]:
    """Fold each copy into the oldest entry it fits; a pair of which neither is new was judged by an earlier run."""
    folds: list[_Fold] = []
    left = list(group)
    while len(left) > 1:
        survivor, *others = left
        reached = survivor
        copies: list[MemoryEntry] = []
        kept_apart = _mark(survivor) in declined
        left = list[MemoryEntry]()
        for other in others:
            new = survivor.id in fresh or other.id in fresh
            if not (new and foldable(reached, other, protected)):
                left.append(other)
            elif kept_apart and _mark(other) in declined:
                refused.append(Refusal(declined[_mark(other)], f"{other.id} into {survivor.id}"))
            else:
                copies.append(other)
                kept_apart = kept_apart or _mark(other) in declined
                reached = _widened(reached, other)
        if copies:
            folds.append(_Fold(survivor, tuple(copies)))
    return folds


def _mark(entry: MemoryEntry) -> str:
    return fingerprint(FOLD, entry)


def _widened(reached: MemoryEntry, copy: MemoryEntry) -> MemoryEntry:
    if copy.subject_time is None or copy.trust < reached.trust:
        return reached
    return replace(reached, subject_time=SubjectTime.merge([reached.subject_time, copy.subject_time]))


def _fitting(folds: Sequence[_Fold], room: int) -> tuple[list[_Fold], bool]:
    """Return as many folds as change at most *room* records, the last one cut short if it must be."""
    fitting: list[_Fold] = []
    for fold in folds:
        if room < 2:
            return fitting, True
        fitting.append(_Fold(fold.survivor, fold.copies[: room - 1]))
        room -= 1 + len(fitting[-1].copies)
        if len(fitting[-1].copies) < len(fold.copies):
            return fitting, True
    return fitting, False


def _change_set(fold: _Fold, as_of: datetime) -> ChangeSet:
    names = ", ".join(copy.id for copy in fold.copies)
    kept = Change[MemoryEntry](
        before=fold.survivor,
        after=absorb(fold.survivor, fold.copies),
        reason=f"took over {names}, which say the same",
    )
    retired = [
        Change[MemoryEntry](
            before=copy, after=_archived(copy, fold.survivor, as_of), reason=f"duplicate of {fold.survivor.id}"
        )
        for copy in fold.copies
    ]
    return ChangeSet(operation=FOLD, changes=(kept, *retired), fingerprints=fold.marks())


def _archived(copy: MemoryEntry, survivor: MemoryEntry, as_of: datetime) -> MemoryEntry:
    return replace(
        copy,
        status=Status.ARCHIVED,
        status_reason=f"duplicate of {survivor.id}",
        successor=survivor.id,
        status_at=as_of,
    )
