"""What a batch of the pass shows: new turns, and beside them what they may be held against."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import Feedback
from agentcore.llm.tokens import estimate_tokens
from agentcore.stores.protocols import ReadView
from dream.domain.batch import Batch
from dream.passes.conversation.beside import Surrounding, fitting, handles_of, stored_beside
from dream.passes.conversation.lines import Shown, longest_line, shown_turns
from dream.passes.conversation.packing import Session
from dream.passes.lines import entry_line, feedback_line, feedback_text, importance_at
from dream.passes.preferences.preference import INFERRED, PREFERENCES
from dream.passes.protocol import ModelContext

_LOOKED_THROUGH: Final = 1_000
"""The newest so many preferences, and earlier turns, are compared with the new turns."""
_KINDS: Final = 3
"""Earlier turns, preferences and feedback have a third of the room each."""
_WIDEST_ENTRY, _WIDEST_FEEDBACK = "e9999", "f9999"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the handles of a batch stand for, as the records are now.

    Args:
        turns: Turns that are as they were packed, in the order of the prompt.
        entries: Known preferences that are active, by handle.
        feedback: Feedback, by handle.
        turn_handles: All handles that can be a turn's.
        feedback_handles: All handles that can be of feedback.
        entry_ids: The id of each handle that can be a preference's.
        packed: The version each record beside the turns was packed with, by id.
    """

    turns: Sequence[Shown]
    entries: Mapping[str, MemoryEntry]
    feedback: Mapping[str, Feedback]
    turn_handles: frozenset[str]
    feedback_handles: frozenset[str]
    entry_ids: Mapping[str, str]
    packed: Mapping[str, int]

    @classmethod
    def of(cls, view: ReadView, batch: Batch) -> "Sheet":
        """Find what *batch* shows."""
        turns, entries = stored_beside(view, batch)
        others = [record_id for record_id, _ in batch.beside if record_id not in turns and record_id not in entries]
        signals = {one.id: one for one in view.feedback.get_many(others)}
        entry_ids = handles_of(batch, "e", without={*turns, *batch.member_ids, *signals})
        feedback_ids = handles_of(batch, "f", without={*turns, *batch.member_ids, *entries})
        return cls(
            turns=shown_turns(batch, turns),
            entries={
                handle: entries[one] for handle, one in entry_ids.items() if one in entries and entries[one].is_active
            },
            feedback={handle: signals[one] for handle, one in feedback_ids.items() if one in signals},
            turn_handles=frozenset(handles_of(batch, "t", without={*entries, *signals})),
            feedback_handles=frozenset(feedback_ids),
            entry_ids=entry_ids,
            packed=dict(batch.beside),
        )

    def as_packed(self) -> dict[str, MemoryEntry]:
        """Return the preferences that are in the version they were packed with, by handle."""
        return {handle: entry for handle, entry in self.entries.items() if self.packed[entry.id] == entry.version}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What may be shown beside new turns; read once per packing.

    Args:
        known: Preferences, inferred ones first, then those last seen.
        feedback: Feedback of the window, newest first.
        earlier: Turns of users in the window, newest first.
        known_words: The preferences by their words.
        earlier_words: The turns by their words.
    """

    known: Sequence[MemoryEntry]
    feedback: Sequence[Feedback]
    earlier: Sequence[Turn]
    known_words: Surrounding[MemoryEntry]
    earlier_words: Surrounding[Turn]

    @classmethod
    def of(cls, view: ReadView, context: ModelContext) -> "Surroundings":
        """Read what the options allow."""
        terms = context.options.preferences
        found = view.entries.select(EntryFilter(category=PREFERENCES), limit=_LOOKED_THROUGH) if terms.beside else []
        said = view.turns.said_since(_since(context), limit=_LOOKED_THROUGH) if terms.beside else []
        signals = view.feedback.newest(limit=terms.max_feedback, since=_since(context)) if terms.max_feedback else []
        known = sorted(found, key=lambda entry: entry.category.casefold() != INFERRED)
        earlier = [turn for turn in said[::-1] if turn.occurred_at <= context.as_of]
        return cls(
            known=known,
            feedback=signals[::-1],
            earlier=earlier,
            known_words=Surrounding(known, lambda entry: entry.content),
            earlier_words=Surrounding(earlier, lambda turn: turn.content),
        )

    def need(self, view: ReadView, context: ModelContext, room: int) -> int:
        """Return how many of *room* tokens this can take beside any batch: what it cannot is left to new turns."""
        most, importance = context.options.preferences.beside, importance_at(view.decay, context.as_of)
        weights = (
            sorted((_tokens(longest_line(turn)) for turn in self.earlier), reverse=True)[:most],
            sorted((_tokens(entry_line(_WIDEST_ENTRY, one, importance)) for one in self.known), reverse=True)[:most],
            [_tokens(feedback_line(_WIDEST_FEEDBACK, one)) for one in self.feedback],
        )
        return min(room, _KINDS * max(sum(kind) for kind in weights))

    def beside(self, view: ReadView, context: ModelContext, batch: Batch, said: Sequence[str], room: int) -> Batch:
        """Return *batch* with the nearest earlier turns and preferences and the newest feedback.

        Args:
            view: Where importance is read.
            context: The run's.
            batch: Its turns.
            said: Their texts.
            room: Tokens that all of it may take, a third for each kind.
        """
        terms, importance = context.options.preferences, importance_at(view.decay, context.as_of)
        shown = {record_id for record_id, _ in (*batch.members, *batch.beside)}
        earlier = self.earlier_words.nearest(said, terms.beside, without=lambda turn: turn.id in shown)
        alike = self.known_words.nearest(said, terms.beside)
        known = list({entry.id: entry for entry in (*alike, *self.known)}.values())[: terms.beside]
        turns = fitting(earlier, longest_line, room // _KINDS)
        entries = fitting(known, lambda entry: entry_line(_WIDEST_ENTRY, entry, importance), room // _KINDS)
        feedback = fitting(self.feedback, lambda one: feedback_line(_WIDEST_FEEDBACK, one), room // _KINDS)
        turns.sort(key=lambda turn: (turn.occurred_at, turn.id))
        versions = [*((turn.id, turn.version) for turn in turns), *((entry.id, entry.version) for entry in entries)]
        signals = [(one.id, 1) for one in reversed(feedback)]
        return replace(batch, beside=(*batch.beside, *versions, *signals))


def texts_of(sessions: Sequence[Session]) -> Mapping[str, str]:
    """Return what the new turns say, by id."""
    return {turn.id: turn.content for session in sessions for turn in session.turns}


def told_by(sheet: Sheet) -> list[str]:
    """Return all that was said or signalled."""
    return [*(one.turn.content for one in sheet.turns), *(feedback_text(one) for one in sheet.feedback.values())]


def _tokens(text: str) -> int:
    return estimate_tokens(text + "\n")


def _since(context: ModelContext) -> datetime:
    return context.as_of - context.options.preferences.window
