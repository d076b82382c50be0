"""What there is to review: items that were not, each with the section it stands in."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Final

from agentcore.llm.chat import estimate_tokens
from dream.domain.cluster import SettledCluster
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.step import Batch, Packing
from dream.options import ModelOptions
from dream.passes.document_consolidation.items import DocumentItem, MemoryDocument
from dream.passes.document_consolidation.prompt import DIRECTIVE, OVERHEAD, item_line
from dream.passes.protocol import ModelContext

_ITEMS: Final = "items"
_FEWEST: Final = 2
"""One item alone has nothing to be consolidated with."""
_WIDEST_HANDLE: Final = "i000"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPlan:
    """What a run asks about.

    Args:
        memory: MEMORY.md; None if there is nothing in it to be consolidated.
        calls: The items of each call, in order.
        due: Ids of the items that were not reviewed.
        too_long: Ids of items that no prompt has room for.
    """

    memory: MemoryDocument | None
    calls: tuple[tuple[DocumentItem, ...], ...] = ()
    due: frozenset[str] = frozenset()
    too_long: tuple[str, ...] = ()

    @property
    def pending(self) -> int:
        """How many items are to be reviewed."""
        return len(self.due.intersection(piece.item.id for call in self.calls for piece in call))


def planned(
    memory: MemoryDocument | None,
    settled: Iterable[SettledCluster],
    context: ModelContext,
    waiting: Collection[str] = (),
) -> ReviewPlan:
    """Return what is to be asked: the calls that hold an item which was not reviewed under these directives.

    Args:
        memory: MEMORY.md; None if there is no such document.
        settled: The notes of what was reviewed.
        context: The run's.
        waiting: Ids of items that an exchange which waits is about.
    """
    if memory is None or all(piece.is_fixed for piece in memory.pieces.values()):
        return ReviewPlan(memory=None)
    done = reviewed(settled, terms_mark(context)) - context.reopened
    due = frozenset(memory.pieces.keys() - done - set(waiting))
    calls, too_long = _calls(memory, context.options.model)
    asked = [call for call in calls if len(call) >= _FEWEST and any(piece.item.id in due for piece in call)]
    return ReviewPlan(memory=memory, calls=tuple(asked), due=due, too_long=too_long)


def packed(plan: ReviewPlan, context: ModelContext) -> Packing:
    """Return the batches; the entries behind their items stand beside them, so that a `forget` finds the call."""
    batches = [_batch(number, call) for number, call in enumerate(plan.calls, 1)]
    long = [Refusal.of(Refused.PROMPT_TOO_LONG, plan.too_long)] if plan.too_long else []
    notes = {} if plan.memory is None else {"left_alone": plan.memory.left_alone}
    return Packing(batches=tuple(batches), looked_at=tuple(sorted(context.reopened)), refused=tuple(long), notes=notes)


def terms_mark(context: ModelContext) -> str:
    """Return what tells the words that the model is told from any others."""
    return context.options.documents.prompt or context.directives[DIRECTIVE]


def reviewed(settled: Iterable[SettledCluster], mark: str) -> set[str]:
    """Return the ids of the items that were reviewed under the same words."""
    return {
        one
        for cluster in settled
        if cluster.fingerprint == _print(mark, cluster.record_ids)
        for one in cluster.record_ids
    }


def settling(
    context: ModelContext, ids: Collection[str], there: Collection[str], settled: Iterable[SettledCluster]
) -> tuple[SettledCluster, tuple[str, ...]]:
    """Return what notes that items were reviewed, and the notes that tell nothing beside it any more.

    Args:
        context: The run's.
        ids: The items, and the entries behind them.
        there: All items of MEMORY.md.
        settled: The notes so far.
    """
    kept = tuple(sorted(ids))
    note = SettledCluster(
        fingerprint=_print(terms_mark(context), kept), record_ids=kept, declines=1, declined_at=context.as_of
    )
    telling = set(there) - set(ids)
    old = [one for one in settled if one.fingerprint != note.fingerprint]
    return note, tuple(one.fingerprint for one in old if telling.isdisjoint(one.record_ids))


def _print(mark: str, ids: Sequence[str]) -> str:
    return blake2b("\x1f".join([mark, *ids]).encode(), digest_size=16).hexdigest()


def _calls(memory: MemoryDocument, options: ModelOptions) -> tuple[list[tuple[DocumentItem, ...]], tuple[str, ...]]:
    """Put whole sections into calls as they stand, and cut those that no call has room for."""
    room = max(1, options.prompt_tokens - OVERHEAD)
    weights = {one: estimate_tokens(item_line(_WIDEST_HANDLE, piece)) for one, piece in memory.pieces.items()}
    too_long = tuple(one for one, weight in weights.items() if weight > room)
    calls: list[list[DocumentItem]] = [[]]
    left = room
    fitting = [piece for one, piece in memory.pieces.items() if one not in too_long]
    for part in _parts(fitting, weights, room):
        weight = sum(weights[piece.item.id] for piece in part)
        if weight > left:
            calls.append([])
            left = room
        calls[-1] += part
        left -= weight
    return [tuple(call) for call in calls if call], too_long


def _parts(pieces: Iterable[DocumentItem], weights: dict[str, int], room: int) -> Iterator[list[DocumentItem]]:
    """Yield the sections, those too long for one call in as few parts as it takes."""
    for _, group in groupby(pieces, key=lambda piece: piece.item.section):
        part: list[DocumentItem] = []
        left = room
        for piece in group:
            weight = weights[piece.item.id]
            if weight > left:
                yield part
                part, left = [], room
            part.append(piece)
            left -= weight
        yield part


def _batch(number: int, call: Sequence[DocumentItem]) -> Batch:
    entries = {piece.entry.id: piece.entry.version for piece in call if piece.entry is not None}
    return Batch(
        number=str(number),
        kind=_ITEMS,
        members=tuple((piece.item.id, 1) for piece in call),
        beside=tuple(sorted(entries.items())),
    )
