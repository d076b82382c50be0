"""The change feed: how a follower, such as a recall index, keeps up with a scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from agentcore.domain.memory import Level

Row = TypeVar("Row")


FILING_MARK: Final = "\x1f"
"""Stands between what an entry says and what it is filed under."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the recall index needs of an entry; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the entry's life and never given to another.
        text: Content, `FILING_MARK`, then category and tags: two texts to be tokenised.
        base: Importance at the last reinforcement.
        last_seen_us: Last reinforcement, microseconds since 1970.
        live: Whether readers may see it.
    """

    key: int
    text: str
    base: float
    last_seen_us: int
    live: bool


@dataclass(frozen=True, slots=True)
class FacetRow:
    """What filters need of an entry; `live` is False when no filter can admit it.

    Args:
        key: As in `IndexRow`.
        category: Its slash path.
        tags: Its tags.
        level: How it came to be known.
        subject_time: What `SubjectTime.parse` reads, or None.
        created_us: When it was first said, microseconds since 1970.
        last_seen_us: Last reinforcement, microseconds since 1970.
        live: Whether readers may see it.
    """

    key: int
    category: str
    tags: tuple[str, ...]
    level: Level
    subject_time: str | None
    created_us: int
    last_seen_us: int
    live: bool


@dataclass(frozen=True, slots=True)
class TurnRow:
    """What the recall index needs of a turn; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the turn's life.
        session_id: The conversation it belongs to.
        text: Date, speaker and content, to be tokenised.
        occurred_us: When it was said, microseconds since 1970.
        live: Whether readers may see it: what the host's machinery wrote, and its own prompts, were never said.
    """

    key: int
    session_id: str
    text: str
    occurred_us: int
    live: bool


@dataclass(frozen=True, slots=True)
class SkillRow:
    """What the recall index needs of a skill; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the skill's life.
        name: Its slash path.
        summary: Its line in the catalogue.
        content: The procedure.
        live: Whether readers may see it.
    """

    key: int
    name: str
    summary: str
    content: str
    live: bool


@dataclass(frozen=True, slots=True, order=True)
class FeedPosition:
    """How far a reader has followed the change feed.

    Args:
        revision: Every record last changed before this revision has been read.
        key: And of those last changed in it, every one up to this key.
        removals: Every removal up to this revision has been read; never before *revision*, and ahead of it while a
            reader that started from nothing is still on its way.
    """

    revision: int = 0
    key: int = 0
    removals: int = 0


@dataclass(frozen=True, slots=True)
class FeedPage(Generic[Row]):
    """A step along the change feed of one kind of record.

    Args:
        position: Where this page brings its reader.
        rows: Records changed since, as they are now; one changed twice appears once.
        removed: Keys of records that are gone since; some may be new to the reader.
        more: Whether the feed goes on.
        rebuild: Whether the feed no longer reaches back so far, so that the reader must start from nothing.
    """

    position: FeedPosition
    rows: Sequence[Row]
    removed: Sequence[int]
    more: bool
    rebuild: bool
