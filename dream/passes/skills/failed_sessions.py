"""Tells which signals say that a session failed, for what counts how skills did."""

from typing import Final

from agentcore.domain.signals import Feedback, FeedbackKind, Rating

MOST_SIGNALS: Final = 10_000
"""The newest so many uses, feedback rows and tool calls are looked at."""

_FAILURES: Final = frozenset({FeedbackKind.CORRECTION, FeedbackKind.THUMBS_DOWN})
_FAILING: Final = frozenset({Rating.POOR, Rating.FAIR})


def tells_failure(feedback: Feedback) -> bool:
    """Tell whether a signal says that its session failed; a rating is a rating, whatever the summary's words."""
    if feedback.kind is FeedbackKind.SESSION_SUMMARY:
        return feedback.rating in _FAILING
    return feedback.kind in _FAILURES
