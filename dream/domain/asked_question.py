"""Shows a question with the entries that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentcore.domain.records import entry_json, to_image

if TYPE_CHECKING:
    from agentcore.domain.memory import MemoryEntry
    from agentcore.domain.question import Question


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and its members as they are now, as a person sees them.

    Args:
        question: The question.
        members: The entries it is about, in the order of the question, retired ones too; those that are gone are
            missing.
    """

    question: Question
    members: tuple[MemoryEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the question's image, with its members whole."""
        return {**to_image(self.question), "members": [entry_json(entry) for entry in self.members]}
