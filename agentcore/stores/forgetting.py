"""Holds what forgetting and erasing take and give: tombstones, choices, what went, and files that hold copies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol

from agentcore.domain.scope import Scope


class TombstoneKind(StrEnum):
    """What a tombstone names."""

    ENTRY = "entry"
    TURN = "turn"
    FEEDBACK = "feedback"
    SESSION = "session"
    """A conversation: all that was said in it up to the instant of the tombstone."""
    ITEM = "item"
    """An item of an imported file, by a hash of what makes it the same item in the next import."""
    TOPIC = "off_limits_topic"
    """A topic that was off limits and is allowed again: its words were deleted."""


@dataclass(frozen=True, slots=True, order=True)
class Tombstone:
    """What a person had forgotten, by its id alone.

    Args:
        kind: What it names.
        record_id: Its id.
        forgotten_at: When it was forgotten.
        whole: Whether all of it was; False for a turn of which sentences alone were.
    """

    kind: TombstoneKind
    record_id: str
    forgotten_at: datetime
    whole: bool = True


class TurnsChoice(StrEnum):
    """What of the conversation goes with an entry that a person has forgotten."""

    CITED = "cited"
    """What the entry rests on, and turns of equal text."""
    ALL = "all"
    """Besides, whatever the search found that says it in other words: turns, entries and feedback."""
    NONE = "none"
    """No text of a turn: turns that the entry rests on are withheld and stay readable in the log."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a `forget` did.

    Args:
        removed: Ids of the entries that are gone.
        restored: Ids of sources brought back because a merge that held them had to go.
        withheld: Ids of turns that say it, which nobody is told any longer.
        redacted: Ids of those of them whose text was redacted.
        skills: Ids of skills that lost what they said of it.
    """

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    withheld: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SaysIt:
    """Other material that says what a person has forgotten, as it was found and chosen.

    Args:
        turns: The sentences of each turn that say it, by its id; none where all of it goes.
        entries: Ids of entries that say it in other words.
        feedback: Ids of feedback that says it.
        skills: The sentences of each skill that say it, by its id.
    """

    turns: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    entries: Sequence[str] = ()
    feedback: Sequence[str] = ()
    skills: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


@dataclass(frozen=True, slots=True)
class KnownCopy:
    """A file that is known to hold a copy of a scope: no forget reaches it.

    Args:
        kind: What it is: `export`, `readable export`, `backup`, `copy` for another database with everything, or
            `migration` for the copy that was made before the newest one.
        place: Where it was written.
        records: How many records it holds.
        made_at: When it was made.
    """

    kind: str
    place: str
    records: int
    made_at: datetime

    @property
    def called(self) -> str:
        """What people are told that it is."""
        return _BEFORE if self.kind == "migration" else self.kind


_BEFORE: Final = "backup before a migration (of an earlier version: with hashes of forgotten texts and their salt)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What was erased of a scope, or would be.

    Args:
        scope: Whose memory.
        erased_at: When it began.
        finished_at: When nothing was left; None while it goes on.
        removed: How many rows went, by what people call them.
        sent: How many calls had gone to each model, as far as they were on record.
    """

    scope: Scope
    erased_at: datetime
    finished_at: datetime | None = None
    removed: Mapping[str, int]
    sent: Mapping[str, int]


class ErasureLog(Protocol):
    """What a storage knows of erasures, over all scopes."""

    async def unfinished(self) -> tuple[list[Scope], list[Scope]]:
        """Return the scopes whose erasure was cut short, and those where files are to be cleared after a forget."""
        ...

    async def erasures(self, *, since: datetime | None = None) -> list[Erasure]:
        """Return every erasure of a scope, or those begun at or after an instant, the earliest first."""
        ...

    async def spoken_elsewhere(self, gone: Collection[Scope]) -> dict[Scope, int]:
        """Return how many turns other scopes of the same workspaces hold of the peers that *gone* are about."""
        ...
