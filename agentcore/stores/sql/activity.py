"""Who was active, in one transaction; rows are of peers, so that one write reaches all who observe one."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import and_, bindparam, insert, or_, select, tuple_, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.protocols import Peer
from agentcore.stores.sql.schema import peers, scopes
from agentcore.stores.sql.transaction import Transaction, chunks

_PAIR = tuple_(peers.c.workspace, peers.c.observed)
_IS_NAMED = and_(peers.c.workspace == bindparam("b_workspace"), peers.c.observed == bindparam("b_observed"))
# A moment ahead of the present was written by a clock that has been set back since.
_MOVES = or_(
    peers.c.active_at.is_(None),
    peers.c.active_at < bindparam("b_active_at"),
    peers.c.active_at > bindparam("b_now"),
)
_TOUCH = update(peers).where(_IS_NAMED, _MOVES).values(active_at=bindparam("b_active_at"), changed=True)
_PEERS_AT_ONCE = 250
"""Two parameters each."""


class SqlActivityStore:
    """Activity as one scope sees it, in one transaction; lives as long as it."""

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

    def touch(self, moments: Mapping[Peer, datetime]) -> None:
        """Note that peers, of whatever scope, were active; an earlier moment than the known one changes nothing."""
        known = self._known(moments)
        rows = [_moved(self._transaction, peer, moment) for peer, moment in sorted(moments.items()) if peer in known]
        if rows:
            self._connection.execute(_TOUCH, rows)
        new: list[dict[str, Any]] = [
            {"workspace": peer.workspace, "observed": peer.observed, "active_at": to_micros(moment), "changed": True}
            for peer, moment in sorted(moments.items())
            if peer not in known
        ]
        if new:
            self._connection.execute(insert(peers), new)

    def _known(self, named: Collection[Peer]) -> set[Peer]:
        found: set[Peer] = set()
        for chunk in chunks(sorted(named), _PEERS_AT_ONCE):
            pairs: Sequence[tuple[str, str]] = [(peer.workspace, peer.observed) for peer in chunk]
            statement = select(peers.c.workspace, peers.c.observed).where(_PAIR.in_(pairs))
            found.update(Peer(*row) for row in self._connection.execute(statement))
        return found


def record_activity(transaction: Transaction) -> None:
    """Note that the peer of the transaction's scope was active at its instant."""
    peer = Peer.of(transaction.scope)
    if not transaction.connection.execute(_TOUCH, _moved(transaction, peer, transaction.now)).rowcount:
        SqlActivityStore(transaction).touch({peer: transaction.now})


def mark_changed(transaction: Transaction, *, whole_workspace: bool = False) -> None:
    """Have whoever plans dreams look again at the scope's peer, or at every peer of its workspace."""
    peer = Peer.of(transaction.scope)
    mine = peers.c.workspace == peer.workspace
    named = mine if whole_workspace else mine & (peers.c.observed == peer.observed)
    marked = transaction.connection.execute(update(peers).where(named).values(changed=True)).rowcount
    if not marked and not whole_workspace:
        row = {"workspace": peer.workspace, "observed": peer.observed, "changed": True}
        transaction.connection.execute(insert(peers).values(row))


def _moved(transaction: Transaction, peer: Peer, moment: datetime) -> dict[str, Any]:
    return {
        "b_workspace": peer.workspace,
        "b_observed": peer.observed,
        "b_active_at": to_micros(moment),
        "b_now": to_micros(transaction.now),
    }
