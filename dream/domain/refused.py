"""Defines a refused text: what a model wrote and a dream did not take, whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.temporal import to_text

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedText:
    """What a model wrote in a run, and why it was not taken.

    Args:
        pass_name: The pass that asked.
        code: Why it was refused.
        detail: The particulars.
        text: What the model wrote; of a skill the name and the summary stand before it.
        cites: Ids of the records that it rests on; of all that were shown if it names none.
        refused_at: When it was refused.
    """

    pass_name: str
    code: str
    detail: str
    text: str
    cites: tuple[str, ...]
    refused_at: datetime

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "pass": self.pass_name,
            "code": self.code,
            "detail": self.detail,
            "text": self.text,
            "cites": list(self.cites),
            "refused_at": to_text(self.refused_at),
        }
