"""Reads and writes documents of the workspace."""

from collections.abc import Collection

from agentcore.domain.document import StoredDocument
from agentcore.stores.sql.record_store import SqlRecordReader, SqlRecordStore
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import documents
from agentcore.stores.sql.scrub import without_forgotten_lines
from agentcore.stores.sql.transaction import Transaction

_ROWS = RecordRows(StoredDocument, documents)


class SqlDocumentReader(SqlRecordReader[StoredDocument]):
    """Read documents."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _ROWS)

    def get(self, name: str) -> StoredDocument | None:
        """Return the document of that name, or None."""
        found = self.get_many((name,))
        return found[0] if found else None

    def all(self) -> list[StoredDocument]:
        """Return every document, by name."""
        return list(self.every())


class SqlDocumentStore(SqlDocumentReader, SqlRecordStore[StoredDocument]):
    """Write documents; each is known by its name."""

    def without_forgotten_lines(self, content: str, texts: Collection[str]) -> str:
        """Return a text that comes from elsewhere without the lines that say *texts* or what was forgotten here."""
        return without_forgotten_lines(self._transaction, content, texts)
