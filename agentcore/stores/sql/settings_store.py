"""A scope's settings."""

from sqlalchemy import delete, insert, select

from agentcore.stores.sql.schema import settings
from agentcore.stores.sql.transaction import Transaction


class SqlSettingsStore:
    """Settings of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._mine = settings.c.scope_id == transaction.scope_id

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        statement = select(settings.c.value).where(self._mine, settings.c.name == name)
        return self._transaction.connection.execute(statement).scalar()

    def put(self, name: str, value: str | None) -> None:
        """Set the value; None removes it."""
        connection = self._transaction.connection
        connection.execute(delete(settings).where(self._mine, settings.c.name == name))
        if value is not None:
            row = {"scope_id": self._transaction.scope_id, "name": name, "value": value}
            connection.execute(insert(settings).values(**row))
