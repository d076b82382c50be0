"""The words of a thematic summary in DREAMS.md.

A line names the entries behind it in a comment, so that it goes when a person has one of them forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dream.passes.document_changes import NEW_DIARY, appended
from dream.passes.rem.themes import Recollection, Theme

_NAMED: Final = 8
"""Entries that a line names at most."""


@dataclass(frozen=True, slots=True)
class DiaryItem:
    """A theme in words.

    Args:
        text: What the line says.
        entry_ids: The entries behind it.
    """

    text: str
    entry_ids: tuple[str, ...]


def in_figures(theme: Theme, looked_at: int) -> DiaryItem:
    """Return a theme that arithmetic found.

    Example:
        >>> in_figures(Theme(concepts=("bees", "honey"), entry_ids=("a", "b"), strength=1.0), 3).text
        'bees, honey — strength 1.00, 2 of 3 entries'
    """
    share = f"{len(theme.entry_ids)} of {looked_at} entries"
    return DiaryItem(f"{', '.join(theme.concepts)} — strength {theme.strength:.2f}, {share}", theme.entry_ids)


def with_summary(
    text: str, heading: str, looked_at: int, themes: Sequence[DiaryItem], truths: Sequence[Recollection] = ()
) -> str:
    """Return DREAMS.md with the summary at its end.

    Args:
        text: The diary so far; empty for a new one.
        heading: When.
        looked_at: How many entries were looked at.
        themes: What recall keeps coming back to.
        truths: What likely lasts.
    """
    lines = [f"## REM {heading}", "", f"- recalled entries: {looked_at}"]
    if themes:
        lines += ["", "### Themes", "", *(f"- {one.text} {_sources(one.entry_ids)}" for one in themes)]
    if truths:
        last = (f"- {one.text} — confidence {one.confidence:.2f}, hits {one.hits}" for one in truths)
        lines += ["", "### What may last", "", *last]
    return appended(text or NEW_DIARY, lines)


def _sources(entry_ids: Sequence[str]) -> str:
    return f"<!-- from {' '.join(f'entry:{entry_id}' for entry_id in entry_ids[:_NAMED])} -->"
