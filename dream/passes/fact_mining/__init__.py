"""Fact mining: how a conversation becomes memory.

The model reads new turns and names facts; the host shows it nothing but data, and believes it nothing that the turns do
not say.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from agentcore.domain.capability import Capability
from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest
from agentcore.llm.tokens import estimate_tokens
from agentcore.stores.protocols import ReadView, TurnMaterial
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.proposal import Notes, Proposal, Refusal, Work
from dream.domain.reasons import Refused
from dream.passes.fact_mining.answer import Item, read_items
from dream.passes.fact_mining.evidence import Evidence, evidence_of, is_evidence
from dream.passes.fact_mining.fact import Fact, Terms, fact_of
from dream.passes.fact_mining.known import Known, Meeting, mark_of, meet
from dream.passes.fact_mining.packing import Session, packed
from dream.passes.fact_mining.prompt import Shown, frame, question, shown_turns
from dream.passes.notes import summed
from dream.passes.protocol import ModelContext

_COUNTS = (
    "turns",
    "sessions",
    "facts_found",
    "new",
    "reinforced",
    "known",
    "categories_repaired",
    "subject_times_dropped",
)
_LOOK_BACK = 4
"""Turns looked at for each one shown before: between two that were said there may be several of tools."""


class FactMining:
    """Reads what was said since it last looked, and remembers the facts that the turns bear out."""

    name: ClassVar[str] = "fact-mining"
    requires: ClassVar[frozenset[Capability]] = frozenset({Capability.MEMORY, Capability.CONVERSATION, Capability.LLM})
    directives: ClassVar[tuple[str, ...]] = ("memory-rules", "memory-mining")

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await _pending(context))

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session."""
        mining = context.options.mining
        material, turns, settled = await context.read(lambda view: _next_material(view, context))
        readable = {turn_id for turn_id, turn in turns.items() if is_evidence(turn)}
        sessions = await context.read(lambda view: _sessions(view, material, turns, mining.overlap_turns))
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker))
        batches, refused = packed(sessions, room=room, overlap=mining.overlap_turns)
        asked = {turn_id for batch in batches for turn_id in batch.member_ids}
        return Packing(
            batches=batches,
            cursor=max([context.cursor, *(item.position for item in material)]),
            looked_at=tuple(sorted(settled | (turns.keys() - asked))),
            refused=refused,
            backlog=max(0, await _pending(context) - len(material)),
            notes={"turns": len(readable), "sessions": len(sessions)},
        )

    async def request(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask for the facts of a batch."""
        shown = await _shown(context, batch)
        if not any(one.is_new for one in shown):
            return None
        return question(context, shown, directives=self.directives, purpose=self.name)

    async def review(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:  # noqa: ARG002
        """Ask for no repair: the turns stay, and what is worth remembering is said again."""
        return None

    async def interpret(self, context: ModelContext, batch: Batch, answers: Sequence[Answer]) -> Proposal:
        """Remember the facts that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        items, unreadable = read_items(answers[-1])
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in unreadable):
            return Proposal(refused=tuple(unreadable))
        shown = await _shown(context, batch)
        terms = await _terms(context, items, shown)
        # Hundreds of comparisons take longer than the event loop may stall.
        facts, refused = await asyncio.to_thread(_judged, batch, items, shown, terms)
        known = await context.read(lambda view: Known.of(view, facts))
        declined = await context.declined({mark_of([fact]) for fact in facts})
        met = await asyncio.to_thread(_met, context, facts, known, declined)
        return Proposal(
            change_sets=met.change_sets,
            refused=(*unreadable, *refused, *met.refused),
            notes=dict(met.counts),
            looked_at=await _settled(context, batch),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches."""
        return summed(notes, *_COUNTS)


async def _pending(context: ModelContext) -> int:
    return await context.read(lambda view: view.turns.count_material(after=context.cursor, also=context.reopened))


def _next_material(view: ReadView, context: ModelContext) -> tuple[list[TurnMaterial], dict[str, Turn], set[str]]:
    """Return what to read, those turns, and reopened ids of which nothing is left to read."""
    limit = context.options.mining.max_turns
    material = view.turns.material(after=context.cursor, also=context.reopened, limit=limit)
    turns = {turn.id: turn for turn in view.turns.get_many([item.id for item in material])}
    reopened = {turn.id: turn for turn in view.turns.get_many(context.reopened)}
    settled = {
        turn_id for turn_id in context.reopened if turn_id not in reopened or reopened[turn_id].consumed_at is not None
    }
    return material, turns, settled


def _sessions(
    view: ReadView, material: Sequence[TurnMaterial], turns: Mapping[str, Turn], overlap: int
) -> list[Session]:
    """Group new turns by session, in the order they were said; sessions in the order of their first arrival."""
    groups: dict[str, list[Turn]] = {}
    for item in material:
        if is_evidence(turns[item.id]):
            groups.setdefault(item.session_id, []).append(turns[item.id])
    sessions: list[Session] = []
    for group in groups.values():
        said = sorted(group, key=lambda turn: turn.occurred_at)
        earlier = view.turns.preceding(said[0].id, limit=overlap * _LOOK_BACK) if overlap else []
        before = [turn for turn in earlier if is_evidence(turn)]
        sessions.append(Session(tuple(said), tuple(before[-overlap:] if overlap else ())))
    return sessions


async def _shown(context: ModelContext, batch: Batch) -> list[Shown]:
    stored = await context.read(lambda view: view.turns.get_many(batch.record_ids))
    return shown_turns(batch, {turn.id: turn for turn in stored})


async def _settled(context: ModelContext, batch: Batch) -> tuple[str, ...]:
    """Return the members that need no second look: a turn that changed meanwhile does."""
    stored = await context.read(lambda view: view.turns.get_many(batch.member_ids))
    versions = {turn.id: turn.version for turn in stored}
    return tuple(turn_id for turn_id, version in batch.members if versions.get(turn_id, version) == version)


async def _terms(context: ModelContext, items: Sequence[Item], shown: Sequence[Shown]) -> Terms:
    # Only scripts without capitals are judged by how rare their terms are.
    texts = [*(item.content for item in items), *(one.turn.content for one in shown)]
    counted = [text for text in texts if not text.isascii()]
    frequencies: Mapping[str, int] = await context.count_documents(counted) if counted else dict[str, int]()
    return Terms(
        vocabulary=context.vocabulary,
        document_frequency=lambda term: frequencies.get(term, 0),
        protected=context.options.protected_categories,
        protect_importance=context.options.consolidation.protect_importance,
    )


def _judged(
    batch: Batch, items: Sequence[Item], shown: Sequence[Shown], terms: Terms
) -> tuple[list[Fact], list[Refusal]]:
    """Return the facts that the turns bear out, and why the others are refused."""
    by_handle = {one.handle: one for one in shown}
    known = frozenset(f"t{place}" for place in range(1, len(batch.record_ids) + 1))
    facts: list[Fact] = []
    refused: list[Refusal] = []
    for item in items:
        found = evidence_of(item, by_handle, known)
        judged = fact_of(item, found, terms) if isinstance(found, Evidence) else found
        if isinstance(judged, Fact):
            facts.append(judged)
        else:
            refused.append(judged)
    return facts, refused


def _met(context: ModelContext, facts: Sequence[Fact], known: Known, declined: frozenset[str]) -> Meeting:
    return meet(facts, known, declined, new_id=context.new_id, as_of=context.as_of, vocabulary=context.vocabulary)


__all__ = ["FactMining"]
