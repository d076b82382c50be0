"""Runs the pass preferences: reads what was said, and infers what the user wants."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from agentcore.llm.chat import ChatRequest
from agentcore.llm.tokens import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.batch import Answer, Batch, Packing
from dream.domain.built_in_passes import PREFERENCE_INFERENCE
from dream.domain.proposal import Notes, Proposal, Refusal, Work, summed
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round, answers_of
from dream.options import PreferenceOptions
from dream.passes.conversation.lines import PromptTurn as ShownTurn, line
from dream.passes.conversation.packing import SessionTurns, packed, pending, read_new, settled_of, terms_for
from dream.passes.conversation.statement import StatementRules
from dream.passes.declared import DeclaredPass
from dream.passes.preferences.judging import occasions_of, preference_of
from dream.passes.preferences.packing import SHARE_BESIDE, PreferenceContext, PreferenceHandles, told_by
from dream.passes.preferences.prompt import PreferenceItem, frame, question, read_items
from dream.passes.preferences.reconcile import (
    JudgedPreference,
    PreferenceCandidates,
    PreferenceReconciliation,
    PreferenceReinforcement,
    PreferenceSupersession,
    marks_of,
)
from dream.passes.prompts import entry_line, feedback_line, importance_at
from dream.passes.protocol import ModelContext
from dream.passes.repairing import ask_and_repair, repair_of, repaired, with_texts

_LIST: Final = "toSave"
_COUNTS = (
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
)


class PreferenceInference(DeclaredPass, declaration=PREFERENCE_INFERENCE):
    """Infers what users want from how they react, and counts how often they showed it.

    Beside new turns stand earlier ones of the last days, feedback, and what is known already. How many occasions a
    preference takes depends on how strongly it was voiced (`docs/explanation/episodes-and-preferences.md`).
    """

    async def has_work(self, context: ModelContext) -> Work:
        """Every turn that nobody has consumed and that it has not read is work."""
        return Work(await pending(context))

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

    async def ask(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> NextRound | None:
        """Ask for the preferences that a batch shows, then for a repair of those that are refused."""
        return await ask_and_repair(
            rounds, lambda: self._question(context, batch), lambda answer: self._repair(context, batch, answer)
        )

    async def _question(self, context: ModelContext, batch: Batch) -> ChatRequest | None:
        """Ask for the preferences that a batch shows."""
        sheet, importance = await context.read(
            lambda view: (PreferenceHandles.of(view, batch), importance_at(view.decay, context.as_of))
        )
        if not any(one.is_new for one in sheet.turns):
            return None
        return question(
            context,
            known=[entry_line(handle, entry, importance) for handle, entry in sheet.as_packed().items()],
            feedback=[feedback_line(handle, one) for handle, one in sheet.feedback.items()],
            turns=[line(one.handle, one.turn, is_new=one.is_new) for one in sheet.turns],
            directives=self.directives,
            purpose=self.name,
        )

    async def _repair(self, context: ModelContext, batch: Batch, answer: Answer) -> ChatRequest | None:
        """Ask for a repair of the preferences that are refused and can be put right."""
        _, refused = await _judged(context, batch, answer)
        return await repair_of(context, _LIST, answer, refused, lambda: self._question(context, batch))

    async def interpret(self, context: ModelContext, batch: Batch, rounds: Sequence[Round]) -> Proposal:
        """Keep the preferences that hold; each refusal stands for itself.

        An answer of another shape settles nothing: its turns are read again by the next run.
        """
        read = await repaired(_LIST, answers_of(rounds), lambda answer: _judged(context, batch, answer))
        if any(refusal.code == Refused.BROKEN_ANSWER for refusal in read.refused):
            return Proposal(refused=tuple(read.refused))
        shown = read.good
        known = await context.read(lambda view: PreferenceCandidates.of(view, shown))
        declined = frozenset(await context.declined(marks_of(shown, known)))
        met = await asyncio.to_thread(_met, context, shown, known, declined)
        return Proposal(
            change_sets=met.change_sets,
            refused=with_texts((*read.refused, *met.refused), read.answer, _LIST, batch),
            notes={**met.notes(), **read.notes},
            looked_at=await settled_of(context, batch),
        )

    def conclude(self, notes: Sequence[Notes]) -> Notes:
        """Sum over packing and batches; questions are kept one by one."""
        asked = [one for note in notes for one in note.get("questions", ())]
        return {**summed(notes, *_COUNTS), "questions": asked}


def _around(
    view: ReadView, context: ModelContext, sessions: Sequence[SessionTurns], room: int
) -> tuple[PreferenceContext, int]:
    around = PreferenceContext.of(view, context, sessions)
    return around, around.need(view, context, room)


async def _judged(context: ModelContext, batch: Batch, answer: Answer) -> tuple[list[JudgedPreference], list[Refusal]]:
    items, unreadable = read_items(answer)
    sheet = await context.read(lambda view: PreferenceHandles.of(view, batch))
    terms = await terms_for(context, [*(item.content for item in items), *told_by(sheet)])
    # Hundreds of comparisons take longer than the event loop may stall.
    shown, refused = await asyncio.to_thread(judge, items, sheet, terms, context.options.preferences)
    return shown, [*unreadable, *refused]


def judge(
    items: Sequence[PreferenceItem], sheet: PreferenceHandles, terms: StatementRules, options: PreferenceOptions
) -> tuple[list[JudgedPreference], list[Refusal]]:
    """Return what the sources bear out, and why the rest is refused."""
    by_handle = {one.handle: one for one in sheet.turns}
    judged = [(item, _judged_item(item, by_handle, sheet, terms, options)) for item in items]
    return (
        [one for _, one in judged if not isinstance(one, Refusal)],
        [one.at(item.number) for item, one in judged if isinstance(one, Refusal)],
    )


def _judged_item(
    item: PreferenceItem,
    by_handle: Mapping[str, ShownTurn],
    sheet: PreferenceHandles,
    terms: StatementRules,
    options: PreferenceOptions,
) -> JudgedPreference | Refusal:
    named = item.existing or item.supersedes
    if named and named not in sheet.entry_ids:
        return Refusal(Refused.UNKNOWN_HANDLE, f"{item.label} names {named[:20]!r}, which it was not shown")
    occasions = occasions_of(
        item,
        by_handle,
        sheet.feedback,
        turn_handles=sheet.turn_handles,
        feedback_handles=sheet.feedback_handles,
    )
    if isinstance(occasions, Refusal):
        return occasions
    if item.existing:
        return PreferenceReinforcement(item, sheet.entry_ids[item.existing], occasions)
    preference = preference_of(item, occasions, terms, options)
    if isinstance(preference, Refusal) or not item.supersedes:
        return preference
    return PreferenceSupersession(preference, sheet.entry_ids[item.supersedes], sheet.as_packed().get(item.supersedes))


def _met(
    context: ModelContext, shown: Sequence[JudgedPreference], known: PreferenceCandidates, declined: frozenset[str]
) -> PreferenceReconciliation:
    meeting = PreferenceReconciliation(
        known=known,
        declined=declined,
        new_id=context.new_id,
        as_of=context.as_of,
        vocabulary=context.vocabulary,
    )
    for one in shown:
        meeting.add(one)
    return meeting


__all__ = ["PreferenceInference"]
