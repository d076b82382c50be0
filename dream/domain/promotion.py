"""Records that an entry went to MEMORY.md."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """That an entry was promoted.

    Args:
        entry_id: The entry.
        score: What it scored.
        hits: How often it had been recalled.
        run_id: The run that promoted it.
        promoted_at: When.
    """

    entry_id: str
    score: float
    hits: int
    run_id: str
    promoted_at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**asdict(self), "promoted_at": to_text(self.promoted_at)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Promotion:
        """Read what `to_json` wrote."""
        known: dict[str, Any] = {**values, "promoted_at": from_text(values["promoted_at"])}
        return cls(**known)
