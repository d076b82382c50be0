"""Tools that failed and then did with other arguments: what a skill could have said in the first place."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agentcore.domain.signals import ToolCall

WITHIN: Final = timedelta(minutes=30)
"""How long before the call that did a failed one may have been made."""
_MOST_FAILED: Final = 3
"""Failed calls kept of a retry, the latest."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A call that did, and the calls before it that did not.

    Args:
        worked: The call that did what it was made for.
        failed: Those of the same tool in the same session with other arguments, in the order of time.
    """

    worked: ToolCall
    failed: tuple[ToolCall, ...]


def find_retries(calls: Iterable[ToolCall]) -> dict[str, list[Retry]]:
    """Return the retries of each session, in the order of time; no failure is in two of them."""
    by_tool: defaultdict[tuple[str, str], list[ToolCall]] = defaultdict(list)
    for call in calls:
        by_tool[call.session_id, call.tool_name].append(call)
    found: defaultdict[str, list[Retry]] = defaultdict(list)
    for (session, _), mine in by_tool.items():
        found[session] += _retries(sorted(mine, key=lambda call: (call.occurred_at, call.id)))
    return {session: sorted(ones, key=in_time) for session, ones in found.items()}


def in_time(retry: Retry) -> tuple[datetime, str]:
    """Return what puts retries in the order of time."""
    return retry.worked.occurred_at, retry.worked.id


def _retries(calls: Sequence[ToolCall]) -> list[Retry]:
    """Return the retries among the calls of one tool in one session."""
    found: list[Retry] = []
    failed: list[ToolCall] = []
    for call in calls:
        if not call.succeeded:
            failed.append(call)
            continue
        since = call.occurred_at - WITHIN
        before = [one for one in failed if one.occurred_at >= since and one.arguments != call.arguments]
        if before:
            found.append(Retry(call, tuple(before[-_MOST_FAILED:])))
        failed.clear()
    return found
