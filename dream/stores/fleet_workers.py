"""Keeps the workers of a fleet: who they are, how much each can hold, and what it has done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import delete, func, insert, select, update

from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import fleet_workers

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from agentcore.stores.sql.transaction import Transaction

_OVER: Final = 10
"""How many times the length of a silence that counts as death a worker stays listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """A worker of a fleet.

    Args:
        holder: Its id.
        host: Machine of its process.
        pid: Its process.
        started_at: When it started.
        seen_at: When it told of itself last.
        stopping_at: When it was asked to stop; None if it was not.
        at_once: Dreams it can hold at once.
        under_way: Dreams it holds.
        handled: Offers that it has handled.
        options_hash: Tells its options from others.
    """

    holder: str
    host: str
    pid: int
    started_at: datetime
    seen_at: datetime
    stopping_at: datetime | None
    at_once: int
    under_way: int
    handled: int
    options_hash: str


class WorkerStore:
    """The workers of a fleet, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._now = transaction.now

    def beat(self, worker: WorkerRecord, *, silence: timedelta) -> None:
        """Write down how a worker stands; those that have been silent for long are forgotten.

        Args:
            worker: How it stands.
            silence: After how much of it one counts as dead.
        """
        row = {
            "holder": worker.holder,
            "host": worker.host,
            "pid": worker.pid,
            "started_at": to_micros(worker.started_at),
            "seen_at": to_micros(self._now),
            "stopping_at": None if worker.stopping_at is None else to_micros(worker.stopping_at),
            "at_once": worker.at_once,
            "under_way": worker.under_way,
            "handled": worker.handled,
            "options_hash": worker.options_hash,
        }
        mine = fleet_workers.c.holder == worker.holder
        if not self._connection.execute(update(fleet_workers).where(mine).values(row)).rowcount:
            self._connection.execute(insert(fleet_workers), row)
            over = fleet_workers.c.seen_at < to_micros(self._now - _OVER * silence)
            self._connection.execute(delete(fleet_workers).where(over))

    def leave(self, holder: str) -> None:
        """Forget a worker that has stopped."""
        self._connection.execute(delete(fleet_workers).where(fleet_workers.c.holder == holder))

    def capacity(self, *, silence: timedelta) -> int:
        """Return how many dreams all workers that live and go on can hold together."""
        living = fleet_workers.c.seen_at > to_micros(self._now - silence)
        held = select(func.coalesce(func.sum(fleet_workers.c.at_once), 0))
        return int(self._connection.execute(held.where(living, fleet_workers.c.stopping_at.is_(None))).scalar_one())

    def all(self) -> list[WorkerRecord]:
        """Return those that are listed, the newest first."""
        rows = self._connection.execute(select(fleet_workers).order_by(fleet_workers.c.started_at.desc()))
        return [
            WorkerRecord(
                holder=row.holder,
                host=row.host,
                pid=row.pid,
                started_at=from_micros(row.started_at),
                seen_at=from_micros(row.seen_at),
                stopping_at=None if row.stopping_at is None else from_micros(row.stopping_at),
                at_once=row.at_once,
                under_way=row.under_way,
                handled=row.handled,
                options_hash=row.options_hash,
            )
            for row in rows
        ]
