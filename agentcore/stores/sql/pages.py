"""Reads records page by page, in an order that no change disturbs: by when they were stored, the latest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_, or_, select

from agentcore.domain.temporal import to_micros
from agentcore.stores.sql.entries import SqlEntryReader
from agentcore.stores.sql.rows import matching
from agentcore.stores.sql.schema import entries, turns
from agentcore.stores.sql.turns import SqlTurnReader

if TYPE_CHECKING:
    from sqlalchemy import Table

    from agentcore.domain.conversation import Turn
    from agentcore.domain.filters import EntryFilter
    from agentcore.domain.memory import MemoryEntry
    from agentcore.stores.sql.transaction import Transaction
    from agentcore.stores.values import PagePlace


class SqlPageReader:
    """Pages of entries and turns; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def entries(self, where: EntryFilter, *, after: PagePlace | None, limit: int) -> list[MemoryEntry]:
        """Return matching entries from *after* on."""
        chosen = select(entries.c.id).where(entries.c.scope_id == self._transaction.scope_id, *matching(where))
        found = self._ids(entries, chosen, after, limit)
        by_id = {entry.id: entry for entry in SqlEntryReader(self._transaction).get_many(found)}
        return [by_id[entry_id] for entry_id in found]

    def turns(self, session_id: str | None, *, after: PagePlace | None, limit: int) -> list[Turn]:
        """Return turns, of one session or of all, from *after* on."""
        chosen = select(turns.c.id).where(turns.c.scope_id == self._transaction.scope_id)
        if session_id is not None:
            chosen = chosen.where(turns.c.session_id == session_id)
        found = self._ids(turns, chosen, after, limit)
        by_id = {turn.id: turn for turn in SqlTurnReader(self._transaction).get_many(found)}
        return [by_id[turn_id] for turn_id in found if turn_id in by_id]

    def _ids(self, table: Table, chosen: Select[Any], after: PagePlace | None, limit: int) -> list[str]:
        at, name = table.c.recorded_at, table.c.id
        if after is not None:
            instant = to_micros(after.recorded_at)
            # Both ways of saying it: the first lets the index of the order be used.
            chosen = chosen.where(at <= instant, or_(at < instant, and_(at == instant, name < after.record_id)))
        ordered = chosen.order_by(at.desc(), name.desc()).limit(limit)
        return list(self._transaction.connection.execute(ordered).scalars())
