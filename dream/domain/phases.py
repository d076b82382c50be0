"""Counts how often sweeps and thematic summaries met an entry."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime


class Phase(StrEnum):
    """What met an entry."""

    LIGHT = "light"
    """A sweep that had it among its candidates, recalled since the sweep before."""
    REM = "rem"
    """A thematic summary that it stands behind."""


@dataclass(frozen=True, slots=True)
class PhaseHit:
    """That a phase met an entry.

    Args:
        entry_id: The entry.
        phase: The phase.
        at: When.
    """

    entry_id: str
    phase: Phase
    at: datetime

    def to_json(self) -> list[Any]:
        """Return plain JSON values."""
        return [self.entry_id, self.phase.value, to_text(self.at)]

    @classmethod
    def from_json(cls, values: Sequence[Any]) -> PhaseHit:
        """Read what `to_json` wrote."""
        entry_id, phase, at = values
        return cls(entry_id, Phase(phase), from_text(at))


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseStanding:
    """How often the phases met an entry.

    Args:
        light: In how many sweeps.
        light_last: The latest of these, in microseconds since 1970.
        rem: In how many thematic summaries.
        rem_last: The latest of these, in microseconds since 1970.
    """

    light: int = 0
    light_last: int = 0
    rem: int = 0
    rem_last: int = 0
