"""The words of a sweep: its block in MEMORY.md, and its entry in DREAMS.md."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.memory import MemoryEntry
from dream.passes.document_changes import NEW_DIARY, appended

_FIGURES: Final = re.compile(r"\s*_\(score=[\d.]+, hits=\d+, days=\d+\)_\s*$")
_EMPTIED: Final = re.compile(
    r"^## Dreamed \d{4}-\d\d-\d\d \d\d:\d\d \S+[ \t]*(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))*(?=#{1,6}[ \t]|\Z)",
    re.MULTILINE,
)
_NEW_MEMORY: Final = "# MEMORY.md\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One entry that is promoted.

    Args:
        entry: The entry.
        text: What it says, on one line.
        score: What it scored.
        hits: How often it was recalled.
        days: On how many days.
        needed_at: When it was recalled last.
    """

    entry: MemoryEntry
    text: str
    score: float
    hits: int
    days: int
    needed_at: datetime

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return self.entry.id

    @property
    def written(self) -> str:
        """How it stands in MEMORY.md."""
        return f"{self.text} _(score={self.score:.2f}, hits={self.hits}, days={self.days})_"


def said_by(item: str) -> str:
    """Return what an item of MEMORY.md says, without the figures behind it.

    Example:
        >>> said_by("Luis lives in Bogota _(score=0.42, hits=5, days=3)_")
        'Luis lives in Bogota'
    """
    return _FIGURES.sub("", item)


def with_block(text: str, lines: Sequence[Line], heading: str) -> str:
    """Return MEMORY.md with a block at its end; whatever stood there stays as it is, byte for byte."""
    return appended(text or _NEW_MEMORY, [f"## Dreamed {heading}", "", *(f"- {line.written}" for line in lines)])


def with_diary(text: str, lines: Sequence[Line], heading: str, *, scanned: int, skipped: int) -> str:
    """Return DREAMS.md with the sweep's entry at its end.

    Args:
        text: The diary so far; empty for a new one.
        lines: What was promoted.
        heading: When.
        scanned: How many entries had been recalled.
        skipped: How many of those that met every gate stood in MEMORY.md already.
    """
    told = [
        f"## Deep Sleep {heading}",
        "",
        f"- candidates: {scanned}",
        f"- promoted: {len(lines)}",
        f"- skipped (already promoted): {skipped}",
        "",
        "### Promoted",
        "",
        *(f"- {line.text} — score {line.score:.2f}, hits {line.hits}" for line in lines),
    ]
    return appended(text or NEW_DIARY, told)


def without_emptied(text: str) -> str:
    r"""Return MEMORY.md without the headings of blocks that have nothing left below them.

    Example:
        >>> without_emptied("# M\n\n## Dreamed 2025-06-14 09:00 UTC\n\n\n## Mine\n\n- tea\n")
        '# M\n\n## Mine\n\n- tea\n'
    """
    return _EMPTIED.sub("", text)
