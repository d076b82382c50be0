"""Defines one text that was shown to a model, as evidence or beside it."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """A text that was shown.

    Args:
        text: It.
        speaker: Who said it; None of an entry, a skill or a document.
        is_person: Whether a person said it: what an assistant said is context, never proof.
        said_at: When.
    """

    text: str
    speaker: str | None = None
    is_person: bool = True
    said_at: datetime | None = None
