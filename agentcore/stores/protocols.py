"""The contracts of storage.

A `Storage` runs synchronous functions of a `ReadView` or a `UnitOfWork` on its own threads, each in one transaction and
bound to one scope. So a store method cannot be called without a scope, cannot reach two, and never stalls the event loop;
async exists only at this boundary. A write transaction that changed records bumps the scope's `revision` and leaves a row
in the change feed, which the recall index and the triggers follow.

`agentcore.testing.contracts` is the suite that an implementation has to pass.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentcore.domain.conversation import Turn
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.records import Record, RecordKind
from agentcore.domain.scope import Scope
from agentcore.domain.signals import Feedback, WispRun
from agentcore.domain.skill import Skill, SkillUse

T = TypeVar("T")
S = TypeVar("S", SkillUse, Feedback, WispRun)
S_co = TypeVar("S_co", SkillUse, Feedback, WispRun, covariant=True)


class Origin(StrEnum):
    """Who a write transaction belongs to; only what hosts and imports write counts as new material."""

    HOST = "host"
    IMPORT = "import"
    DREAM = "dream"
    UNDO = "undo"


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the recall index needs of an entry; `live` is False when it has to leave the index.

    Args:
        key: The store's own integer key, stable for the entry's life.
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
    """How far a reader has followed the change feed: everything up to *revision*, and of the next one up to *key*."""

    revision: int = 0
    key: int = 0


@dataclass(frozen=True, slots=True)
class FeedPage:
    """A step along the change feed.

    Args:
        position: Where this page brings its reader.
        rows: Entries changed since, as they are now; an entry changed twice appears once.
        removed: Keys of entries that are gone.
        more: Whether the feed goes on.
        rebuild: Whether the feed no longer reaches back so far, so that the reader must start from nothing.
    """

    revision: int
    rows: Sequence[IndexRow]
    removed: Sequence[int]
    more: bool
    rebuild: bool


@dataclass(frozen=True, slots=True)
class Material:
    """An entry a pass has to look at: its id, its key, and its place in the order of arrival."""

    id: str
    key: int
    position: int


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

    def with_fold_keys(self, fold_keys: Collection[str]) -> list[MemoryEntry]:
        """Return active entries whose normalised text has one of these keys, oldest first."""
        ...

    def repeated_fold_keys(self, *, after: int, upto: int, also: Collection[str], limit: int) -> list[tuple[int, str]]:
        """Return (position, fold key) of active entries in that window, or with an id in *also*, whose text is not alone."""
        ...

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[Material]:
        """Return active material past the position *after*, and active entries of *also* before it, in order."""
        ...

    def count_material(self, *, after: int, also: Collection[str]) -> int:
        """Count what `material` would return without a limit."""
        ...

    def last_position(self) -> int:
        """Return the position of the newest material, 0 if there is none."""
        ...

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage:
        """Return the next page of the feed after *position*; the default position starts from nothing."""
        ...

    def importance_columns(self, *, last_seen_before: datetime) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return base (15 digits) and last-seen (microseconds) of active entries last seen before that instant."""
        ...

    def purgeable(self, *, archived_before: datetime, floor: float, reinforced: int, limit: int) -> list[MemoryEntry]:
        """Return entries retired before that instant that no protection keeps: base, reinforcement, pin, live merge."""
        ...

    def next_retirement(self, *, floor: float, reinforced: int) -> datetime | None:
        """Return the earliest instant at which an unprotected entry was retired, or None."""
        ...

    def derived_from(self, kind: str, source_id: str) -> list[MemoryEntry]:
        """Return entries that name that record as a source, in whatever state."""
        ...


class EntryStore(EntryReader, Protocol):
    """Write entries."""

    def add(self, entries: Sequence[MemoryEntry]) -> None:
        """Insert new entries; version 1."""
        ...

    def replace(self, pairs: Sequence[tuple[MemoryEntry, MemoryEntry]]) -> None:
        """Write each *after* over its *before*; StaleVersionError if a stored version is another than *before*'s."""
        ...

    def delete(self, entry_ids: Collection[str]) -> int:
        """Remove entries for good; return how many there were."""
        ...


class TurnReader(Protocol):
    """Read the conversation log."""

    def get(self, turn_id: str) -> Turn | None:
        """Return the turn, or None."""
        ...

    def get_many(self, turn_ids: Collection[str]) -> list[Turn]:
        """Return those that exist, by id."""
        ...

    def session(self, session_id: str, *, limit: int | None = None) -> list[Turn]:
        """Return the newest *limit* turns of a session, in the order they were said."""
        ...

    def count(self) -> int:
        """Count turns."""
        ...

    def count_unread(self) -> int:
        """Count turns that somebody still has to read."""
        ...

    def expired(self, *, recorded_before: datetime, limit: int) -> list[Turn]:
        """Return turns stored before that instant, consumed ones first, then oldest."""
        ...

    def surplus(self, *, keep: int, limit: int) -> list[Turn]:
        """Return turns beyond the newest *keep*, consumed ones first, then oldest."""
        ...

    def oldest_recorded(self) -> datetime | None:
        """Return when the oldest turn was stored, or None."""
        ...


class TurnStore(TurnReader, Protocol):
    """Write the conversation log."""

    def add(self, turns: Sequence[Turn]) -> None:
        """Append turns."""
        ...

    def mark_consumed(self, turn_ids: Collection[str], at: datetime) -> int:
        """Set `consumed_at` where it is empty; return how many were set."""
        ...

    def delete(self, turn_ids: Collection[str]) -> int:
        """Remove turns for good; return how many there were."""
        ...


class SkillReader(Protocol):
    """Read skills."""

    def get(self, skill_id: str) -> Skill | None:
        """Return the skill in whatever state, or None."""
        ...

    def named(self, name: str) -> Skill | None:
        """Return the active skill of that name, or None."""
        ...

    def catalogue(self, *, prefix: str = "") -> list[Skill]:
        """Return active skills whose name starts with *prefix*, by name."""
        ...


class SkillStore(SkillReader, Protocol):
    """Write skills."""

    def add(self, skill: Skill) -> None:
        """Insert a skill; StaleVersionError if an active one has its name."""
        ...

    def replace(self, before: Skill, after: Skill) -> None:
        """Write *after* over *before*; StaleVersionError if the stored version is another than *before*'s."""
        ...

    def delete(self, skill_ids: Collection[str]) -> int:
        """Remove skills for good; return how many there were."""
        ...


class SignalReader(Protocol[S_co]):
    """Read one kind of signal."""

    def newest(self, *, limit: int, since: datetime | None = None) -> list[S_co]:
        """Return the newest *limit* (not the first ones), oldest of them first."""
        ...

    def count(self) -> int:
        """Count them."""
        ...

    def count_expired(self, *, recorded_before: datetime, keep: int) -> int:
        """Count those stored before that instant or beyond the newest *keep*."""
        ...


class SignalStore(SignalReader[S], Protocol):
    """Append one kind of signal."""

    def append(self, signals: Sequence[S]) -> None:
        """Append signals."""
        ...

    def drop_expired(self, *, recorded_before: datetime, keep: int, limit: int) -> int:
        """Remove at most *limit* of those `count_expired` counts, oldest first; return how many."""
        ...


class SettingsReader(Protocol):
    """Read a scope's settings."""

    def get(self, name: str) -> str | None:
        """Return the value, or None."""
        ...


class SettingsStore(SettingsReader, Protocol):
    """Write a scope's settings."""

    def put(self, name: str, value: str | None) -> None:
        """Set the value; None removes it."""
        ...


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


class LeaseStore(Protocol):
    """Hold, renew and give back leases."""

    def acquire(self, name: str, *, holder: str, duration: timedelta) -> Lease | None:
        """Take the lease, or return None while a living holder has it.

        A holder on this machine whose process is gone (host, pid and start time) loses it at once.
        """
        ...

    def holder(self, name: str) -> Lease | None:
        """Return the unexpired lease, or None."""
        ...

    def renew(self, lease: Lease, *, duration: timedelta) -> Lease:
        """Extend it; LeaseLostError if it changed hands."""
        ...

    def assert_held(self, lease: Lease) -> None:
        """LeaseLostError if it changed hands."""
        ...

    def release(self, lease: Lease) -> None:
        """Give it back; nothing happens if it changed hands."""
        ...


class ImportLedger(Protocol):
    """Which outside items are already here."""

    def known(self, source_keys: Collection[str]) -> set[str]:
        """Return those already imported."""
        ...

    def record(self, items: Mapping[str, tuple[RecordKind, str]]) -> None:
        """Remember that a source key became that record."""
        ...


class ForgottenReader(Protocol):
    """What a person asked to forget: salted hashes only."""

    def contains(self, fold_keys: Collection[str]) -> set[str]:
        """Return those of *fold_keys* that were forgotten."""
        ...


class ReadView(Protocol):
    """A consistent, read-only look at one scope; valid only inside `Storage.read` or `write`."""

    @property
    def scope(self) -> Scope: ...
    @property
    def now(self) -> datetime: ...
    @property
    def revision(self) -> int: ...
    @property
    def entries(self) -> EntryReader: ...
    @property
    def turns(self) -> TurnReader: ...
    @property
    def skills(self) -> SkillReader: ...
    @property
    def skill_uses(self) -> SignalReader[SkillUse]: ...
    @property
    def feedback(self) -> SignalReader[Feedback]: ...
    @property
    def wisp_runs(self) -> SignalReader[WispRun]: ...
    @property
    def settings(self) -> SettingsReader: ...
    @property
    def forgotten(self) -> ForgottenReader: ...
    def records(self) -> Iterable[Record]:
        """Stream every record of the scope, by kind and id."""
        ...


class UnitOfWork(ReadView, Protocol):
    """One write transaction on one scope: everything in it commits together or not at all."""

    @property
    def entries(self) -> EntryStore: ...
    @property
    def turns(self) -> TurnStore: ...
    @property
    def skills(self) -> SkillStore: ...
    @property
    def skill_uses(self) -> SignalStore[SkillUse]: ...
    @property
    def feedback(self) -> SignalStore[Feedback]: ...
    @property
    def wisp_runs(self) -> SignalStore[WispRun]: ...
    @property
    def settings(self) -> SettingsStore: ...
    @property
    def leases(self) -> LeaseStore: ...
    @property
    def imports(self) -> ImportLedger: ...
    def forget(self, entry_id: str) -> "Forgotten":
        """Remove an entry, its equal texts and what was derived from it alone, and scrub every copy of the text."""
        ...


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a `forget` did.

    Args:
        removed: Ids of the entries that are gone.
        restored: Ids of sources brought back because a merge that held them had to go.
    """

    removed: tuple[str, ...]
    restored: tuple[str, ...]


class Storage(Protocol):
    """Where everything is kept; opened by the host, closed by the host."""

    async def start(self) -> None:
        """Open, creating or migrating the schema."""
        ...

    async def stop(self) -> None:
        """Finish what is under way and close."""
        ...

    async def read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        """Run *work* on a consistent view of *scope*."""
        ...

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        """Run *work* in one transaction; what it raises rolls everything back."""
        ...

    async def scopes(self) -> list[Scope]:
        """Return every scope that holds anything."""
        ...

    def snapshot(self) -> "AbstractAsyncContextManager[Storage]":
        """Copy everything as it is now to a storage of its own, deleted at the end of the context."""
        ...
