"""Judges the edits of an answer one by one: what they lose, make up or must not touch."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations

from agentcore.domain.subject_time import compatible
from agentcore.domain.text import hidden_in
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.guards.verdict import EvidenceText, Verdict, judge as judge_words
from dream.options import DocumentOptions, DreamOptions
from dream.passes.document_consolidation.items import DocumentItem
from dream.passes.document_consolidation.prompt import GivenEdit, Op, operation_of
from dream.passes.exchange_state import Item
from dream.passes.rewriting import judged_by_words
from dream.passes.terms import terms_of


def are_related(pieces: Sequence[DocumentItem]) -> bool:
    """Tell whether each of several items has a word in common with another of them."""
    words = [set(terms_of(piece.said)) for piece in pieces]
    return all(
        any(not mine.isdisjoint(theirs) for other, theirs in enumerate(words) if other != place)
        for place, mine in enumerate(words)
    )


_SHOWN = 40
_FEWEST = {Op.MERGE: 2, Op.ADD: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentHandles:
    """What the handles of a batch stand for, as MEMORY.md is now.

    Args:
        ids: The item id of each handle.
        pieces: Those that still say what they said, by handle.
    """

    ids: Mapping[str, str]
    pieces: Mapping[str, DocumentItem]

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
class SortedEdits:
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


def sort_out(given: Sequence[GivenEdit], document_handles: DocumentHandles) -> SortedEdits:
    """Return the edits of an answer that may be judged, and what of it was refused.

    An item that two edits use is changed by neither; to add a text only refers to items.
    """
    found = SortedEdits()
    used = Counter(handle for edit in given if edit.op is not Op.ADD for handle in edit.items)
    for edit in given:
        fault = _fault(edit, used, document_handles)
        if fault is not None:
            found.refused.append(fault)
            found.stale |= (
                set(edit.items) - document_handles.pieces.keys() if fault.code == Refused.STALE_SOURCE else set()
            )
        elif edit.op is Op.KEEP:
            found.kept += len(edit.items)
        else:
            found.edits += _one_by_one(edit)
    return found


def over_eager(
    given: Sequence[GivenEdit], document_handles: DocumentHandles, options: DocumentOptions, *, is_whole: bool
) -> Refusal | None:
    """Return why nothing of an answer is used: it would take out, or change, too much of what it was shown.

    What it archives counts as lost; what it archives, merges away (n items into one: n - 1) and rewords as changed. Of
    a page that was shown whole one item may go and two may change, however short it is; parts of a page have no such
    allowance, or they would add up to more than the page's share.
    """
    known = {edit.number: [handle for handle in edit.items if handle in document_handles.pieces] for edit in given}
    archived = len({handle for edit in given if edit.op is Op.ARCHIVE for handle in known[edit.number]})
    merged = sum(max(0, len(known[edit.number]) - 1) for edit in given if edit.op is Op.MERGE)
    reworded = sum(len(known[edit.number]) for edit in given if edit.op is Op.REWRITE)
    shown = len(document_handles.pieces)
    if archived > max(int(is_whole), int(options.loss_limit * shown)):
        return Refusal(Refused.OVER_EAGER, f"it would archive {archived} of {shown} items")
    changed = archived + merged + reworded
    if changed > max(2 * is_whole, int(options.change_limit * shown)):
        return Refusal(Refused.OVER_EAGER, f"it would archive, merge or reword {changed} of {shown} items")
    return None


def _fault(edit: GivenEdit, used: Mapping[str, int], document_handles: DocumentHandles) -> Refusal | None:
    if len(edit.items) < _FEWEST.get(edit.op, 1) or (edit.op is Op.REWRITE and len(edit.items) > 1):
        return Refusal(Refused.NO_SOURCES, f"edit {edit.number}: {edit.op} of {len(edit.items)} items")
    fault = document_handles.unusable((*edit.items, *(() if edit.target is None else (edit.target,))))
    if fault is not None or edit.op is Op.ADD:
        return fault
    shared = [handle for handle in edit.items if used[handle] > 1]
    if shared:
        return Refusal.of(Refused.HANDLE_REUSED, shared)
    return None if edit.op is Op.KEEP else document_handles.unchangeable(edit.items)


def _one_by_one(edit: GivenEdit) -> Iterator[GivenEdit]:
    if edit.op in {Op.ARCHIVE, Op.MOVE}:
        yield from (edit.model_copy(update={"items": (handle,)}) for handle in edit.items)
    else:
        yield edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Approved:
    """An edit that may be made.

    Args:
        op: What it does.
        pieces: The items it is about, in the order in which they stand.
        text: The text it writes.
        target: Where it moves to.
        reason: Why, for people.
        mark: What a person declines by taking it back: what is done to which items, in whatever words.
    """

    op: Op
    pieces: tuple[DocumentItem, ...]
    text: str = ""
    target: DocumentItem | None = None
    reason: str = ""
    mark: str = ""

    @property
    def weight(self) -> int:
        """How many items it changes, takes away or adds, as far as the share of a day counts them."""
        match self.op:
            case Op.MERGE:
                return sum(piece.said != self.text for piece in self.pieces)
            case Op.ARCHIVE | Op.REWRITE | Op.ADD:
                return 1
            case _:
                return 0


def judge(
    edits: Sequence[GivenEdit], document_handles: DocumentHandles, options: DreamOptions, vocabulary: Vocabulary
) -> tuple[list[Item[tuple[Approved, ...]]], list[Refusal]]:
    """Judge by words edits that name what they may name; one that changes nothing is neither taken nor refused."""
    place = {handle: number for number, handle in enumerate(document_handles.ids)}
    items: dict[int, Item[tuple[Approved, ...]]] = {}
    refused: list[Refusal] = []
    for given in edits:
        edit = given.model_copy(update={"items": tuple(sorted(given.items, key=place.__getitem__))})
        made = _item(edit, document_handles, options, vocabulary)
        if isinstance(made, Refusal):
            refused.append(made.at(edit.number + 1))
        elif made is not None:
            # Several items that an edit archives or moves are several changes.
            before = items[made.number].value if made.number in items else ()
            items[made.number] = replace(made, value=(*before, *made.value))
    return list(items.values()), refused


def _item(
    edit: GivenEdit, document_handles: DocumentHandles, options: DreamOptions, vocabulary: Vocabulary
) -> Item[tuple[Approved, ...]] | Refusal | None:
    pieces = tuple(document_handles.pieces[handle] for handle in edit.items)
    target = None if edit.target is None else document_handles.pieces[edit.target]
    made = _approved(edit, pieces, target, options, vocabulary)
    if made is None or isinstance(made, Refusal):
        return made
    assertion = _assertion(made)
    verdict = Verdict.PROVEN if assertion is None else _verdict(edit, assertion, vocabulary)
    if isinstance(verdict, Refusal):
        return verdict
    return Item(number=edit.number + 1, value=(made,), verdict=verdict, assertion=assertion)


def _assertion(made: Approved) -> Assertion | None:
    """Return what has to hold of a text: it tells all of the items that it takes the place of, and no more.

    What is added takes the place of none, and may count the items that it cites. None if nothing is worded anew.
    """
    if made.op not in {Op.MERGE, Op.REWRITE, Op.ADD}:
        return None
    above = dict.fromkeys(word for piece in made.pieces for word in (*piece.item.section, *piece.above))
    beside = [("heading", told) for told in above]
    beside += [("count", f"{len(made.pieces)} items")] if made.op is Op.ADD else []
    return Assertion(
        text=made.text,
        evidence=(
            *(EvidenceLine(text=piece.said, role="item") for piece in made.pieces),
            *(EvidenceLine(text=text, role=role, is_beside=True) for role, text in beside),
        ),
        whole=made.op is not Op.ADD,
    )


def _verdict(edit: GivenEdit, assertion: Assertion, vocabulary: Vocabulary) -> Verdict | Refusal:
    found = judged_by_words(assertion, vocabulary)
    for code, details in ((Refused.LOST_DETAIL, found.lost), (Refused.INVENTED_DETAIL, found.invented)):
        if details:
            return Refusal(code, f"{Refusal.of(code, edit.items).detail}: {', '.join(map(str, details))}")
    return Verdict.PROVEN if found.is_proven else Verdict.UNDECIDED


def mark_of(op: Op, pieces: Collection[DocumentItem]) -> str:
    """Return what identifies an edit: what is done to which items, as they say it."""
    keys = sorted(piece.key for piece in pieces)
    return blake2b("\x1f".join([operation_of(op), *keys]).encode(), digest_size=16).hexdigest()


def _approved(
    edit: GivenEdit,
    pieces: tuple[DocumentItem, ...],
    target: DocumentItem | None,
    options: DreamOptions,
    vocabulary: Vocabulary,
) -> Approved | Refusal | None:
    made = Approved(op=edit.op, pieces=pieces, target=target, mark=mark_of(edit.op, pieces))
    match edit.op:
        case Op.ARCHIVE:
            return _archiving(edit, made, options, vocabulary)
        case Op.MOVE:
            return _moving(edit, made)
        case Op.ADD:
            return _adding(edit, made)
        case _:
            pass
    fault = _text_fault(edit, pieces)
    if fault is None and edit.op is Op.MERGE:
        fault = _joining_fault(edit.items, pieces)
    if fault is not None:
        return fault
    if edit.op is Op.REWRITE and edit.text == pieces[0].said:
        return None
    count = (
        f"{len(pieces)} items that say the same in other words merged" if edit.op is Op.MERGE else "put in better words"
    )
    return replace(made, text=edit.text, reason=count)


def _archiving(edit: GivenEdit, made: Approved, options: DreamOptions, vocabulary: Vocabulary) -> Approved | Refusal:
    (piece,) = made.pieces
    if piece.item.nested:
        return Refusal.of(Refused.HAS_NESTED, edit.items)
    entry, terms = piece.entry, options.consolidation
    # What was merged or superseded in the store may go however important it was.
    if entry is not None and entry.is_active and (entry.pinned or entry.base >= terms.protect_importance):
        return Refusal.of(Refused.PROTECTED_ENTRY, [entry.id])
    told = [EvidenceText(text=one.said) for one in (piece, made.target) if one is not None]
    is_refuted = judge_words(edit.reason, told, vocabulary=vocabulary).verdict is Verdict.REFUTED
    is_told = edit.reason and not is_refuted and secret_in(edit.reason) is None
    default = "no longer needed" if made.target is None else "another item holds in its place"
    return replace(made, reason=f"archived: {edit.reason if is_told else default}")


def _moving(edit: GivenEdit, made: Approved) -> Approved | Refusal | None:
    (piece,) = made.pieces
    if made.target is None:
        return Refusal(Refused.NO_SOURCES, f"edit {edit.number}: it names no item to move to")
    if piece.item.nested or piece.above:
        return Refusal.of(Refused.HAS_NESTED, edit.items)
    if made.target.is_kept:
        return Refusal.of(Refused.CONTEXT_ONLY, [edit.target or ""])
    if made.target.item.section == piece.item.section:
        return None
    return replace(made, reason=f"moved to {' > '.join(made.target.item.section) or 'the beginning'}")


def _adding(edit: GivenEdit, made: Approved) -> Approved | Refusal:
    if any(piece.is_pattern for piece in made.pieces):
        return Refusal.of(Refused.NOT_EVIDENCE, edit.items)
    fault = _text_fault(edit, made.pieces)
    return fault or replace(made, text=edit.text, reason=f"what {len(made.pieces)} items show together")


def _text_fault(edit: GivenEdit, pieces: Sequence[DocumentItem]) -> Refusal | None:
    # Marks of direction turn round what is read; those that a person wrote may stay.
    if not edit.text or hidden_in(edit.text) - hidden_in("".join(piece.item.text for piece in pieces)):
        return Refusal.of(Refused.INVALID_CONTENT, edit.items)
    secret = secret_in(edit.text)
    return None if secret is None else Refusal(Refused.SECRET, f"{', '.join(edit.items)}: it would hold a {secret}")


def _joining_fault(handles: Sequence[str], pieces: Sequence[DocumentItem]) -> Refusal | None:
    if any(piece.item.nested for piece in pieces[1:]) or len({piece.above for piece in pieces}) > 1:
        return Refusal.of(Refused.HAS_NESTED, handles)
    if not are_related(pieces):
        return Refusal.of(Refused.UNRELATED, handles)
    times = [piece.entry.subject_time for piece in pieces if piece.entry is not None]
    if not all(compatible(one, other) for one, other in combinations(times, 2)):
        return Refusal.of(Refused.DISTINCT_MOMENTS, handles)
    return None
