"""Remembers which items of files became which records: a file that is imported again adds nothing."""

from collections.abc import Collection, Mapping

from sqlalchemy import delete, select

from agentcore.domain.records import RecordKind
from agentcore.stores.sql.bulk import insert_rows
from agentcore.stores.sql.schema import imports
from agentcore.stores.sql.transaction import Transaction, chunks


class SqlImportReader:
    """See which items of files became records of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._mine = imports.c.scope_id == transaction.scope_id

    def known(self, source_keys: Collection[str]) -> set[str]:
        """Return those already imported."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(source_keys))):
            statement = select(imports.c.source_key).where(self._mine, imports.c.source_key.in_(chunk))
            found.update(self._transaction.connection.execute(statement).scalars())
        return found

    def keys_of(self, record_ids: Collection[str]) -> dict[tuple[RecordKind, str], list[str]]:
        """Return the source keys of the items that became each of these records, sorted."""
        found: dict[tuple[RecordKind, str], list[str]] = {}
        for chunk in chunks(sorted(set(record_ids))):
            # Ordered by the database, each chunk would read all that was ever imported.
            statement = select(imports).where(self._mine, imports.c.record_id.in_(chunk))
            for row in self._transaction.connection.execute(statement):
                found.setdefault((RecordKind(row.kind), row.record_id), []).append(row.source_key)
        return {of: sorted(keys) for of, keys in found.items()}


class SqlImportLedger(SqlImportReader):
    """Imported items of one scope, in one transaction; lives as long as it."""

    def record(self, items: Mapping[str, tuple[RecordKind, str]]) -> None:
        """Remember that a source key became that record; what is known already stays as it is."""
        known = self.known(items)
        rows = [
            {"scope_id": self._transaction.scope_id, "source_key": key, "kind": kind.value, "record_id": record_id}
            for key, (kind, record_id) in items.items()
            if key not in known
        ]
        insert_rows(self._transaction.connection, imports, rows)

    def take(self, record_ids: Collection[str]) -> list[str]:
        """Forget that these records were imported; return the keys of the items that they came from."""
        taken: list[str] = []
        for chunk in chunks(sorted(set(record_ids))):
            mine = self._mine & imports.c.record_id.in_(chunk)
            taken += self._transaction.connection.execute(select(imports.c.source_key).where(mine)).scalars()
            self._transaction.connection.execute(delete(imports).where(mine))
        return taken
