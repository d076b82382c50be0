"""Readers: connections kept open for whoever reads at the moment."""

from collections.abc import Generator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine

from agentcore.stores.sql.engine import driver_of


class Readers:
    """Lends connections of an engine that only reads, each in a transaction of its own; lives as long as the engine.

    Going through SQLAlchemy's pool and transactions takes longer than most reads. So a connection that was used stays
    open, within what SQLAlchemy takes for one transaction, and the transactions of the database are begun and ended
    at the driver. Who comes while others read gets one more; may be used from any thread.

    Args:
        engine: Whose connections they are; its transactions begin with `BEGIN`.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._idle: list[Connection] = []

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Lend a connection with a transaction; what is read in it is of one state of the database."""
        connection = self._taken()
        try:
            driver = driver_of(connection)
            if not driver.in_transaction:
                driver.execute("BEGIN")
            yield connection
            driver.commit()
        except BaseException:
            # Whatever state it is in: the pool rolls back, or closes what is broken.
            connection.close()
            raise
        self._idle.append(connection)

    def close(self) -> None:
        """Close every connection; nobody reads any longer."""
        while self._idle:
            self._idle.pop().close()

    def _taken(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._engine.connect()
            connection.begin()
            return connection
