"""Switches in one transaction: what is off, and what of a scope is therefore not learnt from."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, Table, and_, bindparam, delete, exists, insert, or_, select, true

from agentcore.domain.temporal import from_micros
from agentcore.stores.sql.feed import mark_changed
from agentcore.stores.sql.schema import switches
from agentcore.stores.sql.transaction import Transaction, chunks, micros
from agentcore.stores.values import SwitchLevel, SwitchSetting

_S = switches.c
_ALL = ""
"""Stands in a part of the key for every scope of the workspace, or every session of the scope."""
ALL_OF_THEM: Final[ColumnElement[bool]] = true()
"""The condition that leaves nothing out."""
_IS_OFF = or_(_S.dream.is_(False), _S.learning.is_(False))
_ANY: Final = (
    select(_S.workspace)
    .where(
        _S.workspace == bindparam("in_workspace"),
        or_(
            and_(_S.observer == bindparam("of_observer"), _S.observed == bindparam("of_observed")),
            and_(_S.observer == _ALL, _S.observed == _ALL),
        ),
    )
    .limit(1)
)
"""Asked whenever turns or signals are to be learnt from."""


class SqlSwitchReader:
    """Read the switches that concern a scope."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def standing(self) -> list[SwitchSetting]:
        """Return those of the scope's workspace and of the scope itself, sessions aside; the widest first."""
        concerns = and_(_concerning(self._transaction), _S.session_id == _ALL)
        rows = self._connection.execute(select(switches).where(concerns).order_by(_S.observer))
        return [_to_switch(row) for row in rows]

    def session(self, session_id: str) -> SwitchSetting | None:
        """Return the switch of a session, or None."""
        one = and_(_of_scope(self._transaction), _S.session_id == session_id)
        row = self._connection.execute(select(switches).where(one)).one_or_none()
        return None if row is None else _to_switch(row)

    def sessions(self) -> list[SwitchSetting]:
        """Return every switch of a session of the scope, by session."""
        mine = and_(_of_scope(self._transaction), _S.session_id != _ALL)
        return [
            _to_switch(row) for row in self._connection.execute(select(switches).where(mine).order_by(_S.session_id))
        ]


class SqlSwitchStore(SqlSwitchReader):
    """Set switches; nothing of a scope's records changes by it."""

    def put(self, switch: SwitchSetting) -> None:
        """Set the switch at its level; one that says nothing is removed.

        A session whose learning is switched on again is learnt from as of this transaction: `learning_since` is the
        store's to keep.
        """
        place = self._place(switch)
        mine = and_(*(_S[name] == value for name, value in place.items()))
        row = self._connection.execute(select(switches).where(mine)).one_or_none()
        since = self._learning_since(switch, None if row is None else _to_switch(row))
        self._connection.execute(delete(switches).where(mine))
        if (switch.dream, switch.learning, since.learning_since) != (None, None, None):
            said = {"dream": switch.dream, "learning": switch.learning, "learning_since": micros(since.learning_since)}
            self._connection.execute(insert(switches).values(**place, **said))
        mark_changed(self._transaction, whole_workspace=switch.level is SwitchLevel.WORKSPACE)

    def _learning_since(self, switch: SwitchSetting, before: SwitchSetting | None) -> SwitchSetting:
        """Keep from when on is learnt; whoever switches learning on again begins with this transaction."""
        if before is None:
            return replace(switch, learning_since=None)
        is_back = before.learning is False and switch.learning is not False
        return replace(switch, learning_since=self._transaction.now if is_back else before.learning_since)

    def _place(self, switch: SwitchSetting) -> dict[str, str]:
        scope = self._transaction.scope
        is_wide = switch.level is SwitchLevel.WORKSPACE
        return {
            "workspace": scope.workspace,
            "observer": _ALL if is_wide else scope.observer,
            "observed": _ALL if is_wide else scope.observed,
            "session_id": (switch.session_id or _ALL) if switch.level is SwitchLevel.SESSION else _ALL,
        }


def any_counts(transaction: Transaction, session_ids: Collection[str | None]) -> bool:
    """Tell whether what was said in one of these sessions, or in none, is activity."""
    off: set[str | None] = set()
    for chunk in chunks(one for one in session_ids if one is not None):
        named = select(_S.session_id).where(_of_scope(transaction), _S.session_id.in_(chunk), _IS_OFF)
        off.update(transaction.connection.execute(named).scalars())
    return bool(set(session_ids) - off)


def learnable(transaction: Transaction, table: Table) -> ColumnElement[bool]:
    """Return which rows of *table* may be learnt from; all of them where the transaction leaves none out."""
    if not transaction.learnable_only or not _has_any(transaction):
        return ALL_OF_THEM
    is_its = or_(_S.session_id == _ALL, _S.session_id == table.c.session_id)
    is_out = or_(and_(_S.session_id != _ALL, _IS_OFF), table.c.recorded_at < _S.learning_since)
    return ~exists().where(_concerning(transaction), is_its, is_out)


def _has_any(transaction: Transaction) -> bool:
    scope = transaction.scope
    place = {"in_workspace": scope.workspace, "of_observer": scope.observer, "of_observed": scope.observed}
    return transaction.connection.execute(_ANY, place).first() is not None


def _of_scope(transaction: Transaction) -> ColumnElement[bool]:
    scope = transaction.scope
    return and_(_S.workspace == scope.workspace, _S.observer == scope.observer, _S.observed == scope.observed)


def _concerning(transaction: Transaction) -> ColumnElement[bool]:
    everywhere = and_(_S.workspace == transaction.scope.workspace, _S.observer == _ALL, _S.observed == _ALL)
    return or_(_of_scope(transaction), everywhere)


def _to_switch(row: Row[Any]) -> SwitchSetting:
    level = SwitchLevel.SESSION if row.session_id != _ALL else SwitchLevel.SCOPE
    return SwitchSetting(
        level=SwitchLevel.WORKSPACE if row.observer == _ALL else level,
        session_id=row.session_id or None,
        dream=row.dream,
        learning=row.learning,
        learning_since=None if row.learning_since is None else from_micros(row.learning_since),
    )
