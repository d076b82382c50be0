"""Asks the passes of a scope what they have to do, when a dream is about to start and not before."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from agentcore.domain.capability import Capability
from dream.cycle.forecast import model_context
from dream.cycle.review_queue import awaits_review, is_full
from dream.cycle.running.context import ContextFactory, has_room
from dream.cycle.running.turn_wait import TurnWait, turn_wait
from dream.domain.declaration import declared
from dream.domain.reasons import WAITS_FOR_ROOM
from dream.domain.storage_names import DREAM_LEASE
from dream.errors import InvalidDirectiveError
from dream.options import PassMode
from dream.passes import ModelPass
from dream.stores import dream_stores
from dream.stores.schedules import INTERRUPTED_RUN
from dream.triggers import PassWork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView
    from dream.domain.proposal import Work
    from dream.options import DreamOptions
    from dream.passes import DreamPass, PassSlot

_ROOM_AFTER = timedelta(hours=1)
"""When it is looked again whether a cap has room for what waits, or a person has decided."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Asks the enabled passes whether they have work; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        order: The passes.
    """

    parts: HostServices
    options: DreamOptions
    order: Sequence[PassSlot]

    @property
    def reads_documents(self) -> bool:
        """Whether what stands in the files of a workspace can be work."""
        return any(self._runs(place) and Capability.WORKSPACE in place.requires for place in self.order)

    async def of(self, scope: Scope) -> PassesWork:
        """Return what each enabled pass that can run has to do, now or at a date.

        What people wrote in the files of the workspace is read first: it may be work.
        """
        now = self.parts.clock.now()
        places = [place for place in self.order if self._runs(place)]
        if not all(place.is_imported for place in places):
            await asyncio.to_thread(lambda: [place.dream_pass for place in places])
        able = [place.dream_pass for place in places]
        obstacle = await self._read_documents(scope) if self.reads_documents else None
        if obstacle is not None:
            able = [one for one in able if Capability.WORKSPACE not in one.requires]
        found = [await self._of_pass(scope, one, now) for one in able]
        if await self.parts.storage.read(scope, self._is_interrupted):
            found.append(PassWork(INTERRUPTED_RUN, now, is_waiting=True))
        return PassesWork(tuple(one for one in found if one.at is not None), obstacle)

    def _is_interrupted(self, view: ReadView) -> bool:
        """Tell whether a run is left to be gone on with, though its passes may have done all they had to."""
        if view.leases.holder(DREAM_LEASE) is not None:
            return False
        mine = {place.name for place in self.order}
        return any(not run.passes or mine.intersection(run.passes) for run in dream_stores(view).runs.unfinished())

    async def _read_documents(self, scope: Scope) -> str | None:
        from dream.cycle.documents.delivery import Documents  # noqa: PLC0415 - most hosts have no workspace

        return await Documents(self.parts, scope).prepare()

    def _runs(self, place: PassSlot) -> bool:
        return self.options.is_on(place.name) and place.requires <= self.parts.capabilities

    async def _of_pass(self, scope: Scope, one: DreamPass | ModelPass, now: datetime) -> PassWork:
        asks = isinstance(one, ModelPass)
        try:
            work = await self._asked(scope, one, now)
        except InvalidDirectiveError:
            return PassWork(one.name, None, asks_model=asks)  # it can do nothing; the next run says why
        except Exception as error:  # noqa: BLE001 - what a pass cannot tell, its run will: there it is reported
            _log.warning("work_unknown", extra={"pass": one.name, "error": type(error).__name__})
            return PassWork(one.name, now, asks_model=asks, is_waiting=True)
        reads = declared(one).reads

        def look(view: ReadView) -> tuple[_Room, TurnWait | None]:
            return self._room(view, one.name), turn_wait(view, self.options, one.name, reads=reads, now=now)

        room, wait = await self.parts.storage.read(scope, look)
        if wait is not None and not room.waiting:
            return PassWork(one.name, wait.until, asks_model=asks, awaits=f"({wait})")
        is_there = room.for_any and bool(work.pending or room.for_waiting)
        at = now if is_there else work.at
        if (room.waiting and not room.for_waiting) or (work.pending and not is_there):
            at = min(at or now + _ROOM_AFTER, now + _ROOM_AFTER)
        items = work.pending + room.waiting if is_there else 0
        return PassWork(one.name, at, asks_model=asks and not room.for_waiting, is_waiting=is_there, items=items)

    def _room(self, view: ReadView, name: str) -> _Room:
        books = dream_stores(view)
        counts = [one for one in books.waiting.counts() if one.pass_name == name]
        waiting = sum(one.count for one in counts)
        # What waits for something else, such as a verification, is tried by the next dream.
        reasons = {one.reason for one in counts} & WAITS_FOR_ROOM
        if self.options.mode(name) is PassMode.PROPOSE:
            for_any = not is_full(view, self.options.review)
            return _Room(for_any, waiting, for_any and bool(reasons) and not awaits_review(view, name))
        for_waiting = any(has_room(view, self.options, name, reason) for reason in reasons)
        return _Room(for_any=True, waiting=waiting, for_waiting=for_waiting)

    async def _asked(self, scope: Scope, one: DreamPass | ModelPass, now: datetime) -> Work:
        contexts = ContextFactory(
            parts=self.parts,
            scope=scope,
            options=self.options,
            pass_name=one.name,
            # Passes remember what they worked out by the run's id: each question has its own.
            run_id=self.parts.ids.new(),
            as_of=now,
            reads=declared(one).reads,
        )
        if isinstance(one, ModelPass):
            return await one.has_work(await model_context(self.parts, self.options, contexts, one))
        context = await contexts.plain(0)
        if not (context.reopened and await self.parts.storage.read(scope, lambda view: self._holds(view, one.name))):
            return await one.has_work(context)
        work = await one.has_work(replace(context, reopened=frozenset()))
        return replace(work, at=min(work.at or now + _ROOM_AFTER, now + _ROOM_AFTER))

    def _holds(self, view: ReadView, name: str) -> bool:
        """Tell whether what a pass has to look at again waits for a person."""
        return self.options.mode(name) is PassMode.PROPOSE and awaits_review(view, name)


@dataclass(frozen=True, slots=True)
class PassesWork:
    """What the passes of a scope have to do.

    Args:
        work: Of each that has something to do, now or at a date.
        obstacle: Why documents must be left alone, with all passes that need them; None if they need not.
    """

    work: tuple[PassWork, ...]
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class _Room:
    """Room for what a pass would do.

    Args:
        for_any: For whatever it finds.
        waiting: How much waits that was paid for.
        for_waiting: For some of these.
    """

    for_any: bool
    waiting: int
    for_waiting: bool
