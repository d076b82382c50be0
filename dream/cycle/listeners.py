"""Tells listeners of each run of a host, and raises the alarm when runs come to nothing."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from agentcore.errors import StorageError
from dream.domain.report import Alarm, Outcome, RunKind, RunReport, find_alarm
from dream.stores import dream_stores

if TYPE_CHECKING:
    from agentcore.hosting.services import HostServices
    from dream.options.levels import OptionLevels

T = TypeVar("T")

Listener: TypeAlias = Callable[[T], object]
"""A function, or a coroutine function; what it returns is not used."""
Unsubscribe: TypeAlias = Callable[[], None]
"""Ends a subscription; a second time it does nothing."""

_log: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class Listeners(Generic[T]):
    """Who wants to know of one kind of event; lives as long as the host.

    Args:
        event: What it is called in the log.
    """

    event: str
    _told: dict[object, Listener[T]] = field(default_factory=dict[object, Listener[T]])

    def add(self, listener: Listener[T]) -> Unsubscribe:
        """Tell *listener* of every further event, after those that came before it."""
        # The same function may listen twice, and ends each subscription by itself.
        subscription = object()
        self._told[subscription] = listener

        def unsubscribe() -> None:
            self._told.pop(subscription, None)

        return unsubscribe

    async def tell(self, what: T) -> None:
        """Tell everybody, one after the other; an error of one is logged and keeps nothing from the others."""
        for listener in tuple(self._told.values()):
            try:
                answer = listener(what)
                if inspect.isawaitable(answer):
                    await answer
            except Exception as error:  # noqa: BLE001 - a listener's failure must not look like the run's
                _log.exception("listener_failed", extra={"event": self.event, "error": type(error).__name__})


def _log_run(report: RunReport) -> None:
    """Log how a run ended, in one line: nothing that is remembered stands in it."""
    reason = "" if report.reason is None else f" reason={report.reason.split(':')[0]}"
    fields = {
        "scope": str(report.scope),
        "run_id": report.run_id,
        "kind": report.kind.value,
        "outcome": report.outcome.value,
        "trigger": report.trigger,
        "changes": report.changes,
        "purged": report.purged,
    }
    told = " ".join(f"{name}={value}" for name, value in fields.items())
    level = logging.WARNING if report.outcome is Outcome.FAILED else logging.INFO
    _log.log(level, "dream_ended %s%s", told, reason, extra=fields)


def _log_sweeps(report: RunReport) -> None:
    """Log each sweep of promotion: what was looked at, what came of it, and the commit or why there is none."""
    for one in report.passes:
        if "scanned" in one.notes:
            fields = {
                "scope": str(report.scope),
                "run_id": report.run_id,
                "scanned": one.notes["scanned"],
                "promoted": len(one.notes["promoted"]),
                "skipped": one.notes["skipped"],
                "score_range": one.notes["score_range"],
                "commit": one.notes.get("commit", "clean_tree"),
            }
            _log.info("promotion_sweep", extra=fields)


@dataclass(frozen=True, slots=True)
class DreamListeners:
    """Tells of the runs of a host, whichever scope they are on; lives as long as the host.

    Args:
        parts: What the host offers.
        levels: The options of each scope.
        reports: Who is told of each run.
        alarms: Who is told of runs that come to nothing.
    """

    parts: HostServices
    levels: OptionLevels
    reports: Listeners[RunReport] = field(default_factory=lambda: Listeners[RunReport]("report"))
    alarms: Listeners[Alarm] = field(default_factory=lambda: Listeners[Alarm]("alarm"))

    async def told(self, report: RunReport) -> RunReport:
        """Return *report* once everybody knows of it; a run that did not start, or did not end, is no news."""
        if not report.run_id:
            return report
        await self._fan_out(report)
        if report.outcome is Outcome.DEFERRED:
            fields = {"scope": str(report.scope), "run_id": report.run_id}
            _log.info("dream_paused scope=%s run_id=%s", report.scope, report.run_id, extra=fields)
            return report
        _log_run(report)
        _log_sweeps(report)
        await self.reports.tell(report)
        alarm = await self._alarm(report) if report.kind is RunKind.DREAM else None
        if alarm is not None:
            fields = {"scope": str(alarm.scope), "kind": alarm.kind.value, "runs": alarm.runs, "run_id": alarm.run_id}
            _log.warning("dream_alarm %s", alarm.sentence, extra=fields)
            await self.alarms.tell(alarm)
        return report

    async def _fan_out(self, report: RunReport) -> None:
        """Bring what the run changed to those who observe the peer; what cannot be now is when a host opens next."""
        if self.parts.fan_out is not None:
            try:
                await self.parts.fan_out.follow(report.scope)
            except StorageError as error:
                _log.warning("fan_out_waits", extra={"error": type(error).__name__})

    async def _alarm(self, report: RunReport) -> Alarm | None:
        """Return the alarm that is due with this run: every so many runs in a row, not at each of them.

        The stored runs are what counts, so that a restart or another process does not begin anew.
        """
        if find_alarm([report], 1) is None:
            return None  # it went well, so there is no row that it could end
        after = self.levels.of(report.scope).alarm_after
        alarm = await self.parts.storage.read(
            report.scope, lambda view: find_alarm(dream_stores(view).history.dreams(), after)
        )
        is_due = alarm is not None and alarm.run_id == report.run_id and alarm.runs % after == 0
        return alarm if is_due else None
