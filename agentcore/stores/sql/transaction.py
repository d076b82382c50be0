"""Holds one database transaction on one scope: counters and conditions that every store in it shares."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import orjson
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    Select,
    String,
    Table,
    Update,
    and_,
    bindparam,
    cast,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.exc import IntegrityError

from agentcore.domain.actor import HOST, Actor, ActorKind
from agentcore.domain.decay import Decay
from agentcore.domain.memory import Status
from agentcore.domain.records import RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import InvalidContentError, StaleVersionError
from agentcore.stores.sql.bulk import insert_rows
from agentcore.stores.sql.forget_key import ForgetKey
from agentcore.stores.sql.prepared import Prepared, PreparedByKey, Rows
from agentcore.stores.sql.schema import change_feed, scopes
from agentcore.stores.values import Origin, WriteKind

if TYPE_CHECKING:
    from agentcore.stores.sql.engines.row_security import ScopeBounds

T = TypeVar("T")

UNKNOWN_SCOPE = -1
"""Key of a scope that holds nothing yet: every read of it is empty."""

NEVER_MATERIAL = 0
"""Position of what no pass has to look at."""

MY_SCOPE = "my_scope"
"""The parameter of a statement that stands for the scope of who executes it."""

_CHUNK = 500
_BY_PEOPLE = frozenset({Origin.HOST, Origin.IMPORT})
COUNTED = _BY_PEOPLE | {Origin.READING}
"""Whose explicit entries count toward the next dream."""


def of_my_scope(table: Table) -> ColumnElement[bool]:
    """Return the condition that a row is of the scope of the transaction that executes the statement.

    What is asked at every step is a constant of its module, built with this and `bindparam` and given to
    `Transaction.execute`: SQLAlchemy spends five times as long on a statement that is built anew for each call.
    """
    return table.c.scope_id == bindparam(MY_SCOPE)


SCOPE_REVISION = Prepared(select(scopes.c.revision).where(scopes.c.pk == bindparam(MY_SCOPE)))
"""Asks for the last revision of a scope."""

_DATABASE_CLOCK = select(cast(func.extract("epoch", func.clock_timestamp()) * 1_000_000, BigInteger))
_POSITION = select(scopes.c.position).where(scopes.c.pk == bindparam(MY_SCOPE))
_MOVE_ON = update(scopes).where(scopes.c.pk == bindparam(MY_SCOPE))
_MORE_EXPLICIT = _MOVE_ON.values(explicit_entries=scopes.c.explicit_entries + bindparam("more"))
_NEXT_REVISION = _MOVE_ON.values(revision=bindparam("new_revision"))
_NEXT_REVISION_AND_POSITION = _MOVE_ON.values(revision=bindparam("new_revision"), position=bindparam("new_position"))
_FEED_ROW = insert(change_feed)


@dataclass(slots=True)
class Transaction:
    """Connection, scope and counters of one transaction; lives as long as it.

    Args:
        connection: Where the statements go.
        scope: The scope it is bound to.
        scope_id: That scope's key.
        now: The instant everything in it happens.
        decay: How importance is read.
        origin: What writes.
        asked_by: Who asks for it.
        forgot: Whether texts were scrubbed, so that the storage has to clear its files after the commit.
        learnable_only: Whether turns and signals are left out that nothing is to be learnt from.
        was_active: Whether people or agents did something in it.
        written: What it did to entries and skills, by kind and id.
        erased: Those that it removed.
        inserted: All records that it inserted, by kind and id.
        key: Recognises forgotten texts and import items.
        unsettled: Ids of entries that changed, by which conclusions may stand or fall.
        among_writers: Whether others write to the database meanwhile, though not to this scope.
        by_database: Whether leases run out by the clock of the database, which all machines share.
        bounds: What keeps its statements within the scope, whatever they say; None if nothing does.
    """

    connection: Connection
    scope: Scope
    scope_id: int
    now: datetime
    decay: Decay
    origin: Origin = Origin.HOST
    asked_by: Actor = HOST
    forgot: bool = False
    learnable_only: bool = False
    was_active: bool = False
    written: dict[tuple[RecordKind, str], WriteKind] = field(default_factory=dict[tuple[RecordKind, str], WriteKind])
    erased: set[tuple[RecordKind, str]] = field(default_factory=set[tuple[RecordKind, str]])
    inserted: list[tuple[RecordKind, str]] = field(default_factory=list[tuple[RecordKind, str]])
    key: ForgetKey = field(default_factory=lambda: ForgetKey(None))
    unsettled: set[str] = field(default_factory=set[str])
    among_writers: bool = False
    by_database: bool = False
    bounds: "ScopeBounds | None" = None
    _committed: int | None = None
    _explicit: int = 0
    _revision: int | None = None
    _position: int | None = None
    _removed: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    @property
    def by_host(self) -> bool:
        """Whether a host writes, in nobody's stead."""
        return self.origin is Origin.HOST

    @property
    def by_people(self) -> bool:
        """Whether a host or an import writes: what they bring is new to every pass."""
        return self.origin in _BY_PEOPLE

    @property
    def actor(self) -> Actor:
        """Who writes: whoever asks, by a file where one is read in."""
        if self.origin is not Origin.IMPORT:
            return self.asked_by
        return Actor(ActorKind.IMPORT, "" if self.asked_by == HOST else str(self.asked_by))

    def wrote(self, kind: RecordKind, writes: Iterable[tuple[str, WriteKind | None]]) -> None:
        """Note what was done to records, for `why`; None is nothing that counts."""
        self.written.update(((kind, record_id), done) for record_id, done in writes if done is not None)

    @property
    def touched(self) -> Sequence[tuple[RecordKind, str]]:
        """What it inserted, changed or removed, each record once."""
        return list(dict.fromkeys((*self.inserted, *self.written, *sorted(self.erased))))

    @property
    def is_changing(self) -> bool:
        """Whether it changed records."""
        return self._revision is not None

    def execute(self, statement: Executable, **given: object) -> CursorResult[*tuple[Any, ...]]:
        """Execute a statement on `of_my_scope` rows with the values of its other parameters."""
        return self.connection.execute(statement, {MY_SCOPE: self.scope_id, **given})

    def rows(self, query: Prepared, **given: object) -> Rows:
        """Return the rows of a prepared query on `of_my_scope` rows with the values of its other parameters."""
        return query.rows(self.connection, {MY_SCOPE: self.scope_id, **given})

    def by_key(self, query: PreparedByKey, keys: Sequence[object]) -> Rows:
        """Return the row of each of *keys* that is there, in no particular order."""
        return [row for part, given in query.parts(keys) for row in self.rows(part, **given)]

    def hold(self, rows: Select[*tuple[Any, ...]]) -> int:
        """Keep others from writing these rows until the transaction ends; what is read of them next is the latest.

        Rows are held in this order, so that no two wait for each other: scopes, then peers, then schedules. Where there
        is one writer, all are held by it.

        Returns:
            How many rows there were to hold; 0 where there is one writer.
        """
        return len(self.connection.execute(rows.with_for_update()).all()) if self.among_writers else 0

    def beyond_scope(self) -> AbstractContextManager[None]:
        """Let the statements of the block reach what is of other scopes."""
        return nullcontext() if self.bounds is None else self.bounds.left()

    @property
    def shared_now(self) -> datetime:
        """The present by the clock that all who use the database share: by it leases run out."""
        if not self.by_database:
            return self.now
        return from_micros(self.connection.execute(_DATABASE_CLOCK).scalar_one())

    def current_revision(self) -> int:
        """Return the scope's last committed revision."""
        if self._committed is None:
            found = self.rows(SCOPE_REVISION)
            self._committed = int(found[0][0]) if found else 0
        return self._committed

    def change(self) -> int:
        """Mark the transaction as one that changes records; return the revision they get."""
        if self._revision is None:
            self._revision = self.current_revision() + 1
        return self._revision

    def next_positions(self, count: int) -> range:
        """Reserve *count* places in the order of arrival."""
        last = self._position
        if last is None:
            last = self.execute(_POSITION).scalar_one()
        self._position = last + count
        return range(last + 1, last + 1 + count)

    def new_positions(self, count: int) -> Sequence[int]:
        """Return places for *count* new records: the next ones if people bring them, else none that a pass looks at."""
        return self.next_positions(count) if self.by_people else (NEVER_MATERIAL,) * count

    def note_activity(self, *, explicit_entries: int = 0) -> None:
        """Note that whoever writes did something; of a dream, a reading or an undo it is no activity.

        Args:
            explicit_entries: How many of them it brought.
        """
        if self.by_people:
            self.was_active = True
        if self.origin in COUNTED:
            self.count_explicit(explicit_entries)

    def count_explicit(self, more: int) -> None:
        """Count so many explicit entries toward the next dream of the scope."""
        self._explicit += more

    def removed(
        self,
        keys: Iterable[int],
        kind: RecordKind | None = None,
        record_ids: Iterable[str] = (),
        *,
        told_in: Column[Any] = change_feed.c.removed,
    ) -> None:
        """Tell the feed that records are gone, in the column of their kind; those named are deleted."""
        self.change()
        self._removed.setdefault(told_in.name, []).extend(keys)
        gone: set[tuple[RecordKind, str]] = set() if kind is None else {(kind, record_id) for record_id in record_ids}
        self.erased |= gone
        self.written = {one: done for one, done in self.written.items() if one not in gone}

    def insert_new(self, table: Table, kind: str, rows: Sequence[dict[str, Any]]) -> None:
        """Insert records, all of them or none.

        Raises:
            StaleVersionError: one of their ids is taken.
        """
        try:
            self.insert_whole(table, rows)
        except IntegrityError as error:
            raise StaleVersionError(kind=kind, record_id=self._taken(table, [row["id"] for row in rows])) from error

    def insert_whole(self, table: Table, rows: Sequence[dict[str, Any]]) -> int:
        """Insert all *rows* or, where a constraint refuses one, none, and go on; return how many there were."""
        return self._whole(lambda: insert_rows(self.connection, table, rows))

    def execute_whole(self, statement: Update, rows: Sequence[dict[str, Any]]) -> int:
        """Write all *rows* or, where a constraint refuses one, none, and go on; return how many were written."""
        return self._whole(lambda: self.connection.execute(statement, rows).rowcount)

    def _whole(self, write: Callable[[], int]) -> int:
        """Write in a savepoint.

        SQLAlchemy's own `with` would try to roll back after a full disk too, when the database has already rolled
        everything back, and so hide what happened.
        """
        savepoint = self.connection.begin_nested()
        try:
            written = write()
        except IntegrityError:
            savepoint.rollback()
            raise
        savepoint.commit()
        return written

    def require_mine(self, scope: Scope) -> None:
        """Refuse a record of another scope.

        Raises:
            InvalidContentError: it is not of the scope this transaction is bound to.
        """
        if scope is not self.scope and scope != self.scope:
            raise InvalidContentError(field="record", problem=f"it belongs to {scope}, and this is {self.scope}")

    def finish(self) -> None:
        """Write the feed row, if anything changed; called once, just before the commit."""
        if self._revision is None:
            return
        if self._explicit:
            self.execute(_MORE_EXPLICIT, more=self._explicit)
        if self._position is None:
            self.execute(_NEXT_REVISION, new_revision=self._revision)
        else:
            self.execute(_NEXT_REVISION_AND_POSITION, new_revision=self._revision, new_position=self._position)
        row = {
            "scope_id": self.scope_id,
            "revision": self._revision,
            "recorded_at": to_micros(self.now),
            "origin": self.origin.value,
            "actor": str(self.actor),
            **{name: orjson.dumps(keys).decode() if keys else None for name, keys in self._removed.items()},
        }
        self.connection.execute(_FEED_ROW, row)

    def _taken(self, table: Table, ids: list[str]) -> str:
        known: set[str] = set()
        for chunk in chunks(ids):
            statement = select(table.c.id).where(table.c.scope_id == self.scope_id, table.c.id.in_(chunk))
            known.update(self.connection.execute(statement).scalars())
        for record_id in ids:
            if record_id in known:
                return record_id
            known.add(record_id)
        return ids[0]


_READ_AT_ONCE = 100_000
"""Characters that NumPy reads in one call, in which no other thread gets on: about a millisecond."""


def cut_at_commas(joined: str) -> Iterator[str]:
    """Cut numbers joined by commas into texts of some length, at least one."""
    start = 0
    while (end := joined.find(",", start + _READ_AT_ONCE)) >= 0:
        yield joined[start:end]
        start = end + 1
    yield joined[start:]


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


# The literal, not a parameter: a partial index serves only a condition that the planner can read.
_ACTIVE = literal_column(f"'{Status.ACTIVE.value}'", String)


def is_active(status: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether the record is current."""
    return status == _ACTIVE


def is_retired(status: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether the record left the active state."""
    return status != _ACTIVE


def is_pinned(pinned: ColumnElement[Any]) -> ColumnElement[bool]:
    """Tell whether dreams leave the record alone; the words of the partial index, for the same reason as above."""
    return pinned.op("IS", is_comparison=True)(literal_column("TRUE"))


def starts_with(column: ColumnElement[Any], prefix: str) -> ColumnElement[bool]:
    """Tell whether a text sorted by its bytes starts with *prefix*; unlike LIKE it tells case and uses an index."""
    if not prefix:
        return true()
    exact = func.substr(column, 1, len(prefix)) == prefix
    last = ord(prefix[-1])
    return and_(column >= prefix, column < prefix[:-1] + chr(last + 1), exact) if last < 0xD7FF else exact


def has_element(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Tell whether a column that holds a JSON list of texts has *text* in it."""
    element = orjson.dumps(text).decode()
    return or_(contains(column, f"[{element}"), contains(column, f",{element}"))


def contains(column: ColumnElement[Any], text: str) -> ColumnElement[bool]:
    """Tell whether *text* occurs in the column, letter by letter; unlike LIKE it tells case."""
    return func.replace(column, text, "") != column
