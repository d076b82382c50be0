"""What an index is asked by whoever has it follow the feed, and what keeps it over restarts."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from agentcore.domain.scope import Scope
from agentcore.stores.protocols import FeedPage, FeedPosition, ReadView

if TYPE_CHECKING:
    from agentcore.recall.snapshot import Kept, Snapshot

Row = TypeVar("Row")
Row_contra = TypeVar("Row_contra", contravariant=True)
Index_contra = TypeVar("Index_contra", bound="Following[Any]", contravariant=True)

Feed: TypeAlias = Callable[[ReadView, FeedPosition, int], FeedPage[Row]]
"""Gives the next page of one kind of record after a position, with so many rows at most."""


class Following(Protocol[Row_contra]):
    """An index that follows the feed of one scope; every change may be repeated."""

    position: FeedPosition
    """How far the feed has been taken over."""

    def restart(self) -> None:
        """Forget everything and begin the feed anew."""
        ...

    def drop(self, keys: Iterable[int]) -> None:
        """Leave out records that are gone; unknown ones change nothing."""
        ...

    def take(self, rows: Iterable[Row_contra]) -> None:
        """Take over records as they are now; those that readers may not see leave."""
        ...

    def reach(self, position: FeedPosition) -> None:
        """Note that everything up to *position* has been taken over."""
        ...

    def tidy(self) -> bool:
        """Spend a few milliseconds on what removals left behind, if that is worth it; tell whether there is more."""
        ...

    @property
    def nbytes(self) -> int:
        """Memory held, in bytes: an estimate."""
        ...


class Keeper(Protocol[Index_contra]):
    """Keeps indexes over restarts."""

    async def load(self, scope: Scope, index: Index_contra) -> None:
        """Fill an empty index with what was kept of it, if that can be used."""
        ...

    async def save(self, scope: Scope, index: Index_contra) -> None:
        """Keep an index that holds everything committed, if that is worth it."""
        ...

    async def discard(self, scope: Scope) -> None:
        """Delete what was kept, if that is possible: something in it is gone."""
        ...

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept, or raise: something in it must not stay."""
        ...


class Keepable(Following[Row_contra], Protocol[Row_contra]):
    """An index that can be kept in a file."""

    unkept: int
    """Rows taken over since it was read from a file."""

    def __len__(self) -> int:
        """How many records it holds."""
        ...

    def kept(self) -> "Kept":
        """Return what it is made of, without what removals left behind."""
        ...

    def adopt(self, snapshot: "Snapshot") -> None:
        """Take what was kept in place of what is here."""
        ...
