"""Chooses which due scopes dream now in the one process that watches them."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from dream.cycle.scheduling.queue import Offer
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentcore.domain.scope import Scope
    from agentcore.hosting.services import HostServices
    from agentcore.stores.storage import ReadView
    from dream.cycle.scheduling.due_times import DueTimes
    from dream.cycle.scheduling.queue import DreamQueue

SHORTEST_WAIT: Final = timedelta(seconds=1)
"""Between two looks when something is still due after the first, so that nothing can turn them into a storm."""
_DUE_AT_ONCE = 100


class OfferAdmission(Protocol):
    """Decides which of the scopes that are due are offered now."""

    tick: timedelta | None
    """How often it looks, whatever is known to be due; None for as seldom as possible."""

    @property
    def under_way(self) -> int:
        """How many offers that were made here are not handled yet."""
        ...

    def begin_round(self) -> None:
        """Hear that everything is planned anew."""
        ...

    async def admit(self) -> datetime | None:
        """Offer what may dream now; return when the next scope is due, None if nothing is known."""
        ...

    def begun(self, offer: Offer) -> None:
        """Hear that an offer is being handled here."""
        ...

    def ended(self, offer: Offer) -> None:
        """Hear that an offer was handled here."""
        ...


class HostAdmission:
    """Gives a host's places to what is due; lives as long as the host.

    Dreams that people asked for come first, then interrupted ones, then timed ones; of each kind the workspace with the
    fewest under way, so that no tenant has to wait for all that another has due. What is due beyond the places waits
    until a dream ends.

    Args:
        parts: What the host offers.
        due_times: Plan what waits for a place.
        queue: Takes what is chosen.
        places: Dreams at once.
    """

    tick: timedelta | None = None

    def __init__(self, parts: HostServices, due_times: DueTimes, queue: DreamQueue, *, places: int) -> None:
        self._parts = parts
        self._due_times = due_times
        self._queue = queue
        self._places = places
        self._under_way: dict[int, Scope] = {}
        self._attended: dict[int, datetime] = {}
        self._armed: set[int] = set()
        self._turns: dict[str, int] = {}

    @property
    def under_way(self) -> int:
        """How many places are taken."""
        return len(self._under_way)

    def begin_round(self) -> None:
        """Look at every scope again, also at those that stayed due when they were attended."""
        self._attended.clear()

    async def admit(self) -> datetime | None:
        """Offer what is due as long as there are places; return when the next scope is due."""
        now, most = self._parts.clock.now(), self._places

        def look(view: ReadView) -> tuple[list[dict[int, Scope]], datetime | None, int]:
            fleet = dream_stores(view).fleet
            return fleet.due(now, limit=_DUE_AT_ONCE), fleet.next_due(now), fleet.count(limit=most)

        kinds, next_at, scopes = await self._parts.storage.read(None, look)
        self._parts.slots.share_among(min(most, scopes))
        left = [key for kind in kinds for key in kind if key in self._under_way]
        for kind in kinds:
            waiting = {key: scope for key, scope in kind.items() if not self._was_attended(key, now)}
            while waiting and len(self._under_way) < most:
                key = self._next_of(waiting)
                await self._begin(key, waiting.pop(key), now)
            left += waiting
        await self._arm(left)
        is_again = any(key not in self._under_way and key not in left for kind in kinds for key in kind)
        return now if is_again else next_at

    def begun(self, offer: Offer) -> None:
        """Do nothing: a dream has its place since it was offered."""

    def ended(self, offer: Offer) -> None:
        """Free the place of a dream."""
        del self._under_way[offer.key]

    def _was_attended(self, key: int, now: datetime) -> bool:
        """Tell whether a scope is attended, or was a moment ago: what stays due even so must not become a storm."""
        at = self._attended.get(key)
        return key in self._under_way or (at is not None and at <= now < at + SHORTEST_WAIT)

    def _next_of(self, waiting: Mapping[int, Scope]) -> int:
        """Return the first of the workspace with the fewest under way, of several the one whose turn is longest ago."""
        under_way = Counter(scope.workspace for scope in self._under_way.values())
        of = {key: scope.workspace for key, scope in waiting.items()}
        return min(waiting, key=lambda key: (under_way[of[key]], self._turns.get(of[key], 0)))

    async def _begin(self, key: int, scope: Scope, now: datetime) -> None:
        self._attended[key], self._under_way[key] = now, scope
        self._turns[scope.workspace] = max(self._turns.values(), default=0) + 1
        await self._queue.offer([Offer(key=key, scope=scope)])

    async def _arm(self, left: Sequence[int]) -> None:
        """Plan scopes that wait for a place, once, so that their windows do not count as missed.

        So are those that dream when their lease would have run out: they are looked at when the renewed one would.
        """
        self._armed.intersection_update(left)
        news = [key for key in left if key not in self._armed]
        await self._due_times.plan_these(news)
        self._armed.update(key for key in news if key not in self._under_way)
        if not left:
            self._turns.clear()
