"""Keeps who takes part in the sessions of a workspace, and who observes whom there."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, and_, delete, insert, select

from agentcore.domain.session_peer import SessionPeer
from agentcore.stores.sql.schema import session_peers
from agentcore.stores.sql.transaction import Transaction

_P = session_peers.c
_EVERYWHERE: Final = ""
"""Stands in the place of a session for what holds of a peer in all of them."""


class SqlSessionPeerReader:
    """See the participants of sessions in the workspace of a transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._workspace = transaction.scope.workspace

    def of_session(self, session_id: str) -> list[SessionPeer]:
        """Return the participants of a session by name, with what holds of each there."""
        rows = self._connection.execute(select(session_peers).where(self._in(session_id)).order_by(_P.peer)).all()
        usual = {one.name: one.observe_me for one in self._usual(row.peer for row in rows)}
        said = [_to_peer(row) for row in rows]
        return [one if one.observe_me is not None else replace(one, observe_me=usual.get(one.name)) for one in said]

    def everywhere(self, name: str) -> SessionPeer:
        """Return what holds of a peer where its session says nothing."""
        return next(iter(self._usual([name])), SessionPeer(name=name))

    def _usual(self, names: Iterable[str]) -> list[SessionPeer]:
        named = self._in(_EVERYWHERE) & _P.peer.in_(sorted(set(names)))
        return [_to_peer(row) for row in self._connection.execute(select(session_peers).where(named))]

    def _in(self, session_id: str) -> ColumnElement[bool]:
        return and_(_P.workspace == self._workspace, _P.session_id == session_id)


class SqlSessionPeerStore(SqlSessionPeerReader):
    """Say who takes part; nothing of any scope's records changes by it."""

    def put(self, peer: SessionPeer, session_id: str = _EVERYWHERE) -> None:
        """Have a peer take part in a session, or say what holds of it everywhere."""
        self.remove(peer.name, session_id)
        row = {"observe_me": peer.observe_me, "observe_others": peer.observe_others, "peer": peer.name}
        place = {"workspace": self._workspace, "session_id": session_id}
        self._connection.execute(insert(session_peers).values(row | place))

    def remove(self, name: str, session_id: str = _EVERYWHERE) -> bool:
        """Have a peer take part no longer; return whether it did."""
        one = self._in(session_id) & (_P.peer == name)
        return bool(self._connection.execute(delete(session_peers).where(one)).rowcount)


def drop_peer(transaction: Transaction) -> None:
    """Forget where the peer of an erased scope takes part, if it is the peer's own."""
    scope = transaction.scope
    if scope.observer == scope.observed:
        mine = (_P.workspace == scope.workspace) & (_P.peer == scope.observed)
        transaction.connection.execute(delete(session_peers).where(mine))


def _to_peer(row: Row[Any]) -> SessionPeer:
    return SessionPeer(name=row.peer, observe_me=row.observe_me, observe_others=row.observe_others)
