"""Writing entries."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Text, bindparam, delete, insert, select, update

from agentcore.domain.memory import Level, MemoryEntry
from agentcore.errors import StaleVersionError
from agentcore.stores.sql.entry_reader import SqlEntryReader
from agentcore.stores.sql.entry_rows import to_values
from agentcore.stores.sql.schema import entries, entry_sources, phase_hits, recall_hits
from agentcore.stores.sql.transaction import MY_SCOPE, NEVER_MATERIAL, chunks, of_my_scope
from agentcore.stores.sql.vectors import drop_vectors

_MINE = of_my_scope(entries)
_NAMED = entries.c.id.in_(bindparam("among", expanding=True, type_=Text()))
_LOCKED_VERSIONS = select(entries.c.id, entries.c.version).where(_MINE, _NAMED).with_for_update()
_KEYS = select(entries.c.id, entries.c.pk).where(_MINE, _NAMED)
_STAYS = frozenset({"pk", "scope_id", "id", "position"})
_REPLACE = (
    update(entries)
    .where(_MINE, entries.c.id == bindparam("b_id"))
    .values({column.name: bindparam(f"b_{column.name}") for column in entries.c if column.name not in _STAYS})
)
_REPOSITION = update(entries).where(_MINE, entries.c.id == bindparam("b_id")).values(position=bindparam("b_position"))
_LINK = insert(entry_sources)


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
        material = [self._transaction.by_people or entry.was_said for entry in new]
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
        self._transaction.note_activity(explicit_entries=sum(entry.level is Level.EXPLICIT for entry in new))
        self._link_sources([entry for entry in new if entry.sources])

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
        self._reposition({after.id for before, after in pairs if self._is_renewed(before, after)})
        drop_vectors(self._transaction, (before.content for before, after in pairs if before.content != after.content))
        relinked = {before.id for before, after in pairs if before.sources != after.sources}
        self._unlink_sources(sorted(relinked))
        self._link_sources([latest[entry_id] for entry_id in sorted(relinked)])

    def delete(self, entry_ids: Collection[str]) -> int:
        """Remove entries for good; return how many there were."""
        texts: dict[int, str] = {}
        for chunk in chunks(sorted(set(entry_ids))):
            statement = select(entries.c.pk, entries.c.content).where(self._mine, entries.c.id.in_(chunk))
            texts.update((row.pk, row.content) for row in self._connection.execute(statement))
        keys = list(texts)
        drop_vectors(self._transaction, texts.values())
        for chunk in chunks(keys):
            self._connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(chunk)))
            self._connection.execute(delete(entries).where(entries.c.pk.in_(chunk)))
        for chunk in chunks(sorted(set(entry_ids)) if keys else ()):
            for table in (recall_hits, phase_hits):
                mine = table.c.scope_id == self._transaction.scope_id
                self._connection.execute(delete(table).where(mine, table.c.entry_id.in_(chunk)))
        if keys:
            self._transaction.removed(keys)
        return len(keys)

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
        if not (after.is_active and self._transaction.by_people):
            return False
        judged_before = (before.content, before.category, before.subject_time, before.is_active)
        return judged_before != (after.content, after.category, after.subject_time, after.is_active)

    def _link_sources(self, records: Sequence[MemoryEntry]) -> None:
        with_sources = [record for record in records if record.sources]
        keys: dict[str, int] = {}
        for chunk in chunks([record.id for record in with_sources]):
            keys.update(tuple(row) for row in self._transaction.execute(_KEYS, among=chunk))
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "kind": source.kind.value,
                "source_id": source.id,
                "entry_pk": keys[record.id],
            }
            for record in with_sources
            for source in set(record.sources)
        ]
        if rows:
            self._connection.execute(_LINK, rows)

    def _unlink_sources(self, entry_ids: Sequence[str]) -> None:
        for chunk in chunks(entry_ids):
            keys = select(entries.c.pk).where(self._mine, entries.c.id.in_(chunk))
            self._connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(keys)))
