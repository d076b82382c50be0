"""Handles the offer of a scope: decides again on what is stored, dreams if it still may, and counts what fails."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agentcore.errors import AgentcoreError, LeaseLostError, StorageUnreachableError
from dream.cycle.running.run_envelope import scope_boundary
from dream.cycle.scheduling.planner import ReadingBooking, ScheduledBooking, foreground_load
from dream.errors import DreamBrokenOffError
from dream.triggers import Reason

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from dream.cycle.listeners import DreamListeners
    from dream.cycle.scheduling.due_times import DueTimes
    from dream.cycle.scheduling.planner import ForegroundLoad
    from dream.cycle.scheduling.queue import Offer
    from dream.cycle.scheduling.scope_runners import ScopeRunners
    from dream.domain.report import RunReport

_log = logging.getLogger(__name__)


class DreamHandler:
    """Dreams on scopes that are offered; lives as long as the host.

    What fails on one scope is counted against that scope alone, which backs off.

    Args:
        parts: What the host offers.
        runners: What runs a cycle on each scope, and asks its passes.
        due_times: Decide, and store when a scope is looked at next.
        watch: Who is told of runs.
    """

    def __init__(
        self, *, parts: HostServices, runners: ScopeRunners, due_times: DueTimes, watch: DreamListeners
    ) -> None:
        self._parts = parts
        self._levels = runners.levels
        self._runners = runners
        self._due_times = due_times
        self._watch = watch

    async def handle(self, offer: Offer) -> None:
        """Dream on a scope if it is due and has something to do.

        Raises:
            StorageError: the server is out of reach, or not even a failure can be stored: it fails for all scopes, and
                none of them backs off.
        """
        began_at = self._parts.clock.now()
        try:
            with scope_boundary(offer.scope):
                decided = await self._decided(offer.scope)
            if decided is not None:
                began_at = self._parts.clock.now()
                await self._dream(offer.scope, *decided)
        except LeaseLostError:
            # Another process took the scope over while this one stood still: whatever comes of it is the other's.
            _log.warning("dream_taken_over", extra={"scope": str(offer.scope)})
        except StorageUnreachableError:
            _log.warning("dream_interrupted", extra={"scope": str(offer.scope)})
            raise
        except AgentcoreError as error:
            await self._put_off(offer, began_at, error)

    async def _decided(self, scope: Scope) -> tuple[ForegroundLoad, Reason] | None:
        """Decide anew on what is stored now; return what that rests on and what is due, if it has something to do."""
        around = await foreground_load(self._parts, self._levels.of(scope), scope)
        storage, planner = self._parts.storage, self._due_times.planner
        _, decision = await storage.write(scope, lambda unit: planner.attend(unit, around))
        if decision.is_due(self._parts.clock.now()) and decision.reason not in {Reason.MANUAL, Reason.READING}:
            work = (await self._runners.backlog(scope).of(scope)).work
            _, decision = await storage.write(scope, lambda unit: planner.attend(unit, around, work))
        return (around, decision.reason) if decision.is_due(self._parts.clock.now()) else None

    async def _dream(self, scope: Scope, around: ForegroundLoad, reason: Reason) -> None:
        options = self._levels.of(scope)
        is_reading = reason is Reason.READING
        booking = ReadingBooking if is_reading else ScheduledBooking
        passes = options.readers_of_turns(self._parts.capabilities) if is_reading else None
        booked = booking(planner=self._due_times.planner, lease=options.lease, around=around)
        gone_on: list[RunReport] = []
        report = await self._runners.runner(scope).run(scope, passes=passes, booking=booked, gone_on=gone_on)
        for one in (*gone_on, report):
            await self._watch.told(one)

    async def _put_off(self, offer: Offer, began_at: datetime, error: AgentcoreError) -> None:
        """Count what a scope raised as its failure, so that it backs off."""
        told = {"scope": str(offer.scope), "error": type(error).__name__, "problem": str(error)}
        problem = str(error).rstrip(".")
        if isinstance(error, DreamBrokenOffError):
            # A foreign error may quote what is remembered: that stands where the scope's people look, not in the log.
            problem, told["error"], told["problem"] = error.problem, type(error.__cause__).__name__, "see dream explain"
            _log.debug("dream_failed_at", extra=told, exc_info=error.__cause__)
        _log.warning("dream_failed scope=%s error=%s: %s", offer.scope, told["error"], told["problem"], extra=told)
        planner = self._due_times.planner
        await self._due_times.store(lambda unit: planner.put_off(unit, offer.key, began_at=began_at, problem=problem))
