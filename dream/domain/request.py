"""Defines a request for a dream, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import to_text

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamRequest:
    """What became of a request for a dream.

    Args:
        scope: Whose dreams.
        requested_at: When the dream that is pending was asked for; None if none is.
        reason: Why this request changed nothing, such as `already_pending`; None if it was taken.
    """

    scope: Scope
    requested_at: datetime | None
    reason: str | None

    @property
    def is_taken(self) -> bool:
        """Whether it is because of this request that a dream is pending."""
        return self.reason is None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        at = None if self.requested_at is None else to_text(self.requested_at)
        return {"scope": str(self.scope), "requested_at": at, "reason": self.reason}
