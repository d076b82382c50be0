"""Runs the pass preferences: reads what was said, and infers what the user wants."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agentcore.domain.conversation import Turn
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.built_in_passes import PREFERENCE_INFERENCE
from dream.domain.proposal import Notes, Refusal
from dream.domain.rounds import Answer
from dream.domain.step import Batch, Packing
from dream.guards.verdict import EvidenceText
from dream.options import PreferenceOptions
from dream.passes.conversation.evidence import not_shown
from dream.passes.conversation.reconcile import Reconciler, Reinforcement
from dream.passes.conversation.statement import StatementRules
from dream.passes.conversation.turn_pass import (
    SessionExcerpt,
    TurnPass,
    around,
    judged_each,
    packed,
    read_new,
    rules_of,
)
from dream.passes.exchange_state import Item
from dream.passes.preferences.judging import occasions_of, preference_of
from dream.passes.preferences.packing import SHARE_BESIDE, PreferenceContext, PreferenceHandles
from dream.passes.preferences.prompt import PreferenceItem, frame, part, question, read_items
from dream.passes.preferences.reconcile import JudgedPreference, PreferenceReconciler, texts_of
from dream.passes.prompts import (
    PromptTurn as ShownTurn,
    ReaderPart,
    entry_line,
    feedback_line,
    feedback_text,
    importance_at,
    line,
)
from dream.passes.protocol import ModelContext


class PreferenceInference(TurnPass, declaration=PREFERENCE_INFERENCE):
    """Infers what users want from how they react, and counts how often they showed it.

    Beside new turns stand earlier ones of the last days, feedback, and what is known already. How many occasions a
    preference takes depends on how strongly it was voiced (`docs/explanation/episodes-and-preferences.md`).
    """

    answered: ClassVar[str] = "toSave"
    reconciler: ClassVar[type[Reconciler[Any]]] = PreferenceReconciler
    counts: ClassVar[tuple[str, ...]] = (
        "turns",
        "sessions",
        "preferences_found",
        "new",
        "reinforced",
        "superseded",
        "known",
        "need_permission",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    )

    async def pack(self, context: ModelContext) -> Packing:
        """Take the oldest new turns, by session, and what they may be held against."""
        terms = context.options.preferences
        reading = await read_new(context, limit=terms.max_turns, overlap=terms.overlap_turns)
        room = context.options.model.prompt_tokens - estimate_tokens(frame(context.marker))
        around, kept = await context.read(lambda view: _around(view, context, reading.sessions, room // SHARE_BESIDE))
        batches, refused = packed(reading.sessions, room=room - kept, overlap=terms.overlap_turns)
        surrounded = await context.read(
            lambda view: tuple(around.beside(view, context, batch, room, kept) for batch in batches)
        )
        return reading.packing(surrounded, refused)

    async def request(
        self, context: ModelContext, batch: Batch, handles: Collection[str] | None = None
    ) -> ChatRequest | None:
        """Ask for the preferences that a batch shows."""
        found, importance = await context.read(
            lambda view: (PreferenceHandles.of(view, batch), importance_at(view.decay, context.as_of))
        )
        if not any(one.is_new for one in found.turns):
            return None

        def is_shown(handle: str) -> bool:
            return handles is None or handle in handles

        return question(
            context,
            known=[entry_line(one, entry, importance) for one, entry in found.as_packed().items() if is_shown(one)],
            feedback=[feedback_line(one, signal) for one, signal in found.feedback.items() if is_shown(one)],
            turns=[line(one.handle, one.turn, is_new=one.is_new) for one in around(found.turns, handles)],
            directives=self.instructions,
            purpose=self.name,
        )

    def finds_work(self, said: Sequence[Turn]) -> bool:
        """Tell whether somebody reacts to an assistant in these turns."""
        return {turn.role == "assistant" for turn in said} == {True, False}

    async def surround(
        self, context: ModelContext, batches: Sequence[Batch], sessions: Sequence[SessionExcerpt], room: int
    ) -> Sequence[Batch]:
        """Return the batches with earlier turns, preferences and feedback."""
        if not batches:
            return batches
        around, kept = await context.read(lambda view: _around(view, context, sessions, room))
        # A prompt of twice the room gives half of it to what stands beside.
        return await context.read(
            lambda view: [around.beside(view, context, batch, SHARE_BESIDE * room, kept) for batch in batches]
        )

    async def part(self, context: ModelContext, batch: Batch) -> ReaderPart | None:
        """Return what it adds to a question that readers share."""
        found, importance = await context.read(
            lambda view: (PreferenceHandles.of(view, batch), importance_at(view.decay, context.as_of))
        )
        if not any(one.is_new for one in found.turns):
            return None
        return part(
            context,
            known=[entry_line(one, entry, importance) for one, entry in found.as_packed().items()],
            feedback=[feedback_line(one, signal) for one, signal in found.feedback.items()],
            directives=self.instructions,
            reader=self.name,
        )

    async def judged(
        self, context: ModelContext, batch: Batch, answer: Answer
    ) -> tuple[list[Item[JudgedPreference]], list[Refusal]]:
        """Return the preferences as their words tell, and why others are refused."""
        items, unreadable = read_items(answer)
        found = await context.read(lambda view: PreferenceHandles.of(view, batch))
        texts = [
            *(entry.content for entry in found.entries.values()),
            *(feedback_text(one) for one in found.feedback.values()),
        ]
        rules = rules_of(context, found.turns, beside=[EvidenceText(text=text) for text in texts])
        # Hundreds of comparisons take longer than the event loop may stall.
        shown, refused = await asyncio.to_thread(judge, items, found, rules, context.options.preferences)
        return shown, [*unreadable, *refused]

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches; questions are kept one by one."""
        asked = [one for note in notes for one in note.get("questions", ())]
        return {**super().conclude(notes), "questions": asked}


def _around(
    view: ReadView, context: ModelContext, sessions: Sequence[SessionExcerpt], room: int
) -> tuple[PreferenceContext, int]:
    around = PreferenceContext.of(view, context, sessions)
    return around, around.need(view, context, room)


def judge(
    items: Sequence[PreferenceItem],
    preference_handles: PreferenceHandles,
    rules: StatementRules,
    options: PreferenceOptions,
) -> tuple[list[Item[JudgedPreference]], list[Refusal]]:
    """Return the preferences as their words tell, and why others are refused."""
    by_handle = {one.handle: one for one in preference_handles.turns}
    return judged_each(items, lambda item: _read(item, by_handle, preference_handles, rules, options), rules)


def _read(
    item: PreferenceItem,
    by_handle: Mapping[str, ShownTurn],
    preference_handles: PreferenceHandles,
    rules: StatementRules,
    options: PreferenceOptions,
) -> JudgedPreference | Refusal:
    named = item.existing or item.supersedes
    if named and named not in preference_handles.entry_ids:
        return not_shown(item.label, named)
    occasions = occasions_of(
        item,
        by_handle,
        preference_handles.feedback,
        turn_handles=preference_handles.turn_handles,
        feedback_handles=preference_handles.feedback_handles,
    )
    if isinstance(occasions, Refusal):
        return occasions
    if item.existing:
        return Reinforcement(
            number=item.number,
            label=item.label,
            entry_id=preference_handles.entry_ids[item.existing],
            evidence=occasions,
            sources=occasions.sources,
            said=texts_of(occasions),
            why=occasions.reason(),
        )
    preference = preference_of(item, occasions, rules, options)
    if isinstance(preference, Refusal) or not item.supersedes:
        return preference
    old = preference_handles.as_packed().get(item.supersedes)
    return replace(preference, old_id=preference_handles.entry_ids[item.supersedes], old=old)


__all__ = ["PreferenceInference"]
