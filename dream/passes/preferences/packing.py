"""Shows preferences beside new turns: earlier turns, known preferences and feedback, as many as have room."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import Feedback
from agentcore.llm.chat import estimate_tokens
from agentcore.stores.storage import ReadView
from dream.domain.step import Batch
from dream.passes.conversation.neighbours import Surrounding, fitting, handles_of, stored_beside
from dream.passes.conversation.statement import is_under
from dream.passes.conversation.turn_pass import SessionExcerpt, tokens_of
from dream.passes.preferences.judging import INFERRED, PREFERENCES
from dream.passes.prompts import (
    PromptTurn,
    entry_line,
    feedback_line,
    importance_at,
    longest_line,
    shown_turns,
)
from dream.passes.protocol import ModelContext

_LOOKED_THROUGH: Final = 1_000
"""The newest so many preferences, and earlier turns, are compared with the new turns."""
_MOST_FEEDBACK: Final = 10_000
"""The newest so many signals are looked through for those from the time of the turns."""
SHARE_BESIDE: Final = 2
"""Half of a prompt at most goes to what is shown beside the new turns."""
_KINDS: Final = 3
"""Earlier turns, preferences and feedback have a third of the room each."""
_WIDEST_ENTRY, _WIDEST_FEEDBACK = "e9999", "f9999"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceHandles:
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

    turns: Sequence[PromptTurn]
    entries: Mapping[str, MemoryEntry]
    feedback: Mapping[str, Feedback]
    turn_handles: frozenset[str]
    feedback_handles: frozenset[str]
    entry_ids: Mapping[str, str]
    packed: Mapping[str, int]

    @classmethod
    def of(cls, view: ReadView, batch: Batch) -> "PreferenceHandles":
        """Find what *batch* shows."""
        turns, entries = stored_beside(view, batch)
        others = [record_id for record_id, _ in batch.beside if record_id not in turns and record_id not in entries]
        signals = {one.id: one for one in view.feedback.get_many(others)}
        foreign = [one.id for one in entries.values() if not is_under(one.category, (PREFERENCES,))]
        entry_ids = handles_of(batch, "e", without={*turns, *batch.member_ids, *signals, *foreign})
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
class PreferenceContext:
    """What may be shown beside new turns; read once per packing.

    Args:
        known: Preferences, inferred ones first, then those last seen.
        feedback: Feedback of the window, or as old as the oldest turn that is shown, newest first.
        new: The new turns and those said before them, by id.
        earlier: Turns of users in the window, newest first.
        known_words: The preferences by their words.
        earlier_words: The turns by their words.
    """

    known: Sequence[MemoryEntry]
    feedback: Sequence[Feedback]
    new: Mapping[str, Turn]
    earlier: Sequence[Turn]
    known_words: Surrounding[MemoryEntry]
    earlier_words: Surrounding[Turn]

    @classmethod
    def of(cls, view: ReadView, context: ModelContext, sessions: Sequence[SessionExcerpt]) -> "PreferenceContext":
        """Read what the options allow beside the new turns of *sessions*."""
        terms = context.options.preferences
        new = {turn.id: turn for session in sessions for turn in (*session.before, *session.turns)}
        since = min([_since(context), *(turn.occurred_at for turn in new.values())])
        found = (
            view.entries.select(EntryFilter(category=PREFERENCES), limit=_LOOKED_THROUGH)
            if terms.context_entries
            else []
        )
        said = view.turns.said_since(_since(context), limit=_LOOKED_THROUGH) if terms.context_entries else []
        signals = view.feedback.newest(limit=_MOST_FEEDBACK, since=since) if terms.max_feedback else []
        known = sorted(found, key=lambda entry: entry.category.casefold() != INFERRED)
        earlier = [turn for turn in said[::-1] if turn.occurred_at <= context.as_of]
        return cls(
            known=known,
            feedback=signals[::-1],
            new=new,
            earlier=earlier,
            known_words=Surrounding(known, lambda entry: entry.content),
            earlier_words=Surrounding(earlier, lambda turn: turn.content),
        )

    def need(self, view: ReadView, context: ModelContext, room: int) -> int:
        """Return how many of *room* tokens this can take beside any batch: what it cannot is left to new turns."""
        terms, importance = context.options.preferences, importance_at(view.decay, context.as_of)
        most, signals = terms.context_entries, terms.max_feedback
        weights = (
            sorted((_tokens(longest_line(turn)) for turn in self.earlier), reverse=True)[:most],
            sorted((_tokens(entry_line(_WIDEST_ENTRY, one, importance)) for one in self.known), reverse=True)[:most],
            sorted((_tokens(feedback_line(_WIDEST_FEEDBACK, one)) for one in self.feedback), reverse=True)[:signals],
        )
        return min(room, _KINDS * max(sum(kind) for kind in weights))

    def beside(self, view: ReadView, context: ModelContext, batch: Batch, room: int, kept: int) -> Batch:
        """Return *batch* with earlier turns, preferences and feedback.

        First come the nearest turns and preferences and the newest feedback, then, while there is room, the newest
        earlier turns: what somebody wants is seldom said in the same words.

        Args:
            view: Where importance is read.
            context: The run's.
            batch: Its turns.
            room: Tokens that all lines of the prompt may take.
            kept: Tokens of them that were kept free for this, a third for each kind.
        """
        terms, importance = context.options.preferences, importance_at(view.decay, context.as_of)
        said = [self.new[turn_id].content for turn_id in batch.member_ids]
        shown = {record_id for record_id, _ in (*batch.members, *batch.beside)}
        earlier = self.earlier_words.nearest(said, terms.context_entries, without=lambda turn: turn.id in shown)
        alike = self.known_words.nearest(said, terms.context_entries)
        known = list({entry.id: entry for entry in (*alike, *self.known)}.values())[: terms.context_entries]
        turns = fitting(earlier, longest_line, kept // _KINDS)
        entries = fitting(known, lambda entry: entry_line(_WIDEST_ENTRY, entry, importance), kept // _KINDS)
        signals = self._signals(context, [self.new[record_id] for record_id in shown])
        feedback = fitting(signals, lambda one: feedback_line(_WIDEST_FEEDBACK, one), kept // _KINDS)
        shown |= {turn.id for turn in turns}
        used = sum(tokens_of(self.new[record_id]) for record_id, _ in (*batch.members, *batch.beside))
        taken = sum(map(tokens_of, turns)) + sum(_tokens(entry_line(_WIDEST_ENTRY, one, importance)) for one in entries)
        taken += sum(_tokens(feedback_line(_WIDEST_FEEDBACK, one)) for one in feedback)
        turns += _as_many(self.earlier, shown, min(room - used, room // SHARE_BESIDE) - taken)
        chosen = {record.id for record in (*turns, *feedback)}
        before = [turn for turn in reversed(self.earlier) if turn.id in chosen]
        # Later turns of a session stand later, whatever they are shown for.
        before = sorted([*before, *(self.new[one] for one, _ in batch.beside)], key=lambda turn: turn.occurred_at)
        versions = [*((turn.id, turn.version) for turn in before), *((entry.id, entry.version) for entry in entries)]
        versions += [(one.id, 1) for one in reversed(self.feedback) if one.id in chosen]
        return replace(batch, beside=tuple(versions))

    def _signals(self, context: ModelContext, shown: Sequence[Turn]) -> list[Feedback]:
        """Return the newest feedback of the window, or since the oldest turn shown; that of their sessions first."""
        since = min([_since(context), *(turn.occurred_at for turn in shown)])
        sessions = {turn.session_id for turn in shown}
        found = [one for one in self.feedback if one.occurred_at >= since]
        theirs_first = sorted(found, key=lambda one: one.session_id not in sessions)
        return theirs_first[: context.options.preferences.max_feedback]


def _as_many(turns: Sequence[Turn], shown: Collection[str], room: int) -> list[Turn]:
    """Return the first turns that are not shown and take *room* tokens at most; one that is too long is passed over."""
    fit: list[Turn] = []
    for turn in turns:
        tokens = 0 if turn.id in shown else tokens_of(turn)
        if 0 < tokens <= room:
            fit.append(turn)
            room -= tokens
    return fit


def _tokens(text: str) -> int:
    return estimate_tokens(text + "\n")


def _since(context: ModelContext) -> datetime:
    return context.as_of - context.options.preferences.window
