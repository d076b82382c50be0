"""Keeps the due times of all scopes up to date with what is stored and with the options, a few scopes at a time."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from agentcore.domain.scope import Scope
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import UnitOfWork
    from dream.cycle.documents.edit_watch import EditWatch
    from dream.cycle.scheduling.planner import Planner
    from dream.cycle.scheduling.scope_runners import ScopeRunners

LONGEST_WAIT: Final = timedelta(minutes=1)
"""How soon what other processes store is noticed at the latest."""
_PEERS_AT_ONCE = 50
_SCOPES_AT_ONCE = 50
"""So many are planned in one transaction, which takes about 50 ms."""
ANYWHERE: Final = Scope.default()
"""The scope that transactions on all scopes are bound to."""
_log = logging.getLogger(__name__)
T = TypeVar("T")


class DueTimes:
    """Works out the due times of all that changed; lives as long as the host.

    Args:
        parts: What the host offers.
        runners: What runs a cycle on each scope.
        planner: What decides.
    """

    def __init__(self, parts: HostServices, runners: ScopeRunners, planner: Planner) -> None:
        self._parts = parts
        self._runners = runners
        self._planner = planner
        self._known_hash = ""
        self._is_overruled = False
        self._looked_at = datetime.min.replace(tzinfo=UTC)
        self._edits = _edit_watch(parts) if runners.reads_documents and parts.workspaces is not None else None

    @property
    def planner(self) -> Planner:
        """What decides, by the directives as they were when it was looked last."""
        return self._planner

    @property
    def is_recent(self) -> bool:
        """Whether everything was planned less than the longest wait ago."""
        return self._parts.clock.now() < self._looked_at + LONGEST_WAIT

    async def plan(self) -> None:
        """Work out the due times of all that changed: what was stored, documents, directives, options."""
        now, before = self._parts.clock.now(), self._looked_at
        self._looked_at = now
        if self._edits is not None:
            await self._edits.look()
        mark = await asyncio.to_thread(self._runners.directives_mark)
        if mark != self._planner.directives:
            self._planner = replace(self._planner, directives=mark)
        await self._claim()
        while await self.store(self._plan_some):
            pass
        if before - now > LONGEST_WAIT:
            await self._plan_anew()

    async def _claim(self) -> None:
        """Have all hosts plan by the options of this one, when it comes or they change; else tell if others' count.

        They also change when the machine has travelled to another time zone, or somebody edited a directive.
        """
        terms = self._planner.terms
        if terms.options_hash != self._known_hash:
            await self._parts.storage.write(ANYWHERE, lambda unit: dream_stores(unit).fleet.claim_terms(terms))
            self._known_hash, self._is_overruled = terms.options_hash, False
            return
        goes_by = await self._parts.storage.read(ANYWHERE, lambda view: dream_stores(view).fleet.goes_by(terms))
        if not (goes_by or self._is_overruled):
            _log.warning("options_differ", extra={"remedy": "give all hosts of the database the same options"})
        self._is_overruled = not goes_by

    def _plan_some(self, unit: UnitOfWork) -> int:
        """Plan a few scopes in which something was stored, or else a few that were planned by other options.

        Whoever does that, each scope is planned once, and a host that stops half-way leaves the rest to others.
        """
        planner = self._planner
        return planner.plan_changed(unit, limit=_PEERS_AT_ONCE) or planner.plan_outdated(unit, limit=_SCOPES_AT_ONCE)

    async def plan_changed(self) -> None:
        """Work out the due times of scopes in which something was stored."""
        while await self.store(lambda unit: self._planner.plan_changed(unit, limit=_PEERS_AT_ONCE)):
            pass

    async def plan_these(self, keys: Sequence[int]) -> None:
        """Work out the due times of scopes, by their keys."""
        for first in range(0, len(keys), _SCOPES_AT_ONCE):
            some = keys[first : first + _SCOPES_AT_ONCE]
            await self.store(lambda unit: self._planner.plan(unit, some))  # noqa: B023 - awaited

    async def _plan_anew(self) -> None:
        """Plan everything again, because the clock was set back and due times may lie far ahead."""
        _log.warning("clock_set_back")
        after: int | None = 0
        while after is not None:
            last = after
            after = await self.store(lambda unit: self._planner.plan_all(unit, after=last, limit=_SCOPES_AT_ONCE))  # noqa: B023 - awaited

    async def store(self, work: Callable[[UnitOfWork], T]) -> T:
        """Do *work* in one transaction on whatever scopes it names."""
        return await self._parts.storage.write(None, work)


def _edit_watch(parts: HostServices) -> EditWatch:
    from dream.cycle.documents.edit_watch import EditWatch  # noqa: PLC0415 - most hosts have no workspace

    return EditWatch(parts)
