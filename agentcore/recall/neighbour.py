"""Neighbour: an entry that says nearly the same as another."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document that shares much with the one asked about.

    Args:
        key: The document's key.
        similarity: Weighted Jaccard similarity, above 0, at most 1.
    """

    key: int
    similarity: float
