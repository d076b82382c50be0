"""Records that an entry went to MEMORY.md, and knows the headings of the blocks that say so."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.temporal import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_EMPTIED: Final = re.compile(
    r"^## Dreamed \d{4}-\d\d-\d\d \d\d:\d\d \S+[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*(?=#{1,6}[ \t]|\Z)",
    re.MULTILINE,
)


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


def without_emptied(text: str) -> str:
    r"""Return MEMORY.md without the headings of blocks that have nothing left below them.

    Example:
        >>> without_emptied("# M\n\n## Dreamed 2025-06-14 09:00 UTC\n\n\n## Mine\n\n- tea\n")
        '# M\n\n## Mine\n\n- tea\n'
    """
    return _EMPTIED.sub("", text)
