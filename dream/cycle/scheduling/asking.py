"""What people ask of the schedule: a dream soon, how it stands, and why it has not dreamed."""

from dataclasses import replace

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.stores.storage import UnitOfWork
from dream.cycle.boundary import scope_boundary
from dream.cycle.scheduling.booking import ManualBooking, refuse_switched_off
from dream.cycle.scheduling.planning import Planner, surroundings
from dream.cycle.scheduling.standing import Standing, read_standing
from dream.cycle.scheduling.work import Backlog
from dream.domain.reasons import Deferral
from dream.domain.request import Request
from dream.errors import NotAdmittedError
from dream.options import DreamOptions
from dream.passes import Place
from dream.stores import dream_stores
from dream.triggers import Reason
from dream.triggers.transitions import requested


class Desk:
    """Takes requests and gives answers about the schedule of any scope; lives as long as the host.

    Args:
        parts: What the host offers.
        options: The host's options.
        order: The passes of a run.
    """

    def __init__(self, parts: HostParts, options: DreamOptions, order: tuple[Place, ...]) -> None:
        self._parts = parts
        self._options = options
        self._backlog = Backlog(parts=parts, options=options, order=order)
        self.planner = Planner(options, parts.ids, parts.capabilities)

    def booking(self, *, is_whole: bool) -> ManualBooking:
        """Return the place in the schedule of a run that a person starts now."""
        return ManualBooking(planner=self.planner, lease=self._options.lease, trigger=Reason.MANUAL, is_whole=is_whole)

    async def request(self, scope: Scope) -> Request:
        """Ask for a dream, to be begun by whichever host watches the scope."""

        def ask(unit: UnitOfWork) -> Request:
            schedules = dream_stores(unit).schedules
            found = schedules.mine(self.planner.terms)
            state = found.state
            if state.requested_at is not None:
                return Request(scope=scope, requested_at=state.requested_at, reason=Deferral.ALREADY_PENDING)
            if state.lease_until is not None:
                return Request(scope=scope, requested_at=None, reason=Deferral.LEASE_HELD)
            try:
                refuse_switched_off(found)
            except NotAdmittedError as error:
                return Request(scope=scope, requested_at=None, reason=error.reason)
            # Due from now on: a service that goes from one timed dream to the next sees it without planning anew.
            asked = replace(found, state=requested(state, unit.now), due_at=unit.now, reason=Reason.MANUAL)
            schedules.save([asked], options_hash=state.options_hash)
            unit.activity.notify()
            return Request(scope=scope, requested_at=unit.now, reason=None)

        return await self._parts.storage.write(scope, ask)

    async def explained(self, scope: Scope) -> Standing:
        """Return how the next dream stands, after asking each pass what it has to do.

        Raises:
            StorageError: the database failed.
            DreamBrokenOffError: the passes could not be asked.
        """
        with scope_boundary(scope):
            around, found = await surroundings(self._parts, self._options, scope), await self._backlog.of(scope)
            return await self._parts.storage.read(scope, lambda view: read_standing(view, self.planner, around, found))
