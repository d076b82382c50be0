"""The change feed: how a follower, such as the recall index, keeps up with a scope."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the recall index needs of an entry; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the entry's life and never given to another.
        text: Content, category and tags, to be tokenised.
        base: Importance at the last reinforcement.
        last_seen_us: Last reinforcement, microseconds since 1970.
        live: Whether readers may see it.
    """

    key: int
    text: str
    base: float
    last_seen_us: int
    live: bool


@dataclass(frozen=True, slots=True, order=True)
class FeedPosition:
    """How far a reader has followed the change feed.

    Args:
        revision: Every entry last changed before this revision has been read.
        key: And of those last changed in it, every one up to this key.
        removals: Every removal up to this revision has been read; never before *revision*, and ahead of it while a
            reader that started from nothing is still on its way.
    """

    revision: int = 0
    key: int = 0
    removals: int = 0


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A step along the change feed.

    Args:
        position: Where this page brings its reader.
        rows: Entries changed since, as they are now; an entry changed twice appears once.
        removed: Keys of entries that are gone since; some may be new to the reader.
        more: Whether the feed goes on.
        rebuild: Whether the feed no longer reaches back so far, so that the reader must start from nothing.
    """

    position: FeedPosition
    rows: Sequence[IndexRow]
    removed: Sequence[int]
    more: bool
    rebuild: bool
