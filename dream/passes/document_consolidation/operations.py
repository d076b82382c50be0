"""From given edits to operations on items: what each one uses, and which fall together because they share an item."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.options.promotion import DocumentOptions
from dream.passes.document_consolidation.answer import GivenEdit, Op
from dream.passes.document_consolidation.memory import Piece

_SHOWN = 40
_FEWEST = {Op.MERGE: 2, Op.ADD: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the handles of a batch stand for, as MEMORY.md is now.

    Args:
        ids: The item id of each handle.
        pieces: Those that still say what they said, by handle.
    """

    ids: Mapping[str, str]
    pieces: Mapping[str, Piece]

    def unusable(self, handles: Iterable[str]) -> Refusal | None:
        """Return why these cannot be referred to, or None."""
        given = list(handles)
        unknown = [handle[:_SHOWN] for handle in given if handle not in self.ids]
        if unknown:
            return Refusal.of(Refused.UNKNOWN_HANDLE, unknown)
        gone = [handle for handle in given if handle not in self.pieces]
        return Refusal.of(Refused.STALE_SOURCE, gone) if gone else None

    def unchangeable(self, handles: Iterable[str]) -> Refusal | None:
        """Return why these cannot be changed, or None."""
        given = [(handle, self.pieces[handle]) for handle in handles]
        kept = [handle for handle, piece in given if piece.is_kept]
        if kept:
            return Refusal.of(Refused.CONTEXT_ONLY, kept)
        barred = [handle for handle, piece in given if piece.is_barred]
        return Refusal.of(Refused.USER_TEXT, barred) if barred else None


@dataclass(slots=True)
class SortedOut:
    """What an answer comes to before any of it is judged.

    Args:
        edits: What may be done; archived and moved items one by one.
        refused: What is out of the question, and why.
        stale: Handles of items that an edit needs and that say something else by now.
        kept: How many items the answer keeps by name.
    """

    edits: list[GivenEdit] = field(default_factory=list[GivenEdit])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    stale: set[str] = field(default_factory=set[str])
    kept: int = 0


def sort_out(given: Sequence[GivenEdit], sheet: Sheet) -> SortedOut:
    """Return the edits of an answer that may be judged, and what of it was refused.

    An item that two edits use is changed by neither; to add a text only refers to items.
    """
    found = SortedOut()
    used = Counter(handle for edit in given if edit.op is not Op.ADD for handle in edit.items)
    for edit in given:
        fault = _fault(edit, used, sheet)
        if fault is not None:
            found.refused.append(fault)
            found.stale |= set(edit.items) - sheet.pieces.keys() if fault.code == Refused.STALE_SOURCE else set()
        elif edit.op is Op.KEEP:
            found.kept += len(edit.items)
        else:
            found.edits += _one_by_one(edit)
    return found


def over_eager(given: Sequence[GivenEdit], sheet: Sheet, options: DocumentOptions, *, is_whole: bool) -> Refusal | None:
    """Return why nothing of an answer is used: it would take out, or change, too much of what it was shown.

    What it archives counts as lost; what it archives, merges away (n items into one: n - 1) and rewords as changed. Of
    a page that was shown whole one item may go and two may change, however short it is; parts of a page have no such
    allowance, or they would add up to more than the page's share.
    """
    known = {edit.place: [handle for handle in edit.items if handle in sheet.pieces] for edit in given}
    archived = len({handle for edit in given if edit.op is Op.ARCHIVE for handle in known[edit.place]})
    merged = sum(max(0, len(known[edit.place]) - 1) for edit in given if edit.op is Op.MERGE)
    reworded = sum(len(known[edit.place]) for edit in given if edit.op is Op.REWRITE)
    shown = len(sheet.pieces)
    if archived > max(int(is_whole), int(options.loss_limit * shown)):
        return Refusal(Refused.OVER_EAGER, f"it would archive {archived} of {shown} items")
    changed = archived + merged + reworded
    if changed > max(2 * is_whole, int(options.change_limit * shown)):
        return Refusal(Refused.OVER_EAGER, f"it would archive, merge or reword {changed} of {shown} items")
    return None


def _fault(edit: GivenEdit, used: Mapping[str, int], sheet: Sheet) -> Refusal | None:
    if len(edit.items) < _FEWEST.get(edit.op, 1) or (edit.op is Op.REWRITE and len(edit.items) > 1):
        return Refusal(Refused.NO_SOURCES, f"edit {edit.place}: {edit.op} of {len(edit.items)} items")
    fault = sheet.unusable((*edit.items, *(() if edit.target is None else (edit.target,))))
    if fault is not None or edit.op is Op.ADD:
        return fault
    shared = [handle for handle in edit.items if used[handle] > 1]
    if shared:
        return Refusal.of(Refused.HANDLE_REUSED, shared)
    return None if edit.op is Op.KEEP else sheet.unchangeable(edit.items)


def _one_by_one(edit: GivenEdit) -> Iterator[GivenEdit]:
    if edit.op in {Op.ARCHIVE, Op.MOVE}:
        yield from (replace(edit, items=(handle,)) for handle in edit.items)
    else:
        yield edit
