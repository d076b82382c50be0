"""Finds and removes stored runs, plans, decided proposals and feed rows that are too old to be kept."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, delete, func, select

from agentcore.domain.instants import to_micros
from agentcore.stores.sql.schema import (
    change_feed,
    journal,
    model_calls,
    model_failures,
    plans,
    proposals,
    refused_texts,
    runs,
    steps,
)
from agentcore.stores.sql.transaction import Transaction
from dream.domain.proposal import HistoryKind
from dream.stores.proposals import ProposalStore, RefusedTextStore


class ExpiryReader:
    """The old rows of one scope's bookkeeping, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = runs.c.scope_id == transaction.scope_id

    def count(self, what: HistoryKind, before: datetime) -> int:
        """Count the rows of a kind that ended before that instant."""
        if what is HistoryKind.REFUSED:
            return RefusedTextStore(self._transaction).count_expired(before)
        if what is HistoryKind.PROPOSALS:
            return ProposalStore(self._transaction).count_expired(before)
        return self.count_expired(before) if what is HistoryKind.RUNS else self.count_feed(before)

    def count_expired(self, before: datetime) -> int:
        """Count the rows of runs that ended before that instant, and plans as old."""
        return sum(
            self._connection.execute(select(func.count()).select_from(table).where(due)).scalar_one()
            for table, due in self._expired(before)
        )

    def count_feed(self, before: datetime) -> int:
        """Count feed rows written before that instant, the newest aside."""
        return self._connection.execute(
            select(func.count()).select_from(change_feed).where(self._old_feed(before))
        ).scalar_one()

    def _expired(self, before: datetime) -> list[tuple[Table, ColumnElement[bool]]]:
        scope_id = self._transaction.scope_id
        ended = self._mine & (runs.c.finished_at < to_micros(before))
        theirs = select(runs.c.id).where(ended)
        of_runs = [
            (table, (table.c.scope_id == scope_id) & table.c.run_id.in_(theirs))
            for table in (journal, refused_texts, steps)
        ]
        # A plan's calls belong to no run here, so calls go by their own age.
        of_runs += [
            (table, (table.c.scope_id == scope_id) & (at < to_micros(before)))
            for table, at in ((model_calls, model_calls.c.answered_at), (model_failures, model_failures.c.failed_at))
        ]
        old_plans = (plans.c.scope_id == scope_id) & (plans.c.created_at < to_micros(before))
        # One that still waits expires by its own date, which is told; this is about what was rejected.
        old_proposals = (proposals.c.scope_id == scope_id) & (proposals.c.proposed_at < to_micros(before))
        decided = old_proposals & (proposals.c.state != "waiting")
        return [*of_runs, (plans, old_plans), (proposals, decided), (runs, ended)]

    def _old_feed(self, before: datetime) -> Any:
        mine = change_feed.c.scope_id == self._transaction.scope_id
        newest = select(func.max(change_feed.c.revision)).where(mine).scalar_subquery()
        return mine & (change_feed.c.recorded_at < to_micros(before)) & (change_feed.c.revision < newest)


class ExpiryStore(ExpiryReader):
    """The old rows of one scope's bookkeeping, in one transaction; lives as long as it."""

    def purge(self, before: datetime, *, limit: int) -> int:
        """Remove about *limit* of what `count_expired` counts, a run after all that belongs to it; return how much."""
        gone = 0
        for table, due in self._expired(before):
            if gone < limit:
                gone += self._delete(table, due, limit - gone)
        return gone

    def purge_feed(self, before: datetime, *, limit: int) -> int:
        """Remove at most *limit* feed rows written before that instant, oldest first, the newest aside."""
        mine = change_feed.c.scope_id == self._transaction.scope_id
        oldest = select(change_feed.c.revision).where(self._old_feed(before)).order_by(change_feed.c.revision)
        doomed = change_feed.c.revision.in_(oldest.limit(limit))
        return self._connection.execute(delete(change_feed).where(mine, doomed)).rowcount

    def _delete(self, table: Table, due: ColumnElement[bool], limit: int) -> int:
        if "pk" in table.c:
            due = table.c.pk.in_(select(table.c.pk).where(due).limit(limit))
        return self._connection.execute(delete(table).where(due)).rowcount
