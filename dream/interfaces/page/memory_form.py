"""Reads the form in which a person edits a memory: only what differs from the memory as it stands is a change."""

from collections.abc import Mapping
from typing import Any, Final

FIELDS: Final = ("category", "tags", "about", "importance")
"""What the form holds beside the text."""


def edits(memory: Mapping[str, Any], form: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form changes in a memory, as REST takes it.

    The importance fades from hour to hour: who leaves the figure that the form shows means no change of it. Who leaves
    the time that a memory is about has it follow the text.

    Example:
        >>> memory = {"content": "Tea.", "category": "general", "tags": ["a"], "importance": 0.4951}
        >>> edits(memory, {"text": "Tea.", "category": "food", "tags": "a, b", "importance": "0.50"})
        {'category': 'food', 'tags': ['a', 'b']}
    """
    changes: dict[str, Any] = {}
    if form.get("text", "") != memory["content"]:
        changes["content"] = form.get("text", "")
    if form.get("category", memory["category"]).strip() != memory["category"]:
        changes["category"] = form["category"]
    if "tags" in form:
        tags = sorted({one.strip() for one in form["tags"].split(",")} - {""})
        changes |= {"tags": tags} if tags != sorted(memory["tags"]) else {}
    was, about = memory.get("subject_time") or "", form.get("about")
    if about is not None and about.strip() != was:
        changes["subject_time"] = about.strip() or None
    said = form.get("importance", "").strip()
    if said and said != shown_importance(memory):
        changes["importance"] = _number(said)
    return changes


def shown_importance(memory: Mapping[str, Any]) -> str:
    """Return the importance as the form shows it."""
    return f"{memory['importance']:.2f}"


def _number(said: str) -> float | str:
    """Return a number; what is none is left to REST, which says so."""
    try:
        return float(said)
    except ValueError:
        return said
