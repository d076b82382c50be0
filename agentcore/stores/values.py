"""Holds what stores take and give beside records: places in the change feed, leases, switches, marks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Generic, TypeVar

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.decay import Decay
from agentcore.domain.memory import Level, SourceKind
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_text


@dataclass(frozen=True, slots=True, order=True)
class Peer:
    """Somebody a workspace has memories of: its activity concerns whoever observes it.

    Args:
        workspace: The tenant or application.
        observed: Whom memories are about.

    Example:
        >>> Peer.of(Scope("acme", "agent", "ana"))
        Peer(workspace='acme', observed='ana')
    """

    workspace: str
    observed: str

    @classmethod
    def of(cls, scope: Scope) -> "Peer":
        """Return whom *scope* is about."""
        return cls(scope.workspace, scope.observed)


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyHolder:
    """Somebody who serves a person, until that expires.

    Args:
        holder: Id of the host.
        host: Machine of its process.
        pid: Its process.
        since: When it began.
        expires_at: When it no longer counts unless it is announced again.
        scope: Whose person it is; None if nobody said so, which holds back all dreams.
    """

    holder: str
    host: str
    pid: int
    since: datetime
    expires_at: datetime
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class TurnMaterial:
    """A turn a pass has to read: its id, its place in the order of arrival, and its session."""

    id: str
    position: int
    session_id: str


@dataclass(frozen=True, slots=True)
class EntryMaterial:
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


class Synchronous(StrEnum):
    """When what is written reaches the disk itself (SQLite's `PRAGMA synchronous`)."""

    NORMAL = "normal"
    """Soon: what is committed survives the end of the process; a power cut may cost the last transactions."""
    FULL = "full"
    """Before a write is told as done: it survives a power cut too, and takes as long as the disk."""


@dataclass(frozen=True, slots=True)
class Present:
    """What holds of a scope at an instant.

    Args:
        revision: The last committed one.
        now: The instant.
        decay: How importance is read.
    """

    revision: int
    now: datetime
    decay: Decay


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
        pattern: What sort of pattern it tells, if it does.
        confidence: How sure that is.
    """

    key: int
    category: str
    tags: tuple[str, ...]
    level: Level
    subject_time: str | None
    created_us: int
    last_seen_us: int
    live: bool
    pattern: Pattern | None = None
    confidence: Confidence | None = None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """What the recall index needs of a turn; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the turn's life.
        session_id: The conversation it belongs to.
        content: What was said, to be tokenised.
        occurred_us: When it was said, microseconds since 1970.
        live: Whether readers may see it: what the host's machinery wrote, and its own prompts, were never said.
        heading: Date and speaker, which are tokenised with each of its passages.
        by_person: Whether a person said it.
    """

    key: int
    session_id: str
    content: str
    occurred_us: int
    live: bool
    heading: str = ""
    by_person: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to be the only one who does *name* in a scope, until it expires.

    Args:
        name: What it is for.
        holder: Id of the holder.
        host: Machine of the holder.
        pid: Process of the holder.
        token: Fencing token; grows with every change of hands.
        expires_at: When it runs out unless renewed.
    """

    name: str
    holder: str
    host: str
    pid: int
    token: int
    expires_at: datetime


@dataclass(frozen=True, slots=True, order=True)
class Withheld:
    """A mark that a record is told to nobody.

    Args:
        kind: What kind of record: a turn, or an entry that an agent set aside.
        record_id: Its id; it may be gone, or not have come yet.
        entry_id: The entry for whose sake, which a person asked to forget.
    """

    kind: SourceKind
    record_id: str
    entry_id: str


@dataclass(frozen=True, slots=True, order=True)
class PagePlace:
    """Where a page of records ends: later pages go on there, whatever was changed, added or removed meanwhile.

    Args:
        recorded_at: When the last record of the page was stored, which never changes.
        record_id: Its id; it need not exist any longer.
    """

    recorded_at: datetime
    record_id: str


class WriteKind(StrEnum):
    """What a write did to a record."""

    ADDED = "added"
    REINFORCED = "reinforced"
    """The same was said again."""
    CHANGED = "changed"
    RETIRED = "retired"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordWrite:
    """Who wrote a record, and how often in the same way; what runs did to it is in their journal.

    Args:
        record_id: The record.
        actor: Who asked, as `str` of an `Actor`.
        action: What the write did.
        first_at: When for the first time.
        last_at: When for the last time.
        times: How often.
    """

    record_id: str
    actor: str
    action: WriteKind
    first_at: datetime
    last_at: datetime
    times: int

    def to_json(self) -> dict[str, object]:
        """Return plain JSON values."""
        return {
            "actor": self.actor,
            "action": self.action.value,
            "first_at": to_text(self.first_at),
            "last_at": to_text(self.last_at),
            "times": self.times,
        }


class Origin(StrEnum):
    """Who a write transaction belongs to; only what hosts and imports write counts as new material."""

    HOST = "host"
    IMPORT = "import"
    DREAM = "dream"
    UNDO = "undo"
    READING = "reading"
    """Turns are read apart from a dream: the facts so found count as new, and are no activity."""
    PEERS = "peers"
    """What a peer said reaches who observed it."""


class SwitchLevel(StrEnum):
    """What a switch is about; of several that are set, the narrowest decides."""

    WORKSPACE = "workspace"
    SCOPE = "scope"
    SHARED_SESSION = "shared_session"
    """A session in every scope of its workspace: one of several peers."""
    SESSION = "session"
    """A session in one scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSetting:
    """What is on and what is off at one level.

    Args:
        level: What it is about.
        session_id: The session, if it is about one.
        dream: Whether dreams are on; None leaves it to the wider level.
        learning: Whether anything new is learnt from what is said and signalled; None leaves it to the wider level.
        learning_since: Nothing is learnt from what was stored before, because learning was off until then.
    """

    level: SwitchLevel
    session_id: str | None = None
    dream: bool | None = None
    learning: bool | None = None
    learning_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class TextVector:
    """The vector of one entry's text.

    Args:
        key: The store's key of the entry, as the change feed gives it.
        content_hash: `content_hash` of the text that it was made of.
        vector: Its numbers as 32-bit floats, least byte first.
    """

    key: int
    content_hash: str
    vector: bytes
