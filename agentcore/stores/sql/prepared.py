"""Queries that stand on the way of every turn: compiled once, then given straight to the driver."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from sqlalchemy import Boolean, Column, Connection, Dialect, Float, Select, bindparam
from sqlalchemy.types import TypeEngine

Rows: TypeAlias = Sequence[tuple[Any, ...]]

_KEYS_AT_ONCE: Final = 10
_MOST_KEYS: Final = 500


@dataclass(frozen=True, slots=True)
class _Form:
    """A statement in the words of one database.

    Args:
        text: What the driver executes.
        order: The names of its parameters where they have places; None where they have names.
        constants: The parameters that are always the same.
    """

    text: str
    order: tuple[str, ...] | None
    constants: dict[str, Any]

    def parameters(self, values: Mapping[str, object]) -> Any:
        """Return what the driver is given besides the text."""
        known = {**self.constants, **values} if self.constants else values
        return known if self.order is None else tuple([known[name] for name in self.order])


class Prepared:
    """A query that is compiled for a database once, however often it is asked; a constant of its module.

    Executing a statement, SQLAlchemy takes about as long as SQLite does to find ten rows by their keys. So what a turn
    waits for is asked without it, though whoever listens to its `before_cursor_execute` hears of it; everything else
    goes through `Transaction.execute`.

    Args:
        statement: The query, of parameters and columns that drivers take and give as they are: numbers and texts.
            Truth values come back as the driver has them, such as 0 and 1.

    Raises:
        TypeError: when first asked, if a value of it needs converting.

    Example:
        >>> from sqlalchemy import Integer, column, create_engine
        >>> from sqlalchemy.sql.expression import select
        >>> twice = Prepared(select(bindparam("number", type_=Integer()) * 2))
        >>> with create_engine("sqlite://").connect() as connection:
        ...     twice.rows(connection, {"number": 21})
        [(42,)]
    """

    def __init__(self, statement: Select[*tuple[Any, ...]]) -> None:
        self._statement = statement
        self._forms: dict[str, _Form] = {}

    def rows(self, connection: Connection, values: Mapping[str, object]) -> Rows:
        """Return every row.

        Args:
            connection: Where to ask; within its transaction.
            values: By the names of the parameters; others do no harm.
        """
        form = self._forms.get(connection.dialect.name) or self._compiled(connection.dialect)
        parameters = form.parameters(values)
        cursor = connection.connection.cursor()
        for tell in connection.dispatch.before_cursor_execute:
            tell(connection, cursor, form.text, parameters, None, False)  # noqa: FBT003 - the signature of the event
        try:
            cursor.execute(form.text, parameters)
            return cursor.fetchall()
        finally:
            cursor.close()

    def bound(self, connection: Connection) -> Callable[[Mapping[str, object]], Rows]:
        """Return what asks the query on a connection of SQLite's driver, in half the time; nobody is told of it."""
        form = self._forms.get(connection.dialect.name) or self._compiled(connection.dialect)
        execute = cast("sqlite3.Connection", connection.connection.dbapi_connection).execute
        return lambda values: execute(form.text, form.parameters(values)).fetchall()

    def _compiled(self, dialect: Dialect) -> _Form:
        compiled = self._statement.compile(dialect=dialect)
        if compiled.post_compile_params or compiled.literal_execute_params:
            raise TypeError(f"{self._statement} has to be compiled for each execution")
        for column in self._statement.selected_columns:
            if not isinstance(column.type, Float):  # what drivers give is one already
                _require_plain(column.type.dialect_impl(dialect).result_processor(dialect, None), column.type)
        for bound in compiled.binds.values():
            _require_plain(bound.type.dialect_impl(dialect).bind_processor(dialect), bound.type)
        order = tuple(compiled.positiontup or ()) if compiled.positional else None
        constants = {name: bound.value for name, bound in compiled.binds.items() if not bound.required}
        form = self._forms[dialect.name] = _Form(compiled.string, order, constants)
        return form


class PreparedByKey:
    """A prepared query for the rows that have one of some keys; a constant of its module.

    Args:
        statement: The query, without that condition.
        key: The column of the keys.
    """

    def __init__(self, statement: Select[*tuple[Any, ...]], key: Column[Any]) -> None:
        self._statement = statement
        self._key = key
        self._by_count: dict[int, Prepared] = {}

    def parts(self, keys: Sequence[object]) -> Iterator[tuple[Prepared, dict[str, object]]]:
        """Yield the queries that together ask for *keys*, each with its parameters."""
        for start in range(0, len(keys), _MOST_KEYS):
            part = list(keys[start : start + _MOST_KEYS])
            # A key named twice is found once, so few lengths of the list are enough.
            part += part[-1:] * (-len(part) % _KEYS_AT_ONCE)
            prepared = self._by_count.get(len(part)) or self._of(len(part))
            yield prepared, {f"key_{number}": key for number, key in enumerate(part)}

    def _of(self, count: int) -> Prepared:
        keys = [bindparam(f"key_{number}", type_=self._key.type) for number in range(count)]
        prepared = self._by_count[count] = Prepared(self._statement.where(self._key.in_(keys)))
        return prepared


def _require_plain(processor: object, of: TypeEngine[Any]) -> None:
    if processor is not None and not isinstance(of, Boolean):
        raise TypeError(f"{of!r} needs converting, which a prepared query does not do")
