"""Tells what a person declines by taking a line off the card."""

from collections.abc import Sequence

from agentcore.domain.card import CardSection
from agentcore.domain.memory import MemoryEntry
from dream.domain.change import fingerprint


def line_mark(section: CardSection, entries: Sequence[MemoryEntry]) -> str:
    """Return the mark of a line of this sort that goes back to these entries."""
    return fingerprint(f"card:{section}", *entries)
