"""Writing entries."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update

from agentcore.domain.memory import Level, MemoryEntry
from agentcore.errors import StaleVersionError
from agentcore.stores.protocols import Origin
from agentcore.stores.sql.entry_reader import SqlEntryReader
from agentcore.stores.sql.entry_rows import to_values
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.transaction import Transaction, chunks

_NEVER_MATERIAL = 0
"""Position of what no pass has to look at: a dream's own derived entries."""

_BY_PEOPLE = (Origin.HOST, Origin.IMPORT)


class SqlEntryStore(SqlEntryReader):
    """Entries of one scope, written in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)

    def add(self, new: Sequence[MemoryEntry]) -> None:
        """Insert new entries; version 1."""
        if not new:
            return
        revision = self._transaction.change()
        material = [self._is_material(entry) for entry in new]
        positions = iter(self._transaction.next_positions(sum(material)))
        rows: list[dict[str, Any]] = [
            to_values(entry)
            | {
                "scope_id": self._transaction.scope_id,
                "version": 1,
                "revision": revision,
                "position": next(positions) if looked_at else _NEVER_MATERIAL,
            }
            for entry, looked_at in zip(new, material, strict=True)
        ]
        self._connection.execute(insert(entries), rows)
        self._link_sources([entry for entry in new if entry.sources])

    def replace(self, pairs: Sequence[tuple[MemoryEntry, MemoryEntry]]) -> None:
        """Write each *after* over its *before*; StaleVersionError if a stored version is another than *before*'s."""
        if not pairs:
            return
        present = self.versions([before.id for before, _ in pairs])
        for before, _ in pairs:
            if present.get(before.id) != before.version:
                raise StaleVersionError(kind="entry", record_id=before.id)
        revision = self._transaction.change()
        renewed = [(before, after) for before, after in pairs if self._is_renewed(before, after)]
        self._write([after for _, after in pairs], revision, present)
        self._reposition([after.id for _, after in renewed])
        relinked = [after for before, after in pairs if before.sources != after.sources]
        self._unlink_sources([entry.id for entry in relinked])
        self._link_sources(relinked)

    def delete(self, entry_ids: Collection[str]) -> int:
        """Remove entries for good; return how many there were."""
        keys: list[int] = []
        for chunk in chunks(sorted(set(entry_ids))):
            keys += self._connection.execute(select(entries.c.pk).where(self._mine, entries.c.id.in_(chunk))).scalars()
        for chunk in chunks(keys):
            self._connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(chunk)))
            self._connection.execute(delete(entries).where(entries.c.pk.in_(chunk)))
        if keys:
            self._transaction.removed(keys)
        return len(keys)

    def _write(self, records: Sequence[MemoryEntry], revision: int, present: dict[str, int]) -> None:
        names = [name for name in to_values(records[0]) if name != "id"]
        statement = (
            update(entries)
            .where(entries.c.scope_id == self._transaction.scope_id, entries.c.id == bindparam("b_id"))
            .values({name: bindparam(f"b_{name}") for name in [*names, "version", "revision"]})
        )
        rows = [
            {f"b_{name}": value for name, value in to_values(record).items()}
            | {"b_version": present[record.id] + 1, "b_revision": revision}
            for record in records
        ]
        self._connection.execute(statement, rows)

    def _reposition(self, entry_ids: Sequence[str]) -> None:
        for entry_id, position in zip(entry_ids, self._transaction.next_positions(len(entry_ids)), strict=True):
            statement = update(entries).where(self._mine, entries.c.id == entry_id).values(position=position)
            self._connection.execute(statement)

    def _is_material(self, entry: MemoryEntry) -> bool:
        return self._transaction.origin is not Origin.DREAM or entry.level is Level.EXPLICIT

    def _is_renewed(self, before: MemoryEntry, after: MemoryEntry) -> bool:
        """Whether a person changed what passes judge: reinforcement and statistics are no new material."""
        if self._transaction.origin not in _BY_PEOPLE or not after.is_active:
            return False
        judged_before = (before.content, before.category, before.subject_time, before.is_active)
        return judged_before != (after.content, after.category, after.subject_time, after.is_active)

    def _link_sources(self, records: Sequence[MemoryEntry]) -> None:
        with_sources = [record for record in records if record.sources]
        keys: dict[str, int] = {}
        for chunk in chunks([record.id for record in with_sources]):
            found = self._connection.execute(
                select(entries.c.id, entries.c.pk).where(self._mine, entries.c.id.in_(chunk))
            )
            keys.update((row.id, row.pk) for row in found)
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "kind": source.kind.value,
                "source_id": source.id,
                "entry_pk": keys[record.id],
            }
            for record in with_sources
            for source in record.sources
        ]
        if rows:
            self._connection.execute(insert(entry_sources), rows)

    def _unlink_sources(self, entry_ids: Sequence[str]) -> None:
        for chunk in chunks(entry_ids):
            keys = select(entries.c.pk).where(self._mine, entries.c.id.in_(chunk))
            self._connection.execute(delete(entry_sources).where(entry_sources.c.entry_pk.in_(keys)))
