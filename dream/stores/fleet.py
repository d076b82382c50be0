"""Finds which of all scopes the scheduler has to look at, by indexes alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, literal_column, or_, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.scope import Scope
from agentcore.stores.sql.processes import is_gone
from agentcore.stores.sql.schema import leases, peers, runs, schedules, scopes
from agentcore.stores.sql.transaction import Transaction
from dream.domain.names import DREAM_LEASE
from dream.domain.report import RunKind

# In the words of their partial indexes: SQLite takes these for no others.
_IS_ASKED_FOR = schedules.c.reason == literal_column("'manual'")
_INTERRUPTED = select(runs.c.scope_id).where(
    runs.c.finished.op("IS", is_comparison=True)(literal_column("FALSE")), runs.c.kind == RunKind.DREAM.value
)


@dataclass(frozen=True, slots=True)
class Changed:
    """What has happened and has not been planned for.

    Args:
        keys: Keys of the scopes it concerns.
        peers: Keys of the peers, with the moment up to which that is so.
    """

    keys: tuple[int, ...]
    peers: tuple[int, ...]


class Fleet:
    """All scopes of the storage, in one transaction, whatever scope that is bound to; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection

    def changed(self, *, limit: int) -> Changed:
        """Return the peers that did something longest ago and have not been planned for, and all who observe them.

        Args:
            limit: Peers at most; of one of them come all scopes, however many observe it.
        """
        waiting = select(peers.c.pk).where(peers.c.changed_since.is_not(None)).order_by(peers.c.changed_since)
        found = tuple(self._connection.execute(waiting.limit(limit)).scalars())
        of_peers = select(scopes.c.pk).join(
            peers, (peers.c.workspace == scopes.c.workspace) & (peers.c.observed == scopes.c.observed)
        )
        concerned = of_peers.where(peers.c.pk.in_(found))
        return Changed(tuple(self._connection.execute(concerned).scalars()), found)

    def settle(self, changed: Changed) -> None:
        """Note that what happened has been planned for, all in this transaction."""
        if changed.peers:
            statement = update(peers).where(peers.c.pk.in_(changed.peers))
            self._connection.execute(statement.values(changed_since=None))

    def outdated(self, options_hash: str, *, limit: int) -> tuple[int, ...]:
        """Return keys of scopes whose due time was computed from other options."""
        mark = schedules.c.options_hash
        others = select(schedules.c.scope_id).where(or_(mark < options_hash, mark > options_hash))
        return tuple(self._connection.execute(others.limit(limit)).scalars())

    def due(self, now: datetime, *, limit: int) -> list[dict[int, Scope]]:
        """Return key and scope of those that are to be looked at, at most so many of each of three kinds.

        First come those that a person asked for, then those whose run was interrupted, then all others. Of each kind
        comes what is longest due of every workspace, then the next of every workspace, so that none hides the others.
        """
        asked_for = self._due(now, limit, _IS_ASKED_FOR)
        interrupted = self._due(now, limit, schedules.c.scope_id.in_(_INTERRUPTED))
        others = self._due(now, limit)
        interrupted = {key: scope for key, scope in interrupted.items() if key not in asked_for}
        others = {key: scope for key, scope in others.items() if key not in asked_for | interrupted}
        return [asked_for, interrupted, others]

    def _due(self, now: datetime, limit: int, *conditions: ColumnElement[bool]) -> dict[int, Scope]:
        place = func.row_number().over(partition_by=scopes.c.workspace, order_by=schedules.c.due_at)
        statement = (
            select(scopes.c.pk, scopes.c.workspace, scopes.c.observer, scopes.c.observed)
            .join(schedules, schedules.c.scope_id == scopes.c.pk)
            .where(schedules.c.due_at <= to_micros(now), *conditions)
            .order_by(place, schedules.c.due_at)
            .limit(limit)
        )
        return {key: Scope(*parts) for key, *parts in self._connection.execute(statement)}

    def planned(self, *, after: int, limit: int) -> tuple[int, ...]:
        """Return keys of scopes with a due time, past the key *after*, in order."""
        statement = select(schedules.c.scope_id).where(schedules.c.due_at.is_not(None), schedules.c.scope_id > after)
        return tuple(self._connection.execute(statement.order_by(schedules.c.scope_id).limit(limit)).scalars())

    def next_due(self, after: datetime) -> datetime | None:
        """Return when the next scope is to be looked at beside those due by *after*; None if none is."""
        earliest = select(func.min(schedules.c.due_at)).where(schedules.c.due_at > to_micros(after))
        found = self._connection.execute(earliest).scalar()
        return None if found is None else from_micros(found)

    def most_under_way(self, now: datetime, *, besides: int) -> int:
        """Return how many dreams the process has under way that has most of them.

        Args:
            now: Leases that ran out by then are nobody's.
            besides: The key of a scope that is not counted.
        """
        held = select(leases.c.host, leases.c.pid, leases.c.process_started, func.count()).where(
            leases.c.scope_id.in_(_INTERRUPTED),
            leases.c.scope_id != besides,
            leases.c.name == DREAM_LEASE,
            leases.c.expires_at > to_micros(now),
        )
        rows = self._connection.execute(held.group_by(leases.c.host, leases.c.pid, leases.c.process_started))
        return max((count for *process, count in rows if not is_gone(*process)), default=0)

    def count(self, *, limit: int) -> int:
        """Return how many scopes there are, counted up to *limit*."""
        some = select(schedules.c.scope_id).limit(limit).subquery()
        return self._connection.execute(select(func.count()).select_from(some)).scalar_one()

    def scopes(self, keys: Sequence[int]) -> list[Scope]:
        """Return scopes by their keys."""
        statement = select(scopes.c.workspace, scopes.c.observer, scopes.c.observed).where(scopes.c.pk.in_(keys))
        return [Scope(*row) for row in self._connection.execute(statement)]
