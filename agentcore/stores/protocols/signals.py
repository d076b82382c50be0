"""Signals (skill uses, feedback, wisp runs, tool calls): what a store of them can be asked and told."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from agentcore.domain.signals import Feedback, ToolCall, WispRun
from agentcore.domain.skill import SkillUse

S = TypeVar("S", SkillUse, Feedback, WispRun, ToolCall)


class SignalReader(Protocol[S]):
    """Read one kind of signal."""

    def newest(self, *, limit: int, since: datetime | None = None) -> list[S]:
        """Return the newest *limit* (not the first ones), oldest of them first."""
        ...

    def get_many(self, signal_ids: Collection[str]) -> list[S]:
        """Return those that exist, sorted by id."""
        ...

    def count(self) -> int:
        """Count them."""
        ...

    def oldest_recorded(self) -> datetime | None:
        """Return when the oldest was stored, or None."""
        ...

    def count_expired(self, *, recorded_before: datetime, keep: int) -> int:
        """Count those stored before that instant or beyond the newest *keep*."""
        ...


class SignalStore(SignalReader[S], Protocol[S]):
    """Append one kind of signal."""

    def append(self, signals: Sequence[S]) -> None:
        """Append signals; StaleVersionError if an id is taken, InvalidContentError if one is of another scope."""
        ...

    def drop_expired(self, *, recorded_before: datetime, keep: int, limit: int) -> int:
        """Remove at most *limit* of those `count_expired` counts, oldest first; return how many."""
        ...
