"""Reads and writes entries in one transaction."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    select,
    update,
)

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import Level, MemoryEntry, Status
from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.errors import StaleVersionError, UnknownRecordError
from agentcore.stores.sql.authorship import kind_of_write
from agentcore.stores.sql.entry_sources import link_sources, unlink_sources
from agentcore.stores.sql.evidence_words import index_evidence, reindex_evidence, unindex_evidence
from agentcore.stores.sql.feed import ENTRIES, FACETS, HELD, HELD_FACETS, read_feed, retell
from agentcore.stores.sql.prepared import Prepared, PreparedByKey
from agentcore.stores.sql.rows import RECORD_COLUMNS, matching, to_entries, to_entry, to_values, unprotected, within
from agentcore.stores.sql.schema import entries, entry_sources, phase_hits, recall_hits
from agentcore.stores.sql.transaction import (
    MY_SCOPE,
    NEVER_MATERIAL,
    Transaction,
    chunks,
    cut_at_commas,
    is_active,
    is_pinned,
    of_my_scope,
    starts_with,
)
from agentcore.stores.sql.vectors import drop_vectors
from agentcore.stores.values import EntryMaterial, FacetRow, FeedPage, FeedPosition, IndexRow, Repeated, WriteKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_ACTIVE = is_active(entries.c.status)
_MINE = of_my_scope(entries)
_AMONG = bindparam("among", expanding=True, type_=Text())
_BY_ID = PreparedByKey(select(*RECORD_COLUMNS).where(_MINE), entries.c.id)
# Of texts said and stored at one instant, as a file's are, the first to arrive is the older one.
_OLDEST_FIRST = (entries.c.created_at, entries.c.recorded_at, entries.c.pk)
_BY_FOLD_KEY = select(*RECORD_COLUMNS).where(_MINE, entries.c.fold_key.in_(_AMONG), _ACTIVE).order_by(*_OLDEST_FIRST)
_SELECTED = select(*RECORD_COLUMNS).where(_MINE).order_by(entries.c.last_seen_at.desc(), entries.c.id)
# The sum keeps SQLite from walking the whole scope by one of its indexes instead of looking the keys up.
_BY_KEY = PreparedByKey(
    select(*RECORD_COLUMNS, entries.c.pk).where(entries.c.scope_id + 0 == bindparam(MY_SCOPE)), entries.c.pk
)
_EVERY = select(*RECORD_COLUMNS).where(_MINE).order_by(entries.c.id)
_NAMED = entries.c.id.in_(_AMONG)
_VERSIONS = select(entries.c.id, entries.c.version).where(_MINE, _NAMED)
_newest = _SELECTED.limit(bindparam("at_most"))
# A status that no index knows keeps SQLite from walking all active entries in the order asked for.
_PINNED = Prepared(_newest.where(is_pinned(entries.c.pinned), entries.c.status.concat("") == Status.ACTIVE.value))
_LAST_POSITION = select(func.max(entries.c.position)).where(_MINE)

_ANY_FORMER = select(entries.c.pk).where(_MINE, entries.c.valid_until.is_not(None)).limit(1)

_other = entries.alias("other")
_twin = exists().where(
    _other.c.scope_id == entries.c.scope_id,
    _other.c.fold_key == entries.c.fold_key,
    is_active(_other.c.status),
    _other.c.pk != entries.c.pk,
)
_PAST = entries.c.position > bindparam("after")
_UPTO = entries.c.position <= bindparam("upto")
# A position and a status that no index knows: else SQLite walks all entries there are to find the few that are named.
_REOPENED = and_(
    entries.c.position + 0 <= bindparam("after"),
    entries.c.status.concat("") == Status.ACTIVE.value,
    entries.c.id.in_(_AMONG),
)
_repeated = select(entries.c.position, entries.c.id, entries.c.fold_key).where(_MINE, _twin)
_REPEATED = _repeated.where(_ACTIVE, _PAST, _UPTO).order_by(entries.c.position).limit(bindparam("at_most"))
_REPEATED_AGAIN = _repeated.where(_REOPENED)
_material = select(entries.c.id, entries.c.pk, entries.c.position).where(_MINE)
_MATERIAL = _material.where(_ACTIVE, _PAST).order_by(entries.c.position).limit(bindparam("at_most"))
_MATERIAL_AGAIN = _material.where(_REOPENED)
_count = select(func.count()).select_from(entries).where(_MINE)
_COUNT_PAST = _count.where(_ACTIVE, _PAST)
_COUNT_WITHIN = _COUNT_PAST.where(_UPTO)
_COUNT_AGAIN = _count.where(_REOPENED)

_BRANCHES_KNOWN = 64
"""Branches whose query is kept; a host has a few."""


class SqlEntryReader:
    """Entries of one scope, read in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    @property
    def _mine(self) -> ColumnElement[bool]:
        return entries.c.scope_id == self._transaction.scope_id

    def get(self, entry_id: str) -> MemoryEntry | None:
        """Return the entry in whatever state, or None."""
        return next(iter(self.get_many((entry_id,))), None)

    def get_many(self, ids: Collection[str], /) -> list[MemoryEntry]:
        """Return those that exist, by id."""
        transaction = self._transaction
        found = [to_entry(transaction, row) for row in transaction.by_key(_BY_ID, sorted(set(ids)))]
        return sorted(found, key=lambda entry: entry.id) if len(found) > 1 else found

    def existing(self, ids: Collection[str], /) -> set[str]:
        """Return those of *ids* that are taken."""
        return set(self.versions(ids))

    def every(self) -> Iterator[MemoryEntry]:
        """Stream them all, by id."""
        for row in self._transaction.execute(_EVERY):
            yield to_entry(self._transaction, row)

    def versions(self, entry_ids: Collection[str]) -> dict[str, int]:
        """Return the present version of those that exist."""
        found: dict[str, int] = {}
        for chunk in chunks(sorted(set(entry_ids))):
            found.update((row.id, row.version) for row in self._transaction.execute(_VERSIONS, among=chunk))
        return found

    def by_keys(self, keys: Sequence[int]) -> dict[int, MemoryEntry]:
        """Return entries by the keys that `changes_since` gave."""
        return {row[-1]: to_entry(self._transaction, row) for row in self._transaction.by_key(_BY_KEY, keys)}

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
        statement = _SELECTED.where(*matching(where)).limit(limit).offset(offset)
        return to_entries(self._transaction, self._transaction.execute(statement))

    def count(self, where: EntryFilter) -> int:
        """Count matching entries."""
        statement = select(func.count()).select_from(entries).where(self._mine, *matching(where))
        return self._connection.execute(statement).scalar_one()

    def always(self, branches: Collection[str], *, limit: int) -> list[MemoryEntry]:
        """Return active entries that are pinned or filed in or below *branches*, the newest *limit* of each, by id."""
        transaction = self._transaction
        found: dict[str, MemoryEntry] = {}
        for query in (_PINNED, *map(_filed_below, branches)):
            found |= {row[0]: to_entry(transaction, row) for row in transaction.rows(query, at_most=limit)}
        return [found[entry_id] for entry_id in sorted(found)]

    def with_fold_keys(self, fold_keys: Collection[str]) -> list[MemoryEntry]:
        """Return active entries whose normalised text has one of these keys, oldest first."""
        found = self._in_chunks(_BY_FOLD_KEY, fold_keys)
        return sorted(found, key=lambda entry: (entry.created_at, entry.recorded_at))

    def repeated(self, *, after: int, upto: int, also: Collection[str], limit: int) -> list[Repeated]:
        """Return active entries whose text is not alone, in the order of arrival.

        Looked at are those past the position *after* up to *upto*, of which at most *limit* are returned, and those
        before it with an id in *also*.
        """
        rows: list[Any] = list(self._transaction.execute(_REPEATED, after=after, upto=upto, at_most=limit))
        for chunk in chunks(sorted(also)):
            rows += self._transaction.execute(_REPEATED_AGAIN, after=after, among=chunk)
        return sorted(Repeated(*row) for row in rows)

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[EntryMaterial]:
        """Return active material past the position *after*, and active entries of *also* before it, in order.

        Material is what hosts and imports write: an entry when it is added, and whenever they change its text, category
        or subject time or make it active again. What a dream or an undo writes never is, except what it took down from
        turns alone (`MemoryEntry.was_said`): that is new to whoever judges entries.
        """
        rows: list[Any] = list(self._transaction.execute(_MATERIAL, after=after, at_most=limit))
        for chunk in chunks(sorted(also)):
            rows += self._transaction.execute(_MATERIAL_AGAIN, after=after, among=chunk)
        return sorted((EntryMaterial(*row) for row in rows), key=lambda item: (item.position, item.key))[:limit]

    def count_material(self, *, after: int, also: Collection[str], upto: int | None = None) -> int:
        """Count what `material` would return without a limit, positions beyond *upto* aside."""
        within = {} if upto is None else {"upto": upto}
        total: int = self._transaction.execute(
            _COUNT_WITHIN if within else _COUNT_PAST, after=after, **within
        ).scalar_one()
        for chunk in chunks(sorted(also)):
            total += self._transaction.execute(_COUNT_AGAIN, after=after, among=chunk).scalar_one()
        return total

    def last_position(self) -> int:
        """Return the position of the newest material in whatever state, 0 if there is none."""
        return self._transaction.execute(_LAST_POSITION).scalar() or 0

    def changes_since(self, position: FeedPosition, *, limit: int, with_former: bool = False) -> FeedPage[IndexRow]:
        """Return the next page of the feed after *position*; the default position starts from nothing.

        With former ones, superseded entries that tell until when they held are live too.
        """
        return read_feed(self._transaction, HELD if with_former else ENTRIES, position, limit=limit)

    def facets_since(self, position: FeedPosition, *, limit: int, with_former: bool = False) -> FeedPage[FacetRow]:
        """Return the same page as `changes_since`, with what filters need instead of what queries need.

        With former ones, the subject time of those that took a place, or lost theirs, is when they held (`time_held`).
        """
        return read_feed(self._transaction, HELD_FACETS if with_former else FACETS, position, limit=limit)

    def has_former(self) -> bool:
        """Tell whether any superseded entry tells until when it held."""
        return self._transaction.execute(_ANY_FORMER).first() is not None

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
            np.concatenate([np.fromstring(part, np.float64, sep=",") for part in cut_at_commas(bases or "")]),
            np.concatenate([np.fromstring(part, np.int64, sep=",") for part in cut_at_commas(seen or "")]),
        )

    def purgeable(self, *, archived_before: datetime, floor: float, reinforced: int, limit: int) -> list[MemoryEntry]:
        """Return entries retired before that instant that no protection keeps, longest retired first.

        Protected are a base of at least *floor*, *reinforced* observations or more, a pin, and being the source of an
        active entry.
        """
        due = entries.c.status_at < to_micros(archived_before)
        statement = select(*RECORD_COLUMNS).where(self._mine, unprotected(floor, reinforced), due)
        statement = statement.order_by(entries.c.status_at, entries.c.id).limit(limit)
        return to_entries(self._transaction, self._connection.execute(statement))

    def next_retirement(self, *, floor: float, reinforced: int) -> datetime | None:
        """Return the earliest instant at which an unprotected entry was retired, or None."""
        statement = select(func.min(entries.c.status_at)).where(self._mine, unprotected(floor, reinforced))
        earliest = self._connection.execute(statement).scalar()
        return None if earliest is None else from_micros(earliest)

    def derived_from(self, kind: str, *source_ids: str) -> list[MemoryEntry]:
        """Return entries that name one of these records as a source, in whatever state, each once, by id."""
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

    def _in_chunks(self, statement: Select[*tuple[Any, ...]], values: Collection[str]) -> list[MemoryEntry]:
        found: list[MemoryEntry] = []
        for chunk in chunks(sorted(set(values))):
            found += to_entries(self._transaction, self._transaction.execute(statement, among=chunk).all())
        return found


@lru_cache(_BRANCHES_KNOWN)
def _filed_below(branch: str) -> Prepared:
    return Prepared(_newest.where(_ACTIVE, within(branch)))


_LOCKED_VERSIONS = _VERSIONS.with_for_update()
_STAYS = frozenset({"pk", "scope_id", "id", "position"})
_REPLACE = (
    update(entries)
    .where(_MINE, entries.c.id == bindparam("b_id"))
    .values({column.name: bindparam(f"b_{column.name}") for column in entries.c if column.name not in _STAYS})
)
_REPOSITION = update(entries).where(_MINE, entries.c.id == bindparam("b_id")).values(position=bindparam("b_position"))


class SqlEntryStore(SqlEntryReader):
    """Entries of one scope, written in one transaction; lives as long as it."""

    def add(self, new: Sequence[MemoryEntry]) -> None:
        """Insert new entries; version 1.

        StaleVersionError if an id is taken, InvalidContentError if an entry belongs to another scope; then none of
        them is inserted.
        """
        if not new:
            return
        for entry in new:
            self._transaction.require_mine(entry.scope)
        revision = self._transaction.change()
        by_people = self._transaction.by_people
        material = [entry.was_said or (by_people and not entry.is_conclusion) for entry in new]
        positions = iter(self._transaction.next_positions(sum(material)) if any(material) else ())
        rows: list[dict[str, Any]] = [
            to_values(entry)
            | {
                "scope_id": self._transaction.scope_id,
                "version": 1,
                "revision": revision,
                "position": next(positions) if is_new else NEVER_MATERIAL,
            }
            for entry, is_new in zip(new, material, strict=True)
        ]
        self._transaction.insert_new(entries, "entry", rows)
        self._transaction.wrote(RecordKind.ENTRY, ((entry.id, WriteKind.ADDED) for entry in new))
        self._transaction.note_activity(explicit_entries=sum(entry.level is Level.EXPLICIT for entry in new))
        link_sources(self._transaction, [entry for entry in new if entry.sources])
        index_evidence(self._transaction, new)
        self._transaction.unsettled.update(_premises_of_others(self._transaction, new))

    def replace(self, pairs: Sequence[tuple[MemoryEntry, MemoryEntry]]) -> None:
        """Write each *after* over its *before*; StaleVersionError if a stored version is another than *before*'s.

        A record may come twice when its second *before* is its first *after*.
        """
        if not pairs:
            return
        present = self._locked_versions([before.id for before, _ in pairs])
        latest = self._latest(pairs, present)
        revision = self._transaction.change()
        self._transaction.note_activity()
        self._write(list(latest.values()), revision, present)
        self._transaction.wrote(RecordKind.ENTRY, ((b.id, kind_of_write(b, after)) for b, after in pairs))
        # Since when an entry holds is told by those whose place it took.
        ended = {one.successor for pair in pairs if pair[0].valid_until != pair[1].valid_until for one in pair}
        retell(self._transaction, ended, revision)
        self._reposition({after.id for before, after in pairs if self._is_renewed(before, after)})
        drop_vectors(self._transaction, (before.content for before, after in pairs if before.content != after.content))
        relinked = {before.id for before, after in pairs if before.sources != after.sources}
        known = unlink_sources(self._transaction, sorted(relinked))
        link_sources(self._transaction, [latest[entry_id] for entry_id in sorted(relinked)], known)
        reindex_evidence(self._transaction, {before.id: before for before, _ in reversed(pairs)}, latest)
        self._transaction.unsettled.update(before.id for before, after in pairs if _holds_otherwise(before, after))

    def apply(self, changes: Sequence[tuple[MemoryEntry | None, MemoryEntry | None]], /) -> None:
        """Remove, replace and add entries, in this order: each pair is one before and after."""
        self.delete([before.id for before, after in changes if before is not None and after is None])
        self.replace([(before, after) for before, after in changes if before is not None and after is not None])
        self.add([after for before, after in changes if before is None and after is not None])

    def delete(self, ids: Collection[str], /) -> int:
        """Remove entries for good; return how many there were."""
        texts: dict[int, str] = {}
        for chunk in chunks(sorted(set(ids))):
            statement = select(entries.c.pk, entries.c.content).where(self._mine, entries.c.id.in_(chunk))
            texts.update((row.pk, row.content) for row in self._connection.execute(statement))
        drop_vectors(self._transaction, texts.values())
        for chunk in chunks(texts):
            unindex_evidence(self._transaction, chunk)
            self._connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(chunk)))
            self._connection.execute(delete(entries).where(entries.c.pk.in_(chunk)))
        if texts:
            for table, chunk in product((recall_hits, phase_hits), chunks(sorted(set(ids)))):
                self._transaction.execute(delete(table).where(of_my_scope(table), table.c.entry_id.in_(chunk)))
            self._transaction.unsettled.update(ids)
            self._transaction.removed(texts, RecordKind.ENTRY, ids)
        return len(texts)

    def _locked_versions(self, entry_ids: Iterable[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for chunk in chunks(sorted(set(entry_ids))):
            found.update(tuple(row) for row in self._transaction.execute(_LOCKED_VERSIONS, among=chunk))
        return found

    def _latest(
        self,
        pairs: Sequence[tuple[MemoryEntry, MemoryEntry]],
        present: dict[str, int],
    ) -> dict[str, MemoryEntry]:
        """Return what each record ends as, if every *before* is what is stored or what an earlier pair makes of it."""
        latest: dict[str, MemoryEntry] = {}
        for before, after in pairs:
            self._transaction.require_mine(after.scope)
            if before.id not in latest:
                follows = present.get(before.id) == before.version
            else:
                follows = latest[before.id] == before
            if not follows:
                raise StaleVersionError(kind="entry", record_id=before.id)
            latest[before.id] = after
        return latest

    def _write(self, records: Sequence[MemoryEntry], revision: int, present: dict[str, int]) -> None:
        rows = [
            {f"b_{name}": value for name, value in to_values(record).items()}
            | {MY_SCOPE: self._transaction.scope_id, "b_version": present[record.id] + 1, "b_revision": revision}
            for record in records
        ]
        self._connection.execute(_REPLACE, rows)

    def _reposition(self, entry_ids: Collection[str]) -> None:
        positions = self._transaction.next_positions(len(entry_ids)) if entry_ids else ()
        for entry_id, position in zip(sorted(entry_ids), positions, strict=True):
            self._transaction.execute(_REPOSITION, b_id=entry_id, b_position=position)

    def _is_renewed(self, before: MemoryEntry, after: MemoryEntry) -> bool:
        """Whether a person changed what passes judge: reinforcement and statistics are no new material."""
        if not (after.is_active and self._transaction.by_people) or after.is_conclusion:
            return False
        judged_before = (before.content, before.category, before.subject_time, before.is_active)
        return judged_before != (after.content, after.category, after.subject_time, after.is_active)


def _premises_of_others(transaction: Transaction, new: Sequence[MemoryEntry]) -> Iterator[str]:
    """Yield the ids among *new* by which conclusions may stand or fall; a host's own ids are new to the scope."""
    return (entry.id for entry in new if entry.is_conclusion or not transaction.by_host)


def _holds_otherwise(before: MemoryEntry, after: MemoryEntry) -> bool:
    """Tell whether what rests on an entry may stand or fall by a change of it."""

    def judged(entry: MemoryEntry) -> tuple[object, ...]:
        return entry.status, entry.valid_until, entry.content, entry.premises, entry.evidence

    return judged(before) != judged(after)
