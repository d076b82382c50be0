"""Which turns a pass has to read, and what of a batch is still as it was packed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentcore.domain.conversation import Turn
from agentcore.stores.protocols import ReadView
from dream.domain.batch import Batch, Packing
from dream.domain.proposal import Refusal
from dream.passes.conversation.evidence import is_evidence
from dream.passes.conversation.lines import Shown, shown_turns
from dream.passes.conversation.packing import Session
from dream.passes.conversation.statement import Terms
from dream.passes.protocol import ModelContext

_LOOK_BACK = 4
"""Turns looked at for each one shown before: between two that were said there may be several of tools."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The new turns of one run.

    Args:
        sessions: Those that are evidence, by session, in the order of their first arrival.
        ids: All of them, in the order of arrival.
        settled: Reopened ids of which nothing is left to read.
        cursor: Position up to which the pass has then looked.
        backlog: New turns left for later runs.
    """

    sessions: tuple[Session, ...]
    ids: tuple[str, ...]
    settled: frozenset[str]
    cursor: int
    backlog: int

    def packing(self, batches: tuple[Batch, ...], refused: tuple[Refusal, ...]) -> Packing:
        """Return the packing of *batches*: what is in none of them needs no call."""
        asked = {turn_id for batch in batches for turn_id in batch.member_ids}
        readable = sum(len(session.turns) for session in self.sessions)
        return Packing(
            batches=batches,
            cursor=self.cursor,
            looked_at=tuple(sorted(self.settled | (set(self.ids) - asked))),
            refused=refused,
            backlog=self.backlog,
            notes={"turns": readable, "sessions": len(self.sessions)},
        )


async def pending(context: ModelContext) -> int:
    """Count the turns that the pass has not read and nobody has consumed."""
    return await context.read(lambda view: view.turns.count_material(after=context.cursor, also=context.reopened))


async def read_new(context: ModelContext, *, limit: int, overlap: int) -> Reading:
    """Read the oldest *limit* new turns, each session with up to *overlap* turns that were said before."""
    return await context.read(lambda view: _read_new(view, context, limit, overlap))


async def shown_of(context: ModelContext, batch: Batch) -> list[Shown]:
    """Return the turns of a batch that are as they were packed."""
    stored = await context.read(lambda view: view.turns.get_many(batch.record_ids))
    return shown_turns(batch, {turn.id: turn for turn in stored})


async def settled_of(context: ModelContext, batch: Batch) -> tuple[str, ...]:
    """Return the members that need no second look: a turn that changed meanwhile does."""
    stored = await context.read(lambda view: view.turns.get_many(batch.member_ids))
    versions = {turn.id: turn.version for turn in stored}
    return tuple(turn_id for turn_id, version in batch.members if versions.get(turn_id, version) == version)


async def terms_for(context: ModelContext, texts: Iterable[str]) -> Terms:
    """Return what statements made of *texts* are judged by."""
    # Only scripts without capitals are judged by how rare their terms are.
    counted = [text for text in texts if not text.isascii()]
    frequencies: Mapping[str, int] = await context.count_documents(counted) if counted else dict[str, int]()
    return Terms(
        vocabulary=context.vocabulary,
        document_frequency=lambda term: frequencies.get(term, 0),
        protected=context.options.protected_categories,
        protect_importance=context.options.consolidation.protect_importance,
    )


def _read_new(view: ReadView, context: ModelContext, limit: int, overlap: int) -> Reading:
    material = view.turns.material(after=context.cursor, also=context.reopened, limit=limit)
    turns = {turn.id: turn for turn in view.turns.get_many([item.id for item in material])}
    reopened = {turn.id: turn for turn in view.turns.get_many(context.reopened)}
    total = view.turns.count_material(after=context.cursor, also=context.reopened)
    return Reading(
        sessions=tuple(_sessions(view, [turns[item.id] for item in material], overlap)),
        ids=tuple(item.id for item in material),
        settled=frozenset(
            turn_id
            for turn_id in context.reopened
            if turn_id not in reopened or reopened[turn_id].consumed_at is not None
        ),
        cursor=max([context.cursor, *(item.position for item in material)]),
        backlog=max(0, total - len(material)),
    )


def _sessions(view: ReadView, new: Sequence[Turn], overlap: int) -> list[Session]:
    """Group new turns by session, in the order they were said; sessions in the order of their first arrival."""
    groups: dict[str, list[Turn]] = {}
    for turn in new:
        if is_evidence(turn):
            groups.setdefault(turn.session_id, []).append(turn)
    sessions: list[Session] = []
    for group in groups.values():
        said = sorted(group, key=lambda turn: turn.occurred_at)
        earlier = view.turns.preceding(said[0].id, limit=overlap * _LOOK_BACK) if overlap else []
        before = [turn for turn in earlier if is_evidence(turn)]
        sessions.append(Session(tuple(said), tuple(before[-overlap:] if overlap else ())))
    return sessions
