"""Reading entries."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Text, and_, cast, exists, false, func, or_, select

from agentcore.domain.filters import EntryFilter
from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.memory import MemoryEntry, SourceKind, Status
from agentcore.errors import UnknownRecordError
from agentcore.stores.protocols import FacetRow, FeedPage, FeedPosition, IndexRow, Material, Repeated
from agentcore.stores.sql.conditions import has_element, is_active, is_pinned, is_retired, starts_with
from agentcore.stores.sql.entry_rows import RECORD_COLUMNS, to_entries
from agentcore.stores.sql.feed import ENTRIES, FACETS, read_feed
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.transaction import Transaction, chunks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ACTIVE = is_active(entries.c.status)

_READ_AT_ONCE = 100_000
"""Characters that NumPy reads in one call, in which no other thread gets on: about a millisecond."""


class SqlEntryReader:
    """Entries of one scope, read in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = entries.c.scope_id == transaction.scope_id

    def get(self, entry_id: str) -> MemoryEntry | None:
        """Return the entry in whatever state, or None."""
        found = self.get_many((entry_id,))
        return found[0] if found else None

    def get_many(self, entry_ids: Collection[str]) -> list[MemoryEntry]:
        """Return those that exist, by id."""
        return self._in_chunks(sorted(set(entry_ids)), entries.c.id.in_, order=(entries.c.id,))

    def versions(self, entry_ids: Collection[str]) -> dict[str, int]:
        """Return the present version of those that exist."""
        found: dict[str, int] = {}
        for chunk in chunks(sorted(set(entry_ids))):
            statement = select(entries.c.id, entries.c.version).where(self._mine, entries.c.id.in_(chunk))
            found.update((row.id, row.version) for row in self._connection.execute(statement))
        return found

    def by_keys(self, keys: Sequence[int]) -> dict[int, MemoryEntry]:
        """Return entries by the keys that `changes_since` gave."""
        # The sum keeps SQLite from walking the whole scope by one of its indexes instead of looking the keys up.
        mine = entries.c.scope_id + 0 == self._transaction.scope_id
        found: dict[int, MemoryEntry] = {}
        for chunk in chunks(keys):
            statement = select(*RECORD_COLUMNS, entries.c.pk).where(mine, entries.c.pk.in_(chunk))
            rows: list[Any] = list(self._connection.execute(statement))
            found.update(zip((row.pk for row in rows), to_entries(self._transaction, rows), strict=True))
        return found

    def resolve(self, prefix: str) -> str:
        """Return the one id that starts with *prefix*; UnknownRecordError if none or several do."""
        statement = select(entries.c.id).where(self._mine, starts_with(entries.c.id, prefix))
        found = self._connection.execute(statement.order_by(entries.c.id).limit(2)).scalars().all()
        if prefix in found:
            return prefix
        if not prefix or len(found) != 1:
            raise UnknownRecordError(kind="entry", value=prefix, matches=len(found))
        return found[0]

    def select(self, where: EntryFilter, *, limit: int | None = None, offset: int = 0) -> list[MemoryEntry]:
        """Return matching entries, newest last-seen first, ties by id."""
        statement = select(*RECORD_COLUMNS).where(self._mine, *_conditions(where))
        statement = statement.order_by(entries.c.last_seen_at.desc(), entries.c.id).limit(limit).offset(offset)
        return to_entries(self._transaction, self._connection.execute(statement))

    def count(self, where: EntryFilter) -> int:
        """Count matching entries."""
        statement = select(func.count()).select_from(entries).where(self._mine, *_conditions(where))
        return self._connection.execute(statement).scalar_one()

    def always(self, branches: Collection[str], *, limit: int) -> list[MemoryEntry]:
        """Return active entries that are pinned or filed in or below *branches*, the newest *limit* of each, by id."""
        # A status that no index knows keeps SQLite from walking all active entries in the order asked for.
        pinned = and_(is_pinned(entries.c.pinned), entries.c.status.concat("") == Status.ACTIVE.value)
        found: dict[str, MemoryEntry] = {}
        for condition in (pinned, *(and_(_ACTIVE, _within(branch)) for branch in branches)):
            mine = select(*RECORD_COLUMNS).where(self._mine, condition)
            newest = mine.order_by(entries.c.last_seen_at.desc(), entries.c.id).limit(limit)
            found |= {one.id: one for one in to_entries(self._transaction, self._connection.execute(newest))}
        return [found[entry_id] for entry_id in sorted(found)]

    def with_fold_keys(self, fold_keys: Collection[str]) -> list[MemoryEntry]:
        """Return active entries whose normalised text has one of these keys, oldest first."""
        # Of texts said and stored at one instant, as a file's are, the first to arrive is the older one.
        oldest_first = (entries.c.created_at, entries.c.recorded_at, entries.c.pk)
        found = self._in_chunks(sorted(set(fold_keys)), entries.c.fold_key.in_, _ACTIVE, order=oldest_first)
        return sorted(found, key=lambda entry: (entry.created_at, entry.recorded_at))

    def repeated(self, *, after: int, upto: int, also: Collection[str], limit: int) -> list[Repeated]:
        """Return active entries in that window of positions, or with an id in *also*, whose text is not alone."""
        other = entries.alias("other")
        twin = exists().where(
            other.c.scope_id == entries.c.scope_id,
            other.c.fold_key == entries.c.fold_key,
            is_active(other.c.status),
            other.c.pk != entries.c.pk,
        )
        columns = select(entries.c.position, entries.c.id, entries.c.fold_key).where(self._mine, _ACTIVE, twin)
        window = columns.where(entries.c.position > after, entries.c.position <= upto)
        rows: list[Any] = list(self._connection.execute(window.order_by(entries.c.position).limit(limit)))
        for chunk in chunks(sorted(also)):
            rows += self._connection.execute(columns.where(entries.c.position <= after, entries.c.id.in_(chunk)))
        return sorted(Repeated(*row) for row in rows)

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[Material]:
        """Return active material past the position *after*, and active entries of *also* before it, in order."""
        columns = select(entries.c.id, entries.c.pk, entries.c.position).where(self._mine, _ACTIVE)
        rows: list[Any] = list(
            self._connection.execute(
                columns.where(entries.c.position > after).order_by(entries.c.position).limit(limit)
            )
        )
        for chunk in chunks(sorted(also)):
            rows += self._connection.execute(columns.where(entries.c.position <= after, entries.c.id.in_(chunk)))
        return sorted((Material(*row) for row in rows), key=lambda item: (item.position, item.key))[:limit]

    def count_material(self, *, after: int, also: Collection[str], upto: int | None = None) -> int:
        """Count what `material` would return without a limit, positions beyond *upto* aside."""
        count = select(func.count()).select_from(entries).where(self._mine, _ACTIVE)
        past = count.where(entries.c.position > after)
        within = past if upto is None else past.where(entries.c.position <= upto)
        total = self._connection.execute(within).scalar_one()
        for chunk in chunks(sorted(also)):
            total += self._connection.execute(
                count.where(entries.c.position <= after, entries.c.id.in_(chunk))
            ).scalar_one()
        return total

    def last_position(self) -> int:
        """Return the position of the newest material, 0 if there is none."""
        return self._connection.execute(select(func.max(entries.c.position)).where(self._mine)).scalar() or 0

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[IndexRow]:
        """Return the next page of the feed after *position*; the default position starts from nothing."""
        return read_feed(self._transaction, ENTRIES, position, limit=limit)

    def facets_since(self, position: FeedPosition, *, limit: int) -> FeedPage[FacetRow]:
        """Return the same page as `changes_since`, with what filters need instead of what queries need."""
        return read_feed(self._transaction, FACETS, position, limit=limit)

    def importance_columns(self, *, last_seen_before: datetime) -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
        """Return base (15 digits) and last-seen (microseconds) of active entries last seen before that instant.

        The database joins each column into one text that NumPy reads at once: a row at a time costs four times as much.
        """
        import numpy as np  # noqa: PLC0415 - opening a host and remembering must not pay for NumPy

        stale = entries.c.last_seen_at < to_micros(last_seen_before)
        rows = select(entries.c.base, entries.c.last_seen_at).where(self._mine, _ACTIVE, stale).subquery()
        joined = select(
            func.aggregate_strings(cast(rows.c.base, Text), ","),
            func.aggregate_strings(cast(rows.c.last_seen_at, Text), ","),
        )
        bases, seen = self._connection.execute(joined).one()
        return (
            np.concatenate([np.fromstring(part, np.float64, sep=",") for part in _parts(bases or "")]),
            np.concatenate([np.fromstring(part, np.int64, sep=",") for part in _parts(seen or "")]),
        )

    def purgeable(self, *, archived_before: datetime, floor: float, reinforced: int, limit: int) -> list[MemoryEntry]:
        """Return entries retired before that instant that no protection keeps, longest retired first."""
        due = entries.c.status_at < to_micros(archived_before)
        statement = select(*RECORD_COLUMNS).where(self._mine, _unprotected(floor, reinforced), due)
        statement = statement.order_by(entries.c.status_at, entries.c.id).limit(limit)
        return to_entries(self._transaction, self._connection.execute(statement))

    def next_retirement(self, *, floor: float, reinforced: int) -> datetime | None:
        """Return the earliest instant at which an unprotected entry was retired, or None."""
        statement = select(func.min(entries.c.status_at)).where(self._mine, _unprotected(floor, reinforced))
        earliest = self._connection.execute(statement).scalar()
        return None if earliest is None else from_micros(earliest)

    def derived_from(self, kind: str, *source_ids: str) -> list[MemoryEntry]:
        """Return entries that name one of these records as a source, in whatever state, each once."""
        found: dict[str, MemoryEntry] = {}
        for chunk in chunks(source_ids):
            # Not a join: for the sake of the order the planner would walk all entries of the scope.
            made_of_them = select(entry_sources.c.entry_pk).where(
                entry_sources.c.scope_id == self._transaction.scope_id,
                entry_sources.c.kind == kind,
                entry_sources.c.source_id.in_(chunk),
            )
            statement = select(*RECORD_COLUMNS).where(entries.c.pk.in_(made_of_them))
            rows = self._connection.execute(statement)
            found |= {entry.id: entry for entry in to_entries(self._transaction, rows)}
        return [found[entry_id] for entry_id in sorted(found)]

    def _in_chunks(
        self,
        values: Sequence[str],
        among: Callable[[Sequence[str]], ColumnElement[bool]],
        *conditions: ColumnElement[bool],
        order: Sequence[ColumnElement[Any]],
    ) -> list[MemoryEntry]:
        found: list[MemoryEntry] = []
        for chunk in chunks(values):
            statement = select(*RECORD_COLUMNS).where(self._mine, among(chunk), *conditions).order_by(*order)
            found += to_entries(self._transaction, self._connection.execute(statement))
        return found


def _parts(joined: str) -> Iterator[str]:
    """Cut numbers joined by commas into texts of some length, at least one."""
    start = 0
    while (end := joined.find(",", start + _READ_AT_ONCE)) >= 0:
        yield joined[start:end]
        start = end + 1
    yield joined[start:]


def _within(branch: str) -> ColumnElement[bool]:
    """Filed in a branch or below it, as one stretch of the index of categories."""
    below = func.substr(entries.c.category, 1, len(branch) + 1) == f"{branch}/"
    return and_(starts_with(entries.c.category, branch), or_(entries.c.category == branch, below))


def _conditions(where: EntryFilter) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = []
    if where.statuses == frozenset({Status.ACTIVE}):
        conditions.append(_ACTIVE)
    elif where.statuses:
        conditions.append(entries.c.status.in_(sorted(where.statuses)))
    if where.category is not None:
        below = starts_with(entries.c.category, f"{where.category}/")
        conditions.append(or_(entries.c.category == where.category, below))
    conditions += [has_element(entries.c.tags, tag) for tag in where.tags]
    if where.level is not None:
        conditions.append(entries.c.level == where.level.value)
    if where.created_after is not None:
        conditions.append(entries.c.created_at >= to_micros(where.created_after))
    if where.created_before is not None:
        conditions.append(entries.c.created_at < to_micros(where.created_before))
    return conditions


def _unprotected(floor: float, reinforced: int) -> ColumnElement[bool]:
    """Retired, below both protection thresholds, not pinned, and no source of a live merge."""
    merged = entries.alias("merged")
    live_merge = exists().where(
        entry_sources.c.scope_id == entries.c.scope_id,
        entry_sources.c.kind == SourceKind.ENTRY.value,
        entry_sources.c.source_id == entries.c.id,
        entry_sources.c.entry_pk == merged.c.pk,
        is_active(merged.c.status),
    )
    return and_(
        is_retired(entries.c.status),
        entries.c.base < floor,
        entries.c.reinforcement_count < reinforced,
        entries.c.pinned == false(),
        ~live_merge,
    )
