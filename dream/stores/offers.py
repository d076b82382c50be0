"""Keeps which due scopes are offered to the workers of a fleet, and chooses the next ones fairly among tenants.

An offer is a mark on the due time: until when a worker may take it up. It runs out by itself, so that nothing is lost
with the queue that carries it, nor with the worker that holds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    Integer,
    and_,
    column,
    func,
    lateral,
    literal,
    or_,
    select,
    true,
    update,
    values,
)

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import schedules, scopes
from agentcore.stores.sql.transaction import chunks
from dream.stores.schedules import ASKED_FOR, INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import ColumnElement, Row, Subquery

    from agentcore.stores.sql.transaction import Transaction

_DUE, _PRIORITIES = schedules.c.due_at, (ASKED_FOR, INTERRUPTED, 0)
_IS_FREE: Final = and_(_DUE.is_not(None), schedules.c.offered_until.is_(None))
_NAMES: Final = (schedules.c.scope_id, schedules.c.workspace, schedules.c.priority, schedules.c.due_at)
_CHOOSING: Final = 0x6F_66_66_72
"""The key of the advisory lock under which offers are chosen: "offr"."""
_MANY: Final = 20_000
"""From so many due scopes on, a few of each tenant are read by the index instead of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedScope:
    """A scope that was just offered.

    Args:
        key: Its key in the database.
        scope: Whose memory.
        number: The number of the offer.
        priority: Requests come before interrupted runs, those before timed dreams; within each, tenants take turns.
    """

    key: int
    scope: Scope
    number: int
    priority: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantStanding:
    """How the dreams of one tenant stand in a fleet.

    Args:
        workspace: The tenant.
        due: Scopes that are due and not offered.
        offered: Scopes that are offered; those that dream are among them.
        oldest_due_at: When the first of the due ones became due; None if none is.
    """

    workspace: str
    due: int
    offered: int
    oldest_due_at: datetime | None


class OfferStore:
    """Offers of whatever scopes, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._now = transaction.now

    def expire(self) -> list[int]:
        """Take offers back that have run out; return the keys of their scopes."""
        over = update(schedules).where(schedules.c.offered_until <= to_micros(self._now)).values(offered_until=None)
        return list(self._connection.execute(over.returning(schedules.c.scope_id)).scalars())

    def admit(self, *, most: int, per_tenant: int, until: datetime) -> list[AdmittedScope]:
        """Offer scopes that are due: requests first, then interrupted runs, then timed dreams.

        Of each kind, the tenant that has the fewest offers comes first, and of a tenant what is longest due.

        Args:
            most: So many offers at most, with those that there are.
            per_tenant: So many of each tenant at most, with those that are offered.
            until: When the offers run out.
        """
        room = most - self.count() if per_tenant > 0 and self._may_choose() else 0
        if room < 1:
            return []
        places = {row.scope_id: row for row in self._chosen(room, per_tenant)}
        taken: dict[int, int] = {}
        for chunk in chunks(sorted(places)):
            offered = update(schedules).where(schedules.c.scope_id.in_(chunk), _IS_FREE)
            told = {"offered_until": to_micros(until), "offer_no": schedules.c.offer_no + 1}
            rows = self._connection.execute(offered.values(told).returning(schedules.c.scope_id, schedules.c.offer_no))
            taken |= {row.scope_id: row.offer_no for row in rows}
        return [
            AdmittedScope(
                key=key,
                scope=Scope(row.workspace, row.observer, row.observed),
                number=taken[key],
                priority=row.priority * 1_000_000 - min(row.place, 999_999),
            )
            for key, row in places.items()
            if key in taken
        ]

    def _may_choose(self) -> bool:
        """Tell whether nobody else chooses at this moment, which would offer more than there is room for."""
        if self._connection.dialect.name != "postgresql":
            return True  # there is one writer
        return bool(self._connection.execute(select(func.pg_try_advisory_xact_lock(_CHOOSING))).scalar_one())

    def renew(self, keys: Collection[int], *, until: datetime) -> None:
        """Have the offers of scopes that are under way run out later."""
        for chunk in chunks(sorted(keys)):
            mine = and_(schedules.c.scope_id.in_(chunk), schedules.c.offered_until.is_not(None))
            self._connection.execute(update(schedules).where(mine).values(offered_until=to_micros(until)))

    def release(self, handled: Sequence[tuple[int, int]]) -> None:
        """Take offers back that were handled, by scope and number; a later offer of the same scope stays."""
        for chunk in chunks(handled):
            mine = or_(*(and_(schedules.c.scope_id == key, schedules.c.offer_no == number) for key, number in chunk))
            self._connection.execute(update(schedules).where(mine).values(offered_until=None))

    def count(self) -> int:
        """Return how many offers there are."""
        offered = select(func.count()).select_from(schedules).where(schedules.c.offered_until.is_not(None))
        return self._connection.execute(offered).scalar_one()

    def standing(self, *, limit: int) -> list[TenantStanding]:
        """Return how tenants stand that have something due or offered, those with most due first."""
        late = self._is_due
        due = func.count().filter(late)
        found = (
            select(schedules.c.workspace, due, func.count(schedules.c.offered_until), func.min(_DUE).filter(late))
            .where(or_(late, schedules.c.offered_until.is_not(None)))
            .group_by(schedules.c.workspace)
            .order_by(due.desc(), schedules.c.workspace)
            .limit(limit)
        )
        return [
            TenantStanding(
                workspace=workspace,
                due=count,
                offered=offered,
                oldest_due_at=None if oldest is None else from_micros(oldest),
            )
            for workspace, count, offered, oldest in self._connection.execute(found)
        ]

    def overdue(self) -> tuple[timedelta, timedelta] | None:
        """Return median and 99th percentile of how long scopes wait to be offered; None if none does."""
        late = self._is_due
        count = self._connection.execute(select(func.count()).select_from(schedules).where(late)).scalar_one()
        if not count:
            return None
        by_age = select(_DUE).where(late).order_by(_DUE)

        def of(share: float) -> timedelta:
            place = min(count - 1, int(count * (1 - share)))
            return self._now - from_micros(self._connection.execute(by_age.offset(place).limit(1)).scalar_one())

        return of(0.5), of(0.99)

    def _chosen(self, room: int, per_tenant: int) -> Sequence[Row[Any]]:
        """Return the scopes to offer, with their places: all that is due competes, or the first of each tenant."""
        some = select(literal(1)).select_from(schedules).where(self._is_due).limit(_MANY).subquery()
        are_many = self._connection.execute(select(func.count()).select_from(some)).scalar_one() == _MANY
        if not are_many or self._connection.dialect.name != "postgresql":
            everything = select(*_NAMES).where(self._is_due).subquery("due")
            return self._connection.execute(_ranked(everything, room, per_tenant)).all()
        found: Sequence[Row[Any]] = ()
        for depth in (1, 16, room):
            first = self._first_of_each(min(depth, per_tenant, room))
            found = self._connection.execute(_ranked(first, room, per_tenant)).all()
            if len(found) >= room:
                break
        return found

    @property
    def _is_due(self) -> ColumnElement[bool]:
        return and_(_IS_FREE, to_micros(self._now) >= _DUE)

    def _first_of_each(self, depth: int) -> Subquery:
        """Return what is longest due of each tenant and priority, by a look at the index for each (PostgreSQL)."""
        tenants = _tenants()
        kind = values(column("priority", Integer), name="kind").data([(one,) for one in _PRIORITIES])
        mine = and_(schedules.c.workspace == tenants.c.workspace, schedules.c.priority == kind.c.priority)
        first = lateral(select(*_NAMES).where(self._is_due, mine).order_by(_DUE).limit(depth))
        return select(first).select_from(tenants.join(kind, true()).join(first, true())).subquery("due")


def _ranked(due: Subquery, room: int, per_tenant: int) -> Any:
    held = (
        select(schedules.c.workspace, func.count().label("count"))
        .where(schedules.c.offered_until.is_not(None))
        .group_by(schedules.c.workspace)
        .cte("held")
    )
    turn = func.row_number().over(
        partition_by=due.c.workspace, order_by=(due.c.priority.desc(), due.c.due_at, due.c.scope_id)
    )
    place = (turn + func.coalesce(held.c.count, 0)).label("place")
    ranked = select(due, place).outerjoin_from(due, held, held.c.workspace == due.c.workspace).subquery("ranked")
    named = (scopes.c.workspace, scopes.c.observer, scopes.c.observed)
    return (
        select(ranked.c.scope_id, ranked.c.priority, ranked.c.place, *named)
        .join_from(ranked, scopes, scopes.c.pk == ranked.c.scope_id)
        .where(ranked.c.place <= per_tenant)
        .order_by(ranked.c.priority.desc(), ranked.c.place, ranked.c.due_at, ranked.c.scope_id)
        .limit(room)
    )


def _tenants() -> Subquery:
    """Return the tenants that have something planned, by one look at the index for each."""
    walk = select(func.min(schedules.c.workspace).label("workspace")).where(_IS_FREE).cte("tenants", recursive=True)
    after = select(func.min(schedules.c.workspace)).where(_IS_FREE, schedules.c.workspace > walk.c.workspace)
    walked = walk.union_all(select(after.scalar_subquery()).where(walk.c.workspace.is_not(None)))
    return select(walked.c.workspace).where(walked.c.workspace.is_not(None)).subquery("walked")
