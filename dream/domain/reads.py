"""Defines what the cursor of a pass counts."""

from enum import StrEnum


class Reads(StrEnum):
    """What a reader looks at in the order of arrival; stored with its cursor."""

    ENTRIES = "entries"
    """Active entries."""
    TURNS = "turns"
    """Turns, to learn from them: they are consumed only after this reader has looked at them."""
    SKILLS = "skills"
    """Active skills."""
    FEEDBACK = "feedback"
    """Feedback."""
    LOG = "log"
    """Turns that all readers of `TURNS` have looked at; nobody waits for this reader."""
    NOTHING = "nothing"
    """None of these: the position is an instant, as of the last count of recalls, and nothing is ever pending."""
