"""Each edit, judged by itself: whether it may be made, and what it would write."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import combinations

from agentcore.domain.subject_time import compatible
from agentcore.domain.text import hidden_in
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.merge_coverage import Coverage, coverage
from dream.guards.secrets import secret_in
from dream.guards.vocabulary import Vocabulary
from dream.options import DreamOptions
from dream.passes.document_consolidation.answer import GivenEdit, Op
from dream.passes.document_consolidation.faithful import are_related, compare, compare_pattern
from dream.passes.document_consolidation.memory import Piece
from dream.passes.document_consolidation.operations import Sheet
from dream.passes.faithfulness import Unfaithful
from dream.passes.terms import terms_of


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
    pieces: tuple[Piece, ...]
    text: str = ""
    target: Piece | None = None
    reason: str = ""
    mark: str = ""


@dataclass(slots=True)
class Judged:
    """What became of the edits of an answer."""

    approved: list[Approved] = field(default_factory=list[Approved])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    unfaithful: list[Unfaithful] = field(default_factory=list[Unfaithful])


def judge(edits: Sequence[GivenEdit], sheet: Sheet, options: DreamOptions, vocabulary: Vocabulary) -> Judged:
    """Judge edits that name what they may name; one that changes nothing is neither approved nor refused."""
    place = {handle: number for number, handle in enumerate(sheet.ids)}
    judged = Judged()
    for given in edits:
        edit = replace(given, items=tuple(sorted(given.items, key=place.__getitem__)))
        pieces = tuple(sheet.pieces[handle] for handle in edit.items)
        target = None if edit.target is None else sheet.pieces[edit.target]
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


def mark_of(op: Op, pieces: Collection[Piece]) -> str:
    """Return what identifies an edit: what is done to which items, as they say it."""
    keys = sorted(piece.key for piece in pieces)
    return blake2b("\x1f".join([f"document-{op}", *keys]).encode(), digest_size=16).hexdigest()


def _verdict(
    edit: GivenEdit, pieces: tuple[Piece, ...], target: Piece | None, options: DreamOptions, vocabulary: Vocabulary
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
        return Refusal(Refused.NO_SOURCES, f"edit {edit.place}: it names no item to move to")
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


def _text_fault(edit: GivenEdit, pieces: Sequence[Piece]) -> Refusal | None:
    # Marks of direction turn round what is read; those that a person wrote may stay.
    if not edit.text or hidden_in(edit.text) - hidden_in("".join(piece.item.text for piece in pieces)):
        return Refusal.of(Refused.INVALID_CONTENT, edit.items)
    secret = secret_in(edit.text)
    return None if secret is None else Refusal(Refused.SECRET, f"{', '.join(edit.items)}: it would hold a {secret}")


def _joining_fault(handles: Sequence[str], pieces: Sequence[Piece]) -> Refusal | None:
    if any(piece.item.nested for piece in pieces[1:]) or len({piece.above for piece in pieces}) > 1:
        return Refusal.of(Refused.HAS_NESTED, handles)
    if not are_related(pieces):
        return Refusal.of(Refused.UNRELATED, handles)
    times = [piece.entry.subject_time for piece in pieces if piece.entry is not None]
    if not all(compatible(one, other) for one, other in combinations(times, 2)):
        return Refusal.of(Refused.DISTINCT_MOMENTS, handles)
    return None


def _unfaithful(edit: GivenEdit, found: Coverage) -> Unfaithful | None:
    """Return why a text is not taken; its particulars are told by kind: a report outlives what it is about."""
    if found.faithful:
        return None
    code, details = (Refused.LOST_DETAIL, found.lost) if found.lost else (Refused.INVENTED_DETAIL, found.invented)
    counted = ", ".join(f"{count} x {kind}" for kind, count in Counter(item.kind.value for item in details).items())
    refusal = Refusal(code, f"{Refusal.of(code, edit.items).detail}: {counted}")
    return Unfaithful(place=edit.place, coverage=found, refusal=refusal)
