"""Documents of the workspace."""

from typing import Any

from sqlalchemy import Select, delete, select, update

from agentcore.domain.document import StoredDocument
from agentcore.errors import StaleVersionError
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import documents
from agentcore.stores.sql.transaction import Transaction

DOCUMENTS = RecordRows(StoredDocument, documents)


class SqlDocumentReader:
    """Read documents."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = documents.c.scope_id == transaction.scope_id

    def get(self, name: str) -> StoredDocument | None:
        """Return the document of that name, or None."""
        found = self._found(self._all().where(documents.c.id == name))
        return found[0] if found else None

    def all(self) -> list[StoredDocument]:
        """Return every document, by name."""
        return self._found(self._all())

    def _all(self) -> Select[Any]:
        return select(*DOCUMENTS.columns).where(self._mine).order_by(documents.c.id)

    def _found(self, statement: Select[Any]) -> list[StoredDocument]:
        return [DOCUMENTS.read(self._transaction, row) for row in self._connection.execute(statement)]


class SqlDocumentStore(SqlDocumentReader):
    """Write documents."""

    def add(self, document: StoredDocument) -> None:
        """Insert a document; StaleVersionError if there is one of its name."""
        row = DOCUMENTS.write(self._transaction, document) | {"version": 1}
        self._transaction.change()
        self._transaction.insert_new(documents, "document", [row])

    def replace(self, before: StoredDocument, after: StoredDocument) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        row = DOCUMENTS.write(self._transaction, after) | {"version": before.version + 1}
        self._transaction.change()
        where = (self._mine, documents.c.id == before.id, documents.c.version == before.version)
        if self._transaction.execute_whole(update(documents).where(*where), [row]) != 1:
            raise StaleVersionError(kind="document", record_id=before.id)

    def delete(self, name: str) -> bool:
        """Remove a document; return whether there was one."""
        gone = self._connection.execute(delete(documents).where(self._mine, documents.c.id == name)).rowcount
        if gone:
            self._transaction.change()
        return bool(gone)
