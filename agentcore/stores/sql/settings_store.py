"""A scope's settings."""

from sqlalchemy import bindparam, delete, insert, select

from agentcore.stores.sql.schema import settings
from agentcore.stores.sql.transaction import Transaction, of_my_scope

_MINE = of_my_scope(settings) & (settings.c.name == bindparam("of_name"))
_VALUE = select(settings.c.value).where(_MINE)
_UNSET = delete(settings).where(_MINE)
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
