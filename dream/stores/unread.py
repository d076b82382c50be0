"""Counts the turns that wait to be read apart from dreams, as far as that decides anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcore.llm.chat import estimate_tokens
from agentcore.stores.sql.unit import SqlUnit
from dream.stores.cursors import CursorStore
from dream.stores.runs import RunStore
from dream.triggers.schedule_state import UnreadTurns

if TYPE_CHECKING:
    from collections.abc import Collection

    from agentcore.stores.sql.transaction import Transaction
    from dream.options.scheduling import AwakeReading


def read_unread(transaction: Transaction, readers: Collection[str], terms: AwakeReading) -> UnreadTurns:
    """Return what of the transaction's scope is unread by the reader that has read least.

    Args:
        transaction: On the scope.
        readers: The passes that read turns.
        terms: How many are enough to be read.
    """
    if any(run.is_reading for run in RunStore(transaction).unfinished()):
        return UnreadTurns(terms.turns, terms.tokens)  # what it packed is behind the cursors, and waits for its end
    cursors = CursorStore(transaction)
    after = min(cursors.position(one) or 0 for one in readers)
    again = {turn_id for one in readers for turn_id in cursors.reopened(one)}
    turns = SqlUnit(transaction).learnable.turns
    found = turns.material(after=after, also=again, limit=terms.turns)
    said = turns.get_many([one.id for one in found])
    return UnreadTurns(len(found), sum(estimate_tokens(turn.content) for turn in said))
