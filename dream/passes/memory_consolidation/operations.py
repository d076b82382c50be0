"""Sorts the items of an answer into operations that use each entry once."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agentcore.domain.memory import MemoryEntry
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.guards.names import Vocabulary
from dream.options import DreamOptions
from dream.passes.conflicts import SideEvidence
from dream.passes.memory_consolidation.prompt import ConsolidationAnswer, ConsolidationHandles, DeleteItem, SaveItem


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationInput:
    """Everything a judgement needs, so that it is a pure function; lives for one answer.

    Args:
        as_of: The instant the run judges by.
        options: The host's options.
        vocabulary: Which words are ordinary.
        new_id: Returns a fresh record id.
        twins: Live entries with the text of an item of the answer, by fold key, oldest first.
        merge_only: Whether nothing may go without being merged.
        speakers: Who said each entry, by its id, as far as turns show it.
    """

    as_of: datetime
    options: DreamOptions
    vocabulary: Vocabulary
    new_id: Callable[[], str]
    twins: Mapping[str, tuple[MemoryEntry, ...]]
    merge_only: bool
    speakers: Mapping[str, frozenset[str]]

    def evidence(self, entries: Sequence[MemoryEntry]) -> SideEvidence:
        """Join what speaks for the entries."""
        return SideEvidence.of(entries, (name for entry in entries for name in self.speakers.get(entry.id, ())))

    def is_protected_category(self, category: str) -> bool:
        """Tell whether no pass changes what stands there."""
        return is_under(category, self.options.protected_categories)

    def is_worth_keeping(self, entry: MemoryEntry) -> bool:
        """Tell whether an entry may be merged, never dropped."""
        terms = self.options.consolidation
        return (
            entry.pinned
            or entry.base >= terms.protect_importance
            or entry.reinforcement_count >= terms.protect_reinforced
        )


def is_under(category: str, roots: tuple[str, ...]) -> bool:
    """Tell whether a category is one of *roots* or below it, whatever the case.

    Example:
        >>> is_under("Active-Plans/june", ("active-plans",)), is_under("active-plans-old", ("active-plans",))
        (True, False)
    """
    below = f"{category.casefold()}/"
    return any(below.startswith(f"{root.casefold().rstrip('/')}/") for root in roots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A text made of entries: a merge, or a rewrite of one.

    Args:
        item: What the model wrote.
        sources: Handles that it is made of.
        gives_way: What it takes the place of.
    """

    item: SaveItem
    sources: tuple[str, ...]
    gives_way: tuple[DeleteItem, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Handles that no other operation may use."""
        return (*self.sources, *(one.handle for one in self.gives_way))


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseding:
    """An entry that another one, which stays as it is, takes the place of."""

    item: DeleteItem
    successor: str

    @property
    def uses(self) -> tuple[str, ...]:
        """Handles that no other operation may use."""
        return (self.item.handle,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropping:
    """An entry that goes, with nothing in its place."""

    item: DeleteItem

    @property
    def uses(self) -> tuple[str, ...]:
        """Handles that no other operation may use."""
        return (self.item.handle,)


Operation = Saving | Superseding | Dropping


@dataclass(slots=True)
class _OperationSorter:
    """The items of one answer while they are sorted out."""

    consolidation_handles: ConsolidationHandles
    saves: Sequence[SaveItem]
    makers: Mapping[str, list[int]]
    going: frozenset[str]
    gives_way: dict[int, list[DeleteItem]] = field(default_factory=dict[int, list[DeleteItem]])
    operations: list[Operation] = field(default_factory=list[Operation])
    refused: list[tuple[tuple[str, ...], Refusal]] = field(default_factory=list[tuple[tuple[str, ...], Refusal]])

    def add_delete(self, item: DeleteItem) -> None:
        """Make of it an operation, a part of one, or a refusal; a plain one of a merge's source says nothing new."""
        makers = self.makers.get(item.handle, [])
        if item.successor is None:
            if not makers:
                self.operations.append(Dropping(item=item))
            return
        saving = self._saving(item)
        if saving is not None:
            self.gives_way.setdefault(saving, []).append(item)
        elif not isinstance(item.successor, str) or item.successor in {item.handle, *self.going}:
            self._refuse(item, Refusal.of(Refused.NO_SUCCESSOR, self.consolidation_handles.named([item.handle])))
        elif item.successor not in self.consolidation_handles.ids:
            self._refuse(item, Refusal.of(Refused.UNKNOWN_HANDLE, self.consolidation_handles.named([item.successor])))
        else:
            self.operations.append(Superseding(item=item, successor=item.successor))

    def add_save(self, item: SaveItem) -> None:
        """Take what gives way out of its sources."""
        gives_way = tuple({one.handle: one for one in self.gives_way.get(item.number, [])}.values())
        gone = {one.handle for one in gives_way}
        sources = tuple(handle for handle in item.made_of if handle not in gone)
        self.operations.append(Saving(item=item, sources=sources, gives_way=gives_way))

    def _saving(self, item: DeleteItem) -> int | None:
        """Return the index of the save that takes the entry's place: named itself, or by one of its sources."""
        if isinstance(item.successor, int):
            return item.successor if 0 <= item.successor < len(self.saves) else None
        makers = self.makers.get(item.successor or "", [])
        return makers[0] if len(makers) == 1 and item.successor != item.handle else None

    def _refuse(self, item: DeleteItem, refusal: Refusal) -> None:
        self.refused.append(((item.handle,), refusal))


@dataclass(slots=True)
class SortedOperations:
    """What an answer comes to before any of it is judged.

    Args:
        operations: What each item, or items together, would do.
        refused: What is out of the question, and why.
        again: Ids of records to look at again: beside one of them stood a record that changed meanwhile.
    """

    operations: list[Operation] = field(default_factory=list[Operation])
    refused: list[Refusal] = field(default_factory=list[Refusal])
    again: set[str] = field(default_factory=set[str])


def sort_out(parsed: ConsolidationAnswer, consolidation_handles: ConsolidationHandles) -> SortedOperations:
    """Return the operations of an answer, and what of it was refused.

    A record that two operations use is used by neither, and an operation that was refused holds on to its records: no
    other one may have them.
    """
    makers: dict[str, list[int]] = {}
    for save in parsed.saves:
        for handle in save.made_of:
            makers.setdefault(handle, []).append(save.number)
    going = frozenset(item.handle for item in parsed.deletes if item.handle not in makers)
    sorting = _OperationSorter(consolidation_handles, parsed.saves, makers, going)
    for item in _each_once(parsed.deletes):
        sorting.add_delete(item)
    for save in parsed.saves:
        sorting.add_save(save)
    used = Counter(
        handle
        for uses in (*(one.uses for one in sorting.operations), *(uses for uses, _ in sorting.refused))
        for handle in uses
    )
    result = SortedOperations(refused=[refusal for _, refusal in sorting.refused])
    for operation in sorting.operations:
        shared = [handle for handle in operation.uses if used[handle] > 1]
        fault = (
            Refusal.of(Refused.HANDLE_REUSED, consolidation_handles.named(shared))
            if shared
            else consolidation_handles.fault(operation.uses)
        )
        if fault is None:
            result.operations.append(operation)
            continue
        result.refused.append(fault)
        if fault.code == Refused.STALE_SOURCE:
            result.again.update(consolidation_handles.named(operation.uses))
    return result


def _each_once(items: Iterable[DeleteItem]) -> list[DeleteItem]:
    """Return items that say different things; of one handle the plain item says nothing beside a successor."""
    found: dict[tuple[str, str | int | None], DeleteItem] = {}
    for item in items:
        found.setdefault((item.handle, item.successor), item)
    succeeded = {handle for handle, successor in found if successor is not None}
    return [item for (handle, successor), item in found.items() if successor is not None or handle not in succeeded]
