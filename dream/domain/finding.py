"""Defines what an examination found: how something stands, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingLevel(StrEnum):
    """What a finding means."""

    FINE = "ok"
    NOTE = "note"
    """Worth knowing; nothing has to be done."""
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        subject: What.
        verdict: How it is.
        detail: What was seen.
        remedy: What to do about it; empty when it is fine.
    """

    subject: str
    verdict: FindingLevel
    detail: str
    remedy: str = ""

    def to_json(self) -> dict[str, str]:
        """Return plain JSON values; bytes of a file name that are no UTF-8 stand as their escapes."""
        return {
            "subject": self.subject,
            "verdict": self.verdict.value,
            "detail": self.detail.encode("utf-8", "backslashreplace").decode(),
            "remedy": self.remedy,
        }
