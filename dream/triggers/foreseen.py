"""Foresees the dreams to come of a scope: the decision of now, and those after it if each dream goes well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.temporal import to_text
from dream.triggers.decide import decide, work_at
from dream.triggers.decision import Reason
from dream.triggers.schedule_state import TICK, PassWork, started, succeeded

if TYPE_CHECKING:
    from datetime import datetime

    from dream.options import SchedulingOptions
    from dream.triggers.schedule_state import ScheduleState

_MOST: Final = 100
_GOES_ON: Final = frozenset({Reason.INTERVAL, Reason.CRON, Reason.DAILY, Reason.HEARTBEAT, Reason.MANUAL})
"""What can be foreseen further than once: the others wait for what people do."""


@dataclass(frozen=True, slots=True)
class ForeseenDream:
    """A dream to come, as things stand now.

    Args:
        at: When it may start.
        reason: What starts it.
    """

    at: datetime
    reason: Reason

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"at": to_text(self.at), "reason": self.reason.value}


def foresee(
    options: SchedulingOptions, state: ScheduleState, now: datetime, *, until: datetime, limit: int = _MOST
) -> list[ForeseenDream]:
    """Return the dreams to come, the next one first, supposing that each finds something to do and goes well.

    Args:
        options: When dreams start by themselves.
        state: What is stored of the scope.
        now: The instant from which it is looked ahead, aware.
        until: None after this instant.
        limit: How many at most.

    Example:
        >>> from datetime import UTC, datetime, timedelta
        >>> from agentcore.domain.scope import Scope
        >>> from dream.options import DailyAt, SchedulingOptions
        >>> from dream.triggers import ScheduleState
        >>> now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> state = ScheduleState(scope=Scope.default(), registered_at=now)
        >>> options = SchedulingOptions(trigger=DailyAt(at="03:00", timezone="UTC"))
        >>> [f"{one.at:%d %H:%M}" for one in foresee(options, state, now, until=now + timedelta(days=3))]
        ['02 03:00', '03 03:00', '04 03:00']
    """
    options = options.model_copy(update={"awake": None})
    found: list[ForeseenDream] = []
    at = now
    while len(found) < limit:
        known = state if work_at(state) is not None else replace(state, work=(PassWork("", at, is_waiting=True),))
        decision = decide(options, known, at)
        if decision.due_at is None or (begins := max(decision.due_at, at)) > until:
            break
        found.append(ForeseenDream(begins, decision.reason))
        if decision.reason not in _GOES_ON:
            break
        is_manual = decision.reason is Reason.MANUAL
        done = succeeded(started(known, begins), started_at=begins, now=begins, is_manual=is_manual)
        state, at = replace(done, work=()), begins + TICK
    return found
