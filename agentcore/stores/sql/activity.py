"""Who was active, in one transaction; rows are of peers, so that one write reaches all who observe one."""

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import and_, bindparam, func, insert, or_, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.schema import peers, scopes
from agentcore.stores.sql.transaction import Transaction, chunks
from agentcore.stores.values import Peer

_IS_NAMED = and_(peers.c.workspace == bindparam("b_workspace"), peers.c.observed == bindparam("b_observed"))
# A moment ahead of the present was written by a clock that has been set back since.
_MOVES = or_(
    peers.c.active_at.is_(None),
    peers.c.active_at <= bindparam("b_active_at"),
    peers.c.active_at > bindparam("b_now"),
)
_TOUCH = (
    update(peers)
    .where(_IS_NAMED, _MOVES)
    .values(
        active_at=bindparam("b_active_at"),
        changed_since=func.coalesce(peers.c.changed_since, bindparam("b_active_at")),
    )
)


class SqlActivityReader:
    """See when the scope's peer was active."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def last(self) -> datetime | None:
        """Return when the peer of the view's scope was last active, whoever observed it; None if it never was."""
        peer = Peer.of(self._transaction.scope)
        mine = (peers.c.workspace == peer.workspace) & (peers.c.observed == peer.observed)
        found = self._connection.execute(select(peers.c.active_at).where(mine)).scalar()
        return None if found is None else from_micros(found)

    def explicit_entries(self) -> int:
        """Return how many explicit entries people and imports have ever added to the scope; it only grows."""
        statement = select(scopes.c.explicit_entries).where(scopes.c.pk == self._transaction.scope_id)
        return self._connection.execute(statement).scalar() or 0


class SqlActivityStore(SqlActivityReader):
    """Record activity that comes without a record.

    A transaction of a host or an import records its own: whoever adds turns, entries or signals, or says an entry
    again, is active at its instant. What dreams write is no activity, nor what belongs to sessions that are off.
    """

    def touch(self, moments: Mapping[Peer, datetime]) -> None:
        """Note that peers, of whatever scope, were active; an earlier moment than the known one changes nothing."""
        known = self._known(moments)
        rows = [_moved(self._transaction, peer, moment) for peer, moment in sorted(moments.items()) if peer in known]
        if rows:
            self._connection.execute(_TOUCH, rows)
        new = [_new(peer, to_micros(moment)) for peer, moment in sorted(moments.items()) if peer not in known]
        if new:
            self._connection.execute(insert(peers), new)

    def notify(self) -> None:
        """Have whoever plans dreams look again at those of the scope's peer; it is no activity."""
        mark_changed(self._transaction)

    def _known(self, named: Collection[Peer]) -> set[Peer]:
        found: set[Peer] = set()
        # By workspace: SQLite finds no pair of values by an index.
        for workspace, group in groupby(sorted(named), key=lambda peer: peer.workspace):
            for chunk in chunks(peer.observed for peer in group):
                statement = select(peers.c.observed).where(peers.c.workspace == workspace, peers.c.observed.in_(chunk))
                found.update(Peer(workspace, one) for one in self._connection.execute(statement).scalars())
        return found


def record_activity(transaction: Transaction) -> None:
    """Note that the peer of the transaction's scope was active at its instant."""
    peer = Peer.of(transaction.scope)
    if not transaction.connection.execute(_TOUCH, _moved(transaction, peer, transaction.now)).rowcount:
        SqlActivityStore(transaction).touch({peer: transaction.now})


def mark_changed(transaction: Transaction, *, whole_workspace: bool = False) -> None:
    """Have whoever plans dreams look again at the scope's peer, or at every peer of its workspace."""
    peer = Peer.of(transaction.scope)
    now = to_micros(transaction.now)
    mine = peers.c.workspace == peer.workspace
    named = mine if whole_workspace else mine & (peers.c.observed == peer.observed)
    marking = update(peers).where(named).values(changed_since=func.coalesce(peers.c.changed_since, now))
    if not transaction.connection.execute(marking).rowcount and not whole_workspace:
        transaction.connection.execute(insert(peers).values(_new(peer, None) | {"changed_since": now}))


def _new(peer: Peer, active_at: int | None) -> dict[str, Any]:
    return {
        "workspace": peer.workspace,
        "observed": peer.observed,
        "active_at": active_at,
        "changed_since": active_at,
    }


def _moved(transaction: Transaction, peer: Peer, moment: datetime) -> dict[str, Any]:
    return {
        "b_workspace": peer.workspace,
        "b_observed": peer.observed,
        "b_active_at": to_micros(moment),
        "b_now": to_micros(transaction.now),
    }
