"""Defines what the store of every kind of record can be asked and told."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol, TypeVar

from agentcore.domain.records import Record

R = TypeVar("R", bound=Record)


class RecordReader(Protocol[R]):
    """What the store of every kind of record can be asked."""

    def get_many(self, ids: Collection[str], /) -> list[R]:
        """Return those that exist, by id."""
        ...

    def existing(self, ids: Collection[str], /) -> set[str]:
        """Return those of *ids* that are taken."""
        ...

    def every(self) -> Iterator[R]:
        """Stream them all, by id."""
        ...


class RecordStore(RecordReader[R], Protocol):
    """What the store of every kind of record can be told."""

    def apply(self, changes: Sequence[tuple[R | None, R | None]], /) -> None:
        """Add, replace and remove records: each pair is one before and after, None for absence.

        Raises:
            StaleVersionError: a record is no longer what was before; nothing is written.
        """
        ...

    def delete(self, ids: Collection[str], /) -> int:
        """Remove records for good; return how many there were."""
        ...
