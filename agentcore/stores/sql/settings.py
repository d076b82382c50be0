"""Keeps a scope's settings and switches."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    literal_column,
    null,
    or_,
    select,
    true,
)

from agentcore.domain.temporal import from_micros
from agentcore.stores.sql.feed import mark_changed
from agentcore.stores.sql.schema import scopes, settings, switches, turns
from agentcore.stores.sql.transaction import Transaction, chunks, micros, of_my_scope
from agentcore.stores.values import SwitchLevel, SwitchSetting

_OF_NAME = of_my_scope(settings) & (settings.c.name == bindparam("of_name"))
_VALUE = select(settings.c.value).where(_OF_NAME)
_UNSET = delete(settings).where(_OF_NAME)
_SET = insert(settings)


class SqlSettingsReader:
    """Read a scope's settings."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        return self._transaction.execute(_VALUE, of_name=name).scalar()


class SqlSettingsStore(SqlSettingsReader):
    """Write a scope's settings."""

    def put(self, name: str, value: str | None) -> None:
        """Set the value; None removes it."""
        self._transaction.execute(_UNSET, of_name=name)
        if value is not None:
            row = {"scope_id": self._transaction.scope_id, "name": name, "value": value}
            self._transaction.connection.execute(_SET, row)


FORMER_SALT: Final = "forget.salt"
"""The setting in which earlier versions kept what forgotten texts were hashed with."""

_S = switches.c
_LEVELS: Final = {
    (True, False): SwitchLevel.WORKSPACE,
    (True, True): SwitchLevel.SHARED_SESSION,
    (False, False): SwitchLevel.SCOPE,
    (False, True): SwitchLevel.SESSION,
}
_WIDE: Final = {level for (is_wide, _), level in _LEVELS.items() if is_wide}
_OF_SESSIONS: Final = {level for (_, is_session), level in _LEVELS.items() if is_session}
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
        """Return the switch of a session in the scope, or None."""
        return self._one(and_(_of_scope(self._transaction), _S.session_id == session_id))

    def shared_session(self, session_id: str) -> SwitchSetting | None:
        """Return the switch of a session in every scope of the workspace, or None."""
        return self._one(and_(_everywhere(self._transaction), _S.session_id == session_id))

    def _one(self, where: ColumnElement[bool]) -> SwitchSetting | None:
        row = self._connection.execute(select(switches).where(where)).one_or_none()
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
        mark_changed(self._transaction, whole_workspace=switch.level in _WIDE)

    def _learning_since(self, switch: SwitchSetting, before: SwitchSetting | None) -> SwitchSetting:
        """Keep from when on is learnt; whoever switches learning on again begins with this transaction."""
        if before is None:
            return replace(switch, learning_since=None)
        is_back = before.learning is False and switch.learning is not False
        return replace(switch, learning_since=self._transaction.now if is_back else before.learning_since)

    def _place(self, switch: SwitchSetting) -> dict[str, str]:
        scope = self._transaction.scope
        is_wide, is_session = switch.level in _WIDE, switch.level in _OF_SESSIONS
        return {
            "workspace": scope.workspace,
            "observer": _ALL if is_wide else scope.observer,
            "observed": _ALL if is_wide else scope.observed,
            "session_id": (switch.session_id or _ALL) if is_session else _ALL,
        }


def any_counts(transaction: Transaction, session_ids: Collection[str | None]) -> bool:
    """Tell whether what was said in one of these sessions, or in none, is activity."""
    off: set[str | None] = set()
    for chunk in chunks(one for one in session_ids if one is not None):
        named = select(_S.session_id).where(_concerning(transaction), _S.session_id.in_(chunk), _IS_OFF)
        off.update(transaction.connection.execute(named).scalars())
    return bool(set(session_ids) - off)


def learnable(transaction: Transaction, table: Table) -> ColumnElement[bool]:
    """Return which rows of *table* may be learnt from; all of them where the transaction leaves none out.

    What is said of a turn wins over what is said of its session, and that over the scope and the workspace; a session
    that does not dream is left out whatever its turns say.
    """
    if not transaction.learnable_only:
        return ALL_OF_THEM
    said: ColumnElement[Any] = table.c.learning if "learning" in table.c else null()
    if not _has_any(transaction):
        return ALL_OF_THEM if "learning" not in table.c else said.is_not(False)
    its = and_(_concerning(transaction), _S.session_id == table.c.session_id)
    wide = and_(_concerning(transaction), _S.session_id == _ALL)
    is_early = table.c.recorded_at < _S.learning_since
    # The switch of the one scope sorts behind that of all, whose observer is empty.
    narrowest = select(_S.learning).where(its, _S.learning.is_not(None)).order_by(_S.observer.desc()).limit(1)
    of_session = narrowest.scalar_subquery()
    left_out = or_(of_session.is_(False), exists().where(its, is_early))
    is_in = and_(~left_out, or_(of_session.is_(True), ~exists().where(wide, _closes(transaction, is_early))))
    awake = ~exists().where(its, _S.dream.is_(False))
    return and_(awake, or_(said.is_(True), and_(said.is_(None), is_in)))


def _closes(transaction: Transaction, is_early: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return which wide switches leave a row out that nothing narrower speaks of.

    A scope that learns nothing has no dreams, unless the options overrule its switch; so a closed one leaves rows out
    only where dreams begin for the sake of a session, or of a turn, that is on.
    """
    own = select(_S.learning).where(_concerning(transaction), _S.session_id == _ALL, _S.learning.is_not(None))
    decides = own.order_by(_S.observer.desc()).limit(1)
    is_closed = transaction.connection.execute(decides).scalar() is False
    if not is_closed or not any_within(transaction.connection, [transaction.scope_id]):
        return is_early
    return or_(is_early, _S.learning.is_(False))


def any_within(connection: Connection, scope_ids: Collection[int]) -> set[int]:
    """Return the scopes among these in which a session, or a turn that somebody has to read, says it is learnt from."""
    on = _S.learning.is_(True) & (_S.session_id != _ALL) & (_S.workspace == scopes.c.workspace)
    own = (_S.observer == scopes.c.observer) & (_S.observed == scopes.c.observed)
    everywhere = (_S.observer == _ALL) & (_S.observed == _ALL)
    # In the words of its partial index.
    told = turns.c.learning.op("IS", is_comparison=True)(literal_column("TRUE")) & turns.c.consumed_at.is_(None)
    some = or_(exists().where(on, or_(own, everywhere)), exists().where(turns.c.scope_id == scopes.c.pk, told))
    return set(connection.execute(select(scopes.c.pk).where(scopes.c.pk.in_(scope_ids), some)).scalars())


def _has_any(transaction: Transaction) -> bool:
    scope = transaction.scope
    place = {"in_workspace": scope.workspace, "of_observer": scope.observer, "of_observed": scope.observed}
    return transaction.connection.execute(_ANY, place).first() is not None


def _of_scope(transaction: Transaction) -> ColumnElement[bool]:
    scope = transaction.scope
    return and_(_S.workspace == scope.workspace, _S.observer == scope.observer, _S.observed == scope.observed)


def _everywhere(transaction: Transaction) -> ColumnElement[bool]:
    return and_(_S.workspace == transaction.scope.workspace, _S.observer == _ALL, _S.observed == _ALL)


def _concerning(transaction: Transaction) -> ColumnElement[bool]:
    return or_(_of_scope(transaction), _everywhere(transaction))


def _to_switch(row: Row[Any]) -> SwitchSetting:
    is_wide, is_session = row.observer == _ALL, row.session_id != _ALL
    return SwitchSetting(
        level=_LEVELS[is_wide, is_session],
        session_id=row.session_id or None,
        dream=row.dream,
        learning=row.learning,
        learning_since=None if row.learning_since is None else from_micros(row.learning_since),
    )
