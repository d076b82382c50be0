"""Runs the pass episodes: reads what was said, and keeps what happened."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import EPISODE_EXTRACTION
from dream.domain.proposal import Refusal
from dream.domain.rounds import Answer
from dream.domain.step import Batch, Packing
from dream.guards.verdict import EvidenceText
from dream.passes.conversation.evidence import evidence_of, not_shown
from dream.passes.conversation.neighbours import Surrounding, fitting, handles_of, stored_beside
from dream.passes.conversation.reconcile import Reconciler, Reinforcement
from dream.passes.conversation.statement import StatementRules, is_under, reason_of
from dream.passes.conversation.turn_pass import (
    SessionExcerpt,
    TurnPass,
    asked_lines,
    judged_each,
    packed,
    read_new,
    rules_of,
)
from dream.passes.episodes.judging import (
    EPISODES,
    TAG,
    EpisodeReconciler,
    JudgedEpisode,
    counted,
    episode_of,
)
from dream.passes.episodes.prompt import EpisodeItem, frame, part, question, read_items
from dream.passes.exchange_state import Item
from dream.passes.prompts import PromptTurn, ReaderPart, entry_line, importance_at, shown_turns
from dream.passes.protocol import ModelContext

_SHARE_BESIDE: Final = 4
"""A quarter of a prompt at most goes to episodes that are known."""
_LOOKED_THROUGH: Final = 1_000
"""The newest so many known episodes are compared with the turns."""
_WIDEST_HANDLE: Final = "e9999"


class EpisodeExtraction(TurnPass, declaration=EPISODE_EXTRACTION):
    """Reads what was said since it last looked, and keeps what happened as episodes.

    A known episode that new turns come back to is shown beside them; what meets it again counts once per session
    (`docs/explanation/episodes-and-preferences.md`).
    """

    answered: ClassVar[str] = "toSave"
    reconciler: ClassVar[type[Reconciler[Any]]] = EpisodeReconciler
    counts: ClassVar[tuple[str, ...]] = (
        "turns",
        "sessions",
        "episodes_found",
        "new",
        "reinforced",
        "known",
        "types_repaired",
        "actors_repaired",
        "subject_times_dropped",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    )

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session, and beside them the known episodes that are nearest."""
        terms = context.options.episodes
        reading = await read_new(context, limit=terms.max_turns, overlap=terms.overlap_turns)
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker))
        beside = room // _SHARE_BESIDE if terms.context_entries else 0
        batches, refused = packed(reading.sessions, room=room - beside, overlap=terms.overlap_turns)
        said = {turn.id: turn for session in reading.sessions for turn in session.turns}
        with_known = await context.read(lambda view: _with_known(view, context, batches, said, beside))
        return reading.packing(tuple(with_known), refused)

    async def request(
        self, context: ModelContext, batch: Batch, handles: Collection[str] | None = None
    ) -> ChatRequest | None:
        """Ask for the episodes of a batch."""
        found = await context.read(lambda view: EpisodeHandles.of(view, batch))
        if not any(one.is_new for one in found.turns):
            return None
        known = await self._known(context, batch, found, handles)
        turns = asked_lines(context, found.turns, handles)
        return question(context, known, turns, directives=self.instructions, purpose=self.name)

    async def surround(
        self, context: ModelContext, batches: Sequence[Batch], sessions: Sequence[SessionExcerpt], room: int
    ) -> Sequence[Batch]:
        """Return the batches with the known episodes that are nearest."""
        said = {turn.id: turn for session in sessions for turn in session.turns}
        return await context.read(lambda view: _with_known(view, context, batches, said, room))

    async def part(self, context: ModelContext, batch: Batch) -> ReaderPart | None:
        """Return what it adds to a question that readers share."""
        found = await context.read(lambda view: EpisodeHandles.of(view, batch))
        if not any(one.is_new for one in found.turns):
            return None
        known = await self._known(context, batch, found)
        return part(context, known, directives=self.instructions, reader=self.name)

    async def _known(
        self, context: ModelContext, batch: Batch, found: "EpisodeHandles", handles: Collection[str] | None = None
    ) -> list[str]:
        importance = await context.read(lambda view: importance_at(view.decay, context.as_of))
        return [
            entry_line(handle, entry, importance)
            for handle, entry in found.as_packed(batch).items()
            if handles is None or handle in handles
        ]

    async def judged(
        self, context: ModelContext, batch: Batch, answer: Answer
    ) -> tuple[list[Item[JudgedEpisode]], list[Refusal]]:
        """Return the episodes as their words tell, and why others are refused."""
        items, unreadable = read_items(answer)
        found = await context.read(lambda view: EpisodeHandles.of(view, batch))
        known = [EvidenceText(text=entry.content) for entry in found.entries.values()]
        rules = rules_of(context, found.turns, beside=known)
        # Hundreds of comparisons take longer than the event loop may stall.
        told, refused = await asyncio.to_thread(judge, items, found, rules)
        return told, [*unreadable, *refused]


@dataclass(frozen=True, slots=True)
class EpisodeHandles:
    """What the handles of a batch stand for, as the records are now.

    Args:
        turns: Turns that are as they were packed, in the order of the prompt.
        turn_handles: All handles that can be a turn's.
        entry_ids: The id of each handle that can be an episode's.
        entries: Known episodes that are active, by handle.
    """

    turns: list[PromptTurn]
    turn_handles: frozenset[str]
    entry_ids: Mapping[str, str]
    entries: Mapping[str, MemoryEntry]

    @classmethod
    def of(cls, view: ReadView, batch: Batch) -> "EpisodeHandles":
        turns, entries = stored_beside(view, batch)
        others = [one.id for one in entries.values() if not is_under(one.category, (EPISODES,))]
        entry_ids = handles_of(batch, "e", without={*turns, *batch.member_ids, *others})
        return cls(
            turns=shown_turns(batch, turns),
            turn_handles=frozenset(handles_of(batch, "t", without=entries)),
            entry_ids=entry_ids,
            entries={
                handle: entries[entry_id]
                for handle, entry_id in entry_ids.items()
                if entry_id in entries and entries[entry_id].is_active
            },
        )

    def as_packed(self, batch: Batch) -> dict[str, MemoryEntry]:
        """Return the episodes that are in the version they were packed with, by handle."""
        versions = dict(batch.beside)
        return {handle: entry for handle, entry in self.entries.items() if versions[entry.id] == entry.version}


def _with_known(
    view: ReadView, context: ModelContext, batches: Sequence[Batch], said: Mapping[str, Turn], room: int
) -> list[Batch]:
    """Return each batch with the known episodes that are nearest to its turns: of their sessions first."""
    terms = context.options.episodes
    if not terms.context_entries or not batches:
        return list(batches)
    since = context.as_of - terms.window
    newest = view.entries.select(EntryFilter(category=EPISODES, tags=(TAG,)), limit=_LOOKED_THROUGH)
    recent = [entry for entry in newest if entry.last_seen_at >= since]
    by_words = Surrounding(recent, lambda entry: entry.content)
    sessions_of = [counted(entry) for entry in recent]
    importance = importance_at(view.decay, context.as_of)
    found: list[Batch] = []
    for batch in batches:
        turns = [said[turn_id] for turn_id in batch.member_ids]
        sessions = {turn.session_id for turn in turns}
        own = [entry for entry, of in zip(recent, sessions_of, strict=True) if not sessions.isdisjoint(of)]
        alike = by_words.nearest([turn.content for turn in turns], terms.context_entries)
        ordered = list({entry.id: entry for entry in (*own, *alike)}.values())[: terms.context_entries]
        fit = fitting(ordered, lambda entry: entry_line(_WIDEST_HANDLE, entry, importance), room)
        found.append(replace(batch, beside=(*batch.beside, *((entry.id, entry.version) for entry in fit))))
    return found


def judge(
    items: Sequence[EpisodeItem], episode_handles: EpisodeHandles, rules: StatementRules
) -> tuple[list[Item[JudgedEpisode]], list[Refusal]]:
    """Return the episodes as their words tell, and why others are refused."""
    by_handle = {one.handle: one for one in episode_handles.turns}
    return judged_each(items, lambda item: _read(item, by_handle, episode_handles, rules), rules)


def _read(
    item: EpisodeItem, by_handle: Mapping[str, PromptTurn], episode_handles: EpisodeHandles, rules: StatementRules
) -> JudgedEpisode | Refusal:
    if item.existing and item.existing not in episode_handles.entry_ids:
        return not_shown(item.label, item.existing)
    found = evidence_of(item, by_handle, episode_handles.turn_handles)
    if isinstance(found, Refusal):
        return found
    if item.existing:
        return Reinforcement(
            number=item.number,
            label=item.label,
            entry_id=episode_handles.entry_ids[item.existing],
            evidence=found,
            sources=found.sources,
            said=[turn.content for turn in found.turns],
            why=reason_of(found),
        )
    return episode_of(item, found, rules)


__all__ = ["EpisodeExtraction"]
