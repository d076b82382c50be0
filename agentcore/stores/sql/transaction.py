"""One database transaction on one scope: the counters every store in it shares."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, TypeVar

import orjson
from sqlalchemy import Connection, insert, select, update

from agentcore.domain.decay import Decay
from agentcore.domain.instants import to_micros
from agentcore.domain.scope import Scope
from agentcore.stores.protocols import Origin
from agentcore.stores.sql.schema import change_feed, scopes

T = TypeVar("T")

UNKNOWN_SCOPE = -1
"""Key of a scope that holds nothing yet: every read of it is empty."""

_CHUNK = 500


@dataclass(slots=True)
class Transaction:
    """Connection, scope and counters of one transaction; lives as long as it.

    Args:
        connection: Where the statements go.
        scope: The scope it is bound to.
        scope_id: That scope's key.
        now: The instant everything in it happens.
        decay: How importance is read.
        origin: Who writes.
    """

    connection: Connection
    scope: Scope
    scope_id: int
    now: datetime
    decay: Decay
    origin: Origin = Origin.HOST
    _revision: int | None = None
    _position: int | None = None
    _removed: list[int] = field(default_factory=list[int])

    def current_revision(self) -> int:
        """Return the scope's last committed revision."""
        statement = select(scopes.c.revision).where(scopes.c.pk == self.scope_id)
        return self.connection.execute(statement).scalar() or 0

    def change(self) -> int:
        """Mark the transaction as one that changes records; return the revision they get."""
        if self._revision is None:
            self._revision = self.current_revision() + 1
        return self._revision

    def next_positions(self, count: int) -> range:
        """Reserve *count* places in the order of arrival."""
        if self._position is None:
            statement = select(scopes.c.position).where(scopes.c.pk == self.scope_id)
            self._position = self.connection.execute(statement).scalar_one()
        first = self._position + 1
        self._position += count
        return range(first, first + count)

    def removed(self, keys: Iterable[int]) -> None:
        """Tell the feed that entries are gone."""
        self.change()
        self._removed.extend(keys)

    def finish(self) -> None:
        """Write the feed row, if anything changed; called once, just before the commit."""
        if self._revision is None:
            return
        values: dict[str, Any] = {"revision": self._revision}
        if self._position is not None:
            values["position"] = self._position
        self.connection.execute(update(scopes).where(scopes.c.pk == self.scope_id).values(**values))
        self.connection.execute(
            insert(change_feed).values(
                scope_id=self.scope_id,
                revision=self._revision,
                recorded_at=to_micros(self.now),
                origin=self.origin.value,
                removed=orjson.dumps(self._removed).decode() if self._removed else None,
            ),
        )


def chunks(items: Iterable[T], size: int = _CHUNK) -> Iterator[list[T]]:
    """Cut *items* into lists that fit one statement's parameters."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def encode(value: object) -> str:
    """Return *value* as JSON text."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def micros(instant: datetime | None) -> int | None:
    """Return an optional instant as the column holds it."""
    return None if instant is None else to_micros(instant)
