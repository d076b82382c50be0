"""Holds what filters ask of entries as columns, so that a filter is decided without reading an entry."""

from array import array
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.filters import RecallFilter
from agentcore.domain.memory import Level
from agentcore.domain.subject_time import SubjectTime, overlaps
from agentcore.domain.temporal import to_micros
from agentcore.recall.bm25.arrays import Keys, Slots
from agentcore.recall.filters import has_tags, is_of_kind, is_within
from agentcore.stores.values import FacetRow, FeedPosition

_BYTES_PER_ENTRY: Final = 130
_BYTES_PER_LABEL: Final = 250
_WASTE: Final = 1024


_Kind = tuple[Level, Pattern | None, Confidence | None]
"""How an entry came to be known, and what sort of pattern it tells how surely."""

_Label = TypeVar("_Label", bound=Hashable)


class _Labels(Generic[_Label]):
    """Numbers for texts that many entries share, so that a condition is judged once for each text."""

    def __init__(self) -> None:
        self._numbers: dict[_Label, int] = {}
        self.of_entries: array[int] = array("i")

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, label: _Label) -> int:
        return self._numbers.setdefault(label, len(self._numbers))

    def admitted(self, slots: Slots, condition: Callable[[_Label], bool]) -> NDArray[np.bool_]:
        table = np.fromiter(map(condition, self._numbers), dtype=np.bool_, count=len(self._numbers))
        return table.take(np.frombuffer(self.of_entries, dtype=np.intc).take(slots))


class Facets:
    """The columns of one scope's entries; made when a scope is first asked with a filter, kept up like an index.

    Not thread-safe: the recall thread owns it.

    Example:
        >>> facets = Facets()
        >>> facets.take([FacetRow(7, "people/ana", ("tea",), Level.EXPLICIT, None, 0, 0, True)])
        >>> facets.admitting(RecallFilter(category="people"))(np.array([7, 8])).tolist()
        [True, False]
    """

    def __init__(self) -> None:
        self.position = FeedPosition()
        """How far the change feed has been taken over."""
        self._clear()

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        labels = len(self._categories) + len(self._tags) + len(self._levels) + len(self._times)
        return _BYTES_PER_ENTRY * len(self._keys) + _BYTES_PER_LABEL * labels

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        self.position = FeedPosition()
        self._clear()

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out entries that are gone; unknown ones change nothing."""
        for key in keys:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._alive[slot] = 0

    def take(self, rows: Iterable[FacetRow]) -> None:
        """Take over entries as they are now; those that readers may not see leave."""
        for row in rows:
            if row.live:
                self._put(row)
            else:
                self.drop((row.key,))

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        self.position = position

    def tidy(self) -> bool:
        """Drop the places of entries that are gone, once they are the most; tell that there is no more."""
        if len(self._keys) - len(self._slots) > _WASTE + len(self._slots):
            kept = np.flatnonzero(np.array(self._alive, dtype=np.bool_))
            for column in (self._keys, self._created, self._seen):
                column[:] = array("q", np.array(column, dtype=np.int64)[kept].tobytes())
            for labels in (self._categories, self._tags, self._levels, self._times):
                labels.of_entries = array("i", np.array(labels.of_entries, dtype=np.intc)[kept].tobytes())
            self._alive = bytearray(b"\x01" * len(kept))
            self._slots = {key: slot for slot, key in enumerate(self._keys)}
            self._order = None
        return False

    def admitting(self, where: RecallFilter) -> "Admitted":
        """Return what tells which entries *where* admits, its states aside; good until the next change."""
        return Admitted(self, where)

    def judged(self, where: RecallFilter, keys: Keys) -> NDArray[np.bool_]:
        """Tell of each key whether *where* admits its entry."""
        found, slots = self._found(keys)
        found[found] = self._judged(where, slots[found])
        return found

    def keys(self, where: RecallFilter) -> Keys:
        """Return the keys of all entries that *where* admits."""
        slots = np.flatnonzero(np.frombuffer(self._alive, dtype=np.bool_))
        return np.frombuffer(self._keys, dtype=np.int64).take(slots[self._judged(where, slots)])

    def _clear(self) -> None:
        self._slots: dict[int, int] = {}
        self._keys: array[int] = array("q")
        self._alive = bytearray()
        self._created: array[int] = array("q")
        self._seen: array[int] = array("q")
        self._categories = _Labels[str]()
        self._tags = _Labels[tuple[str, ...]]()
        self._levels = _Labels[_Kind]()
        self._times = _Labels[str | None]()
        self._order: Slots | None = None

    def _put(self, row: FacetRow) -> None:
        columns = (self._categories, self._tags, self._levels, self._times)
        numbers = (
            self._categories.number(row.category),
            self._tags.number(row.tags),
            self._levels.number((row.level, row.pattern, row.confidence)),
            self._times.number(row.subject_time),
        )
        slot = self._slots.get(row.key)
        if slot is None:
            slot = self._slots[row.key] = len(self._keys)
            self._keys.append(row.key)
            self._alive.append(1)
            self._created.append(0)
            self._seen.append(0)
            for column in columns:
                column.of_entries.append(0)
            self._order = None
        self._created[slot], self._seen[slot] = row.created_us, row.last_seen_us
        for column, number in zip(columns, numbers, strict=True):
            column.of_entries[slot] = number

    def _found(self, keys: Keys) -> tuple[NDArray[np.bool_], Slots]:
        """Which keys are here, and the slot of each that is."""
        known = np.frombuffer(self._keys, dtype=np.int64)
        if self._order is None:
            self._order = np.argsort(known, kind="stable")
        if len(known) == 0:
            return np.zeros(len(keys), dtype=np.bool_), np.zeros(len(keys), dtype=np.intp)
        # The last of equal keys is the one that lives: an entry that came back stands there twice.
        places = np.searchsorted(known, keys, side="right", sorter=self._order) - 1
        slots = self._order.take(np.maximum(places, 0))
        alive = np.frombuffer(self._alive, dtype=np.bool_)
        return (known.take(slots) == keys) & alive.take(slots), slots

    def _judged(self, where: RecallFilter, slots: Slots) -> NDArray[np.bool_]:
        admitted = np.ones(len(slots), dtype=np.bool_)
        branch, about = where.category, where.about
        if branch is not None:
            admitted &= self._categories.admitted(slots, lambda one: is_within(one, branch))
        if where.tags or where.any_tags:
            admitted &= self._tags.admitted(slots, lambda one: has_tags(where, one))
        kind = (where.level, where.pattern, where.confidence)
        if any(kind):
            admitted &= self._levels.admitted(slots, lambda one: is_of_kind(kind, one))
        if about is not None:
            admitted &= self._times.admitted(
                slots, lambda one: one is not None and overlaps(about, SubjectTime.parse(one))
            )
        for column, after, before in (
            (self._created, where.created_after, where.created_before),
            (self._seen, where.seen_after, where.seen_before),
        ):
            if after is not None:
                admitted &= np.frombuffer(column, dtype=np.int64).take(slots) >= to_micros(after)
            if before is not None:
                admitted &= np.frombuffer(column, dtype=np.int64).take(slots) < to_micros(before)
        return admitted


@dataclass(frozen=True, slots=True)
class Admitted:
    """Which entries of a scope a filter admits; good until the next change.

    Args:
        facets: The columns of the scope.
        where: The filter, its states aside.
    """

    facets: Facets
    where: RecallFilter

    def __call__(self, keys: Keys) -> NDArray[np.bool_]:
        """Tell of each key whether its entry is admitted."""
        return self.facets.judged(self.where, keys)

    def keys(self) -> Keys:
        """Return the keys of all that are admitted; every entry is judged for it."""
        return self.facets.keys(self.where)
