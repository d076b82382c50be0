"""Vectors: what an embedding model made of the texts of entries, once for each text."""

from dataclasses import dataclass


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
