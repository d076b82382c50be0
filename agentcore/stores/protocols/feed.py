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
    """How far a reader has followed the change feed: everything up to *revision*, and of that one up to *key*."""

    revision: int = 0
    key: int = 0


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A step along the change feed.

    Args:
        position: Where this page brings its reader.
        rows: Entries changed since, as they are now; an entry changed twice appears once.
        removed: Keys of entries that are gone; some may be new to the reader, or told before.
        more: Whether the feed goes on.
        rebuild: Whether the feed no longer reaches back so far, so that the reader must start from nothing.
    """

    position: FeedPosition
    rows: Sequence[IndexRow]
    removed: Sequence[int]
    more: bool
    rebuild: bool
