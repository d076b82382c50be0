"""Judges the edits of an answer one by one: what they lose, make up or must not touch."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations
from typing import Final

import regex

from agentcore.domain.subject_time import compatible
from agentcore.domain.text import hidden_in
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.merge_coverage import Coverage, Superseded, coverage
from dream.guards.names import Vocabulary
from dream.guards.secrets import secret_in
from dream.options import DocumentOptions, DreamOptions
from dream.passes.document_consolidation.items import DocumentItem
from dream.passes.document_consolidation.prompt import GivenEdit, Op
from dream.passes.faithfulness import Unfaithful, unfaithful
from dream.passes.terms import terms_of

_SENTENCE: Final = regex.compile(r"(?<=[.!?;:\u3002\uff01\uff1f\uff1b])\s*")
_KEPT_WORDS: Final = 3
"""A text keeps at least one in so many of the words of each item it takes the place of."""
_NEW_WORDS: Final = 4
"""Of the words of a sentence one in so many, or one at all, may stand in none of them."""
_NEW_WORDS_OF_PATTERNS: Final = 2
"""The same of what is added: a pattern is told in words of its own."""


def compare(text: str, pieces: Sequence[DocumentItem], vocabulary: Vocabulary) -> Coverage:
    """Compare a text with the items that it takes the place of, their headings known.

    Beside the details, each item has to keep some of its words, and each sentence has to be made of theirs: what names
    nothing specific can be replaced, or added, whole.
    """
    found = _details(text, pieces, vocabulary)
    lost = (*found.lost, *_passed_over(text, pieces))
    return Coverage(lost=distinct(lost), invented=distinct((*found.invented, *_unheard(text, pieces, _NEW_WORDS))))


def compare_pattern(text: str, pieces: Sequence[DocumentItem], vocabulary: Vocabulary) -> Coverage:
    """Compare an added text with the items that it cites: it need not repeat them, may count them, makes nothing up."""
    found = _details(text, pieces, vocabulary, f"{len(pieces)} times")
    unheard = _unheard(text, pieces, _NEW_WORDS_OF_PATTERNS)
    return replace(found, lost=(), invented=distinct((*found.invented, *unheard)))


def are_related(pieces: Sequence[DocumentItem]) -> bool:
    """Tell whether each of several items has a word in common with another of them."""
    words = [set(terms_of(piece.said)) for piece in pieces]
    return all(
        any(not mine.isdisjoint(theirs) for other, theirs in enumerate(words) if other != place)
        for place, mine in enumerate(words)
    )


def _details(text: str, pieces: Sequence[DocumentItem], vocabulary: Vocabulary, *known: str) -> Coverage:
    """Compare the details; what the headings say, and what is *known* besides, may be told and need not be."""
    headings = dict.fromkeys(word for piece in pieces for word in (*piece.item.section, *piece.above))
    backing = [Superseded(content=told) for told in (*headings, *known)]
    return coverage([piece.said for piece in pieces], text, vocabulary, superseded=backing)


def _passed_over(text: str, pieces: Sequence[DocumentItem]) -> Iterator[Detail]:
    """Yield the items of whose words too few stand in the text."""
    words = set(terms_of(text))
    for piece in pieces:
        told = set(terms_of(piece.said))
        if len(told & words) * _KEPT_WORDS < len(told):
            yield Detail(DetailKind.QUOTED, piece.said[:200], piece.item.id)


def _unheard(text: str, pieces: Sequence[DocumentItem], share: int) -> Iterator[Detail]:
    """Yield the sentences of the text that are not made of the words of the items and what stands above them."""
    heard = {
        word for piece in pieces for told in (piece.said, *piece.above, *piece.item.section) for word in terms_of(told)
    }
    for sentence in _SENTENCE.split(text):
        words = set(terms_of(sentence))
        if len(words - heard) > max(1, len(words) // share):
            yield Detail(DetailKind.QUOTED, sentence[:200], sentence)


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


@dataclass(slots=True)
class JudgedEdits:
    """What became of the edits of an answer."""

    approved: list[Approved] = field(default_factory=list[Approved])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    unfaithful: list[Unfaithful] = field(default_factory=list[Unfaithful])


def judge(
    edits: Sequence[GivenEdit], document_handles: DocumentHandles, options: DreamOptions, vocabulary: Vocabulary
) -> JudgedEdits:
    """Judge edits that name what they may name; one that changes nothing is neither approved nor refused."""
    place = {handle: number for number, handle in enumerate(document_handles.ids)}
    judged = JudgedEdits()
    for given in edits:
        edit = given.model_copy(update={"items": tuple(sorted(given.items, key=place.__getitem__))})
        pieces = tuple(document_handles.pieces[handle] for handle in edit.items)
        target = None if edit.target is None else document_handles.pieces[edit.target]
        verdict = _verdict(edit, pieces, target, options, vocabulary)
        match verdict:
            case Refusal():
                judged.refused.append(verdict)
            case Unfaithful():
                judged.unfaithful.append(verdict)
                judged.refused.append(verdict.refusal)
            case Approved():
                judged.approved.append(verdict)
            case None:
                pass
    return judged


def mark_of(op: Op, pieces: Collection[DocumentItem]) -> str:
    """Return what identifies an edit: what is done to which items, as they say it."""
    keys = sorted(piece.key for piece in pieces)
    return blake2b("\x1f".join([f"document-{op}", *keys]).encode(), digest_size=16).hexdigest()


def _verdict(
    edit: GivenEdit,
    pieces: tuple[DocumentItem, ...],
    target: DocumentItem | None,
    options: DreamOptions,
    vocabulary: Vocabulary,
) -> Approved | Refusal | Unfaithful | None:
    made = Approved(op=edit.op, pieces=pieces, target=target, mark=mark_of(edit.op, pieces))
    match edit.op:
        case Op.ARCHIVE:
            return _archiving(edit, made, options, vocabulary)
        case Op.MOVE:
            return _moving(edit, made)
        case Op.ADD:
            return _adding(edit, made, vocabulary)
        case _:
            pass
    fault = _text_fault(edit, pieces)
    if fault is None and edit.op is Op.MERGE:
        fault = _joining_fault(edit.items, pieces)
    if fault is not None:
        return fault
    if edit.op is Op.REWRITE and edit.text == pieces[0].said:
        return None
    verdict = _unfaithful(edit, compare(edit.text, pieces, vocabulary))
    count = (
        f"{len(pieces)} items that say the same in other words merged" if edit.op is Op.MERGE else "put in better words"
    )
    return verdict or replace(made, text=edit.text, reason=count)


def _archiving(edit: GivenEdit, made: Approved, options: DreamOptions, vocabulary: Vocabulary) -> Approved | Refusal:
    (piece,) = made.pieces
    if piece.item.nested:
        return Refusal.of(Refused.HAS_NESTED, edit.items)
    entry, terms = piece.entry, options.consolidation
    # What was merged or superseded in the store may go however important it was.
    if entry is not None and entry.is_active and (entry.pinned or entry.base >= terms.protect_importance):
        return Refusal.of(Refused.PROTECTED_ENTRY, [entry.id])
    told = (piece.said, *(() if made.target is None else (made.target.said,)))
    is_told = edit.reason and not coverage(told, edit.reason, vocabulary).invented and secret_in(edit.reason) is None
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


def _adding(edit: GivenEdit, made: Approved, vocabulary: Vocabulary) -> Approved | Refusal | Unfaithful:
    if any(piece.is_pattern for piece in made.pieces):
        return Refusal.of(Refused.NOT_EVIDENCE, edit.items)
    fault = _text_fault(edit, made.pieces)
    if fault is not None:
        return fault
    words = set(terms_of(edit.text))
    cited = zip(edit.items, made.pieces, strict=True)
    strange = [handle for handle, piece in cited if words.isdisjoint(terms_of(piece.said))]
    if strange:
        return Refusal.of(Refused.UNRELATED, strange)
    verdict = _unfaithful(edit, compare_pattern(edit.text, made.pieces, vocabulary))
    return verdict or replace(made, text=edit.text, reason=f"what {len(made.pieces)} items show together")


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


def _unfaithful(edit: GivenEdit, found: Coverage) -> Unfaithful | None:
    refusal = unfaithful(found, edit.items)
    return None if refusal is None else Unfaithful(place=edit.number, coverage=found, refusal=refusal)
