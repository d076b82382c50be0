"""Entries: what a store of them can be asked and told."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.stores.protocols.feed import FacetRow, FeedPage, FeedPosition, IndexRow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


class EntryReader(Protocol):
    """Read entries; `importance` is always as of the view's instant."""

    def get(self, entry_id: str) -> MemoryEntry | None:
        """Return the entry in whatever state, or None."""
        ...

    def get_many(self, entry_ids: Collection[str]) -> list[MemoryEntry]:
        """Return those that exist, by id."""
        ...

    def versions(self, entry_ids: Collection[str]) -> dict[str, int]:
        """Return the present version of those that exist."""
        ...

    def by_keys(self, keys: Sequence[int]) -> dict[int, MemoryEntry]:
        """Return entries by the keys that `changes_since` gave."""
        ...

    def resolve(self, prefix: str) -> str:
        """Return the one id that starts with *prefix*; UnknownRecordError if none or several do."""
        ...

    def select(self, where: EntryFilter, *, limit: int | None = None, offset: int = 0) -> list[MemoryEntry]:
        """Return matching entries, newest last-seen first, ties by id."""
        ...

    def count(self, where: EntryFilter) -> int:
        """Count matching entries."""
        ...

    def always(self, branches: Collection[str], *, limit: int) -> list[MemoryEntry]:
        """Return active entries that are pinned or filed in or below *branches*, the newest *limit* of each, by id."""
        ...

    def with_fold_keys(self, fold_keys: Collection[str]) -> list[MemoryEntry]:
        """Return active entries whose normalised text has one of these keys, oldest first."""
        ...

    def repeated(self, *, after: int, upto: int, also: Collection[str], limit: int) -> list[Repeated]:
        """Return active entries whose text is not alone, in the order of arrival.

        Looked at are those past the position *after* up to *upto*, of which at most *limit* are returned, and those
        before it with an id in *also*.
        """
        ...

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[Material]:
        """Return active material past the position *after*, and active entries of *also* before it, in order.

        Material is what hosts and imports write: an entry when it is added, and whenever they change its text, category
        or subject time or make it active again. What a dream or an undo writes never is, except what it took down from
        turns alone (`MemoryEntry.was_said`): that is new to whoever judges entries.
        """
        ...

    def count_material(self, *, after: int, also: Collection[str], upto: int | None = None) -> int:
        """Count what `material` would return without a limit, positions beyond *upto* aside."""
        ...

    def last_position(self) -> int:
        """Return the position of the newest material in whatever state, 0 if there is none."""
        ...

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[IndexRow]:
        """Return the next page of the feed after *position*; the default position starts from nothing."""
        ...

    def facets_since(self, position: FeedPosition, *, limit: int) -> FeedPage[FacetRow]:
        """Return the same page as `changes_since`, with what filters need instead of what queries need."""
        ...

    def importance_columns(self, *, last_seen_before: datetime) -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
        """Return base (15 digits) and last-seen (microseconds) of active entries last seen before that instant."""
        ...

    def purgeable(self, *, archived_before: datetime, floor: float, reinforced: int, limit: int) -> list[MemoryEntry]:
        """Return entries retired before that instant that no protection keeps, longest retired first.

        Protected are a base of at least *floor*, *reinforced* observations or more, a pin, and being the source of an
        active entry.
        """
        ...

    def next_retirement(self, *, floor: float, reinforced: int) -> datetime | None:
        """Return the earliest instant at which an unprotected entry was retired, or None."""
        ...

    def derived_from(self, kind: str, *source_ids: str) -> list[MemoryEntry]:
        """Return entries that name one of these records as a source, in whatever state, each once, by id."""
        ...


class EntryStore(EntryReader, Protocol):
    """Write entries."""

    def add(self, new: Sequence[MemoryEntry]) -> None:
        """Insert new entries; version 1.

        StaleVersionError if an id is taken, InvalidContentError if an entry belongs to another scope; then none of
        them is inserted.
        """
        ...

    def replace(self, pairs: Sequence[tuple[MemoryEntry, MemoryEntry]]) -> None:
        """Write each *after* over its *before*; StaleVersionError if a stored version is another than *before*'s.

        A record may come twice when its second *before* is its first *after*.
        """
        ...

    def delete(self, entry_ids: Collection[str]) -> int:
        """Remove entries for good; return how many there were."""
        ...
