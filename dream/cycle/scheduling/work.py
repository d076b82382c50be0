"""What the passes of a scope have to do: asked when a dream is about to start, and by nobody before."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.stores.protocols import ReadView
from dream.cycle.contexts import Contexts
from dream.cycle.run_forecast import model_context
from dream.cycle.share_cap import ShareCap
from dream.domain.proposal import Work
from dream.errors import InvalidDirectiveError
from dream.options import DreamOptions
from dream.passes import DreamPass, ModelPass, Place
from dream.stores import bookkeeping
from dream.triggers import PassWork

_ROOM_AFTER = timedelta(hours=1)
"""When it is looked again whether a day's cap has room for what waits."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """Asks the enabled passes whether they have work; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        order: The passes.
    """

    parts: HostParts
    options: DreamOptions
    order: Sequence[Place]

    async def of(self, scope: Scope) -> tuple[PassWork, ...]:
        """Return what each enabled pass that can run has to do, now or at a date."""
        now = self.parts.clock.now()
        found = [await self._of_pass(scope, place.dream_pass, now) for place in self.order if self._runs(place)]
        return tuple(one for one in found if one.at is not None)

    def _runs(self, place: Place) -> bool:
        one = place.dream_pass
        return self.options.is_on(one.name) and one.requires <= self.parts.capabilities

    async def _of_pass(self, scope: Scope, one: DreamPass | ModelPass, now: datetime) -> PassWork:
        asks = isinstance(one, ModelPass)
        try:
            work = await self._asked(scope, one, now)
        except InvalidDirectiveError:
            return PassWork(one.name, None, asks_model=asks)  # it can do nothing; the next run says why
        except Exception as error:  # noqa: BLE001 - what a pass cannot tell, its run will: there it is reported
            _log.warning("work_unknown", extra={"pass": one.name, "error": type(error).__name__})
            return PassWork(one.name, now, asks_model=asks, is_waiting=True)
        waiting, has_room = await self.parts.storage.read(scope, lambda view: self._waiting(view, one.name))
        is_there = bool(work.pending or (waiting and has_room))
        at = now if is_there else work.at
        if waiting and not has_room:
            at = min(at or now + _ROOM_AFTER, now + _ROOM_AFTER)
        return PassWork(one.name, at, asks_model=asks and not (waiting and has_room), is_waiting=is_there)

    def _waiting(self, view: ReadView, name: str) -> tuple[bool, bool]:
        """Return whether changes wait that were paid for, and whether the share cap has room for any."""
        books = bookkeeping(view)
        if not books.deferred.count(name):
            return False, False
        return True, bool(ShareCap.as_it_stands(view, books, self.options.consolidation).room)

    async def _asked(self, scope: Scope, one: DreamPass | ModelPass, now: datetime) -> Work:
        contexts = Contexts(
            parts=self.parts,
            scope=scope,
            options=self.options,
            pass_name=one.name,
            # Passes remember what they worked out by the run's id: each question has its own.
            run_id=self.parts.ids.new(),
            as_of=now,
        )
        if isinstance(one, ModelPass):
            return await one.has_work(await model_context(self.parts, self.options, contexts, one))
        return await one.has_work(await contexts.plain(0))
