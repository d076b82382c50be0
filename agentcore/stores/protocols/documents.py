"""Documents of the workspace: what a store of them can be asked and told."""

from typing import Protocol

from agentcore.domain.document import StoredDocument


class DocumentReader(Protocol):
    """Read documents."""

    def get(self, name: str) -> StoredDocument | None:
        """Return the document of that name, or None."""
        ...

    def all(self) -> list[StoredDocument]:
        """Return every document, by name."""
        ...


class DocumentStore(DocumentReader, Protocol):
    """Write documents."""

    def add(self, document: StoredDocument) -> None:
        """Insert a document; StaleVersionError if there is one of its name."""
        ...

    def replace(self, before: StoredDocument, after: StoredDocument) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        ...

    def delete(self, name: str) -> bool:
        """Remove a document; return whether there was one."""
        ...
