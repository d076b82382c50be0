"""How records stand in the prompt: one line each, whatever they hold."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from agentcore.domain.decay import Decay
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.signals import Feedback
from dream.passes.prompting import quoted

MERGE_ONLY = "merge-only"
"""Marks entries that were left as they are before and may be merged now, never dropped."""
CONTEXT_ONLY = "context-only"
"""Marks entries that may be referred to and not changed."""

Importance = Callable[[MemoryEntry], float]


def importance_at(decay: Decay, as_of: datetime) -> Importance:
    """Return how important an entry is as of the run, so that the same batch is always the same text."""
    return lambda entry: decay.value(entry.base, entry.last_seen_at, as_of)


def entry_line(handle: str, entry: MemoryEntry, importance: Importance, mark: str = "") -> str:
    """Return the line of one entry."""
    parts = [
        f"[{handle}]",
        f"category={quoted(entry.category)}",
        f"importance={importance(entry):.2f}",
        f"reinforced={entry.reinforcement_count}\u00d7",
        f"first={entry.created_at:%Y-%m-%d}",
        f"last={entry.last_seen_at:%Y-%m-%d}",
    ]
    if entry.subject_time is not None:
        parts.append(f"subject={quoted(str(entry.subject_time))}")
    if entry.tags:
        parts.append(f"tags={quoted(', '.join(entry.tags))}")
    if mark:
        parts.append(mark)
    return " ".join([*parts, quoted(entry.content)])


def feedback_line(handle: str, feedback: Feedback) -> str:
    """Return the line of one signal."""
    parts = [f"[{handle}]", f"kind={feedback.kind}", f"date={feedback.occurred_at:%Y-%m-%d}"]
    if feedback.rating is not None:
        parts.append(f"rating={feedback.rating}")
    return " ".join([*parts, quoted(feedback_text(feedback))])


def feedback_text(feedback: Feedback) -> str:
    """Return what the signal says."""
    return feedback.summary if feedback.detail is None else f"{feedback.summary}\n{feedback.detail}"


def handles(record_ids: Sequence[str], letter: str = "e") -> Mapping[str, str]:
    """Return the record id of each handle, in order.

    Example:
        >>> dict(handles(["9f3a", "77c0"]))
        {'e1': '9f3a', 'e2': '77c0'}
    """
    return {f"{letter}{place}": record_id for place, record_id in enumerate(record_ids, 1)}
