"""Vectors: what an embedding model made of the texts of entries, once for each text."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class TextVector:
    """The vector of one entry's text.

    Args:
        key: The store's key of the entry, as the change feed gives it.
        content_hash: `content_hash` of the text that it was made of.
        vector: Its numbers as 32-bit floats, least byte first.
    """

    key: int
    content_hash: str
    vector: bytes


class VectorReader(Protocol):
    """Read vectors; no records, so neither `records` nor the change feed knows of them."""

    def get(self, model: str, content_hashes: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that *model* made, by the hash of their text; those that are not there are left out."""
        ...

    def count(self) -> int:
        """Count vectors."""
        ...


class VectorStore(VectorReader, Protocol):
    """Write them; a text that no longer stands in an entry it was read from leaves no vector.

    Deleting or forgetting an entry deletes the vectors of its text, and so does another text in its place. Where a
    second entry says the same, the vector is made anew when it is needed.
    """

    def put(self, model: str, vectors: Sequence[TextVector]) -> int:
        """Keep vectors, in place of older ones of the same texts; return how many.

        One whose entry is gone, or says something else by now, is left out.
        """
        ...
