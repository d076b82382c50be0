"""Entries: what a store of them can be asked and told."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Material:
    """An entry a pass has to look at: its id, its key, and its place in the order of arrival."""

    id: str
    key: int
    position: int


@dataclass(frozen=True, slots=True, order=True)
class Repeated:
    """An entry whose normalised text another active entry has too: its position, id and fold key."""

    position: int
    id: str
    fold_key: str
