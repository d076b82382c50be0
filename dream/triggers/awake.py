"""Decides when new turns are read apart from the dreams of a scope; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dream.triggers.back_off import back_off
from dream.triggers.decision import Gate, GateName, Reason
from dream.triggers.schedule_state import TriggerDecision

if TYPE_CHECKING:
    from datetime import datetime

    from dream.triggers.schedule_state import TriggerState


def reading_due(situation: TriggerState) -> TriggerDecision | None:
    """Return when unread turns are to be read; None where none are, or where they are read in dreams alone."""
    terms, unread, state = situation.options.awake, situation.state.unread, situation.state
    if terms is None or not unread.turns:
        return None
    is_enough = unread.turns >= terms.turns or unread.tokens >= terms.tokens
    at: datetime | None = situation.active_at if is_enough else situation.active_at + terms.silence
    if state.read_at is not None:
        at = max(at, state.read_at + back_off(state.scope, state.reads_failed, situation.options))
    if state.budget_left == 0:
        at = None if state.budget_renews_at is None else max(at, state.budget_renews_at)
    is_open = at is not None and at <= situation.now
    until = None if is_open else at
    gate = Gate(GateName.UNREAD_TURNS, is_open, value=unread.turns, threshold=terms.turns, until=until)
    return TriggerDecision(at=at, reason=Reason.READING, gates=(gate,))
