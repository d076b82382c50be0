"""Lets a person's turn go before background work, and bounds how many calls are in flight at once."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope


class BusyGate:
    """Tells background work whether a person is being served; lives as long as the host, on its event loop.

    Foreground work never waits here: it only announces itself, as often and as deeply nested as it likes.
    Background work asks `is_busy_for` at each step boundary, or awaits `wait_until_idle` there; what it has under way
    can be given up when `wait_until_busy` returns.

    A turn says of which scope it is, and holds back the dreams of that scope; one that does not say holds back all.
    People served by this host and people served elsewhere are told apart: a host tells others of its own alone, so
    that two never keep each other waiting.

    Example:
        >>> gate, ana, ben = BusyGate(), Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")
        >>> with gate.pending(ana):
        ...     gate.is_busy, gate.is_serving, gate.is_busy_for(ana), gate.is_busy_for(ben)
        (True, True, True, False)
        >>> with gate.foreign():
        ...     gate.is_busy, gate.is_serving, gate.is_busy_for(ben)
        (True, False, True)
        >>> gate.is_busy
        False
    """

    def __init__(self) -> None:
        self._all = _Holds()
        self._own = _Holds()

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a message waits for one, here or elsewhere, of whatever scope."""
        return bool(self._all.held)

    @property
    def is_serving(self) -> bool:
        """Whether a turn runs or a message waits for one in this host."""
        return bool(self._own.held)

    def is_busy_for(self, scope: Scope, reach: BusyReach = BusyReach.SCOPE) -> bool:
        """Tell whether somebody is served, here or elsewhere, who holds back the dreams of *scope*."""
        return self._all.count(scope, reach) > 0

    def serving(self, scope: Scope) -> int:
        """Return how many turns and waiting messages of a scope, or of nobody knows which, this host serves now."""
        return self._own.count(scope, BusyReach.SCOPE)

    def take_served(self) -> frozenset[Scope | None]:
        """Return the scopes served in this host now or since this was last asked; for one who asks."""
        taken, self._own.moved = self._own.moved, set()
        return frozenset(taken | self._own.held.keys())

    @asynccontextmanager
    async def foreground(self, scope: Scope | None = None) -> AsyncGenerator[None]:
        """Keep the gate busy during a person's turn; entering never waits.

        Args:
            scope: Whose turn it is; None holds back the dreams of all scopes.
        """
        with self.pending(scope):
            yield

    @contextmanager
    def pending(self, scope: Scope | None = None) -> Generator[None]:
        """Keep the gate busy while a message is received but its turn has not begun.

        Hold it until the turn is inside `foreground`, so that no dream slips in between.

        Args:
            scope: Whose message it is; None holds back the dreams of all scopes.
        """
        with self._all.hold(scope), self._own.hold(scope):
            yield

    @contextmanager
    def foreign(self, scope: Scope | None = None) -> Generator[None]:
        """Keep the gate busy while a person is served elsewhere, who is not announced from here.

        Args:
            scope: Whose dreams that holds back; None for those of all scopes.
        """
        with self._all.hold(scope):
            yield

    async def wait_until_idle(self, scope: Scope | None = None, reach: BusyReach = BusyReach.SCOPE) -> None:
        """Return when nobody is being served who holds back *scope* (None: nobody at all), at once if that is so."""
        await self._all.wait(lambda: not self._all.count(scope, reach))

    async def wait_until_busy(self, scope: Scope | None = None, reach: BusyReach = BusyReach.SCOPE) -> None:
        """Return when somebody is being served, here or elsewhere, who holds back *scope* (None: anybody)."""
        await self._all.wait(lambda: self._all.count(scope, reach) > 0)

    async def wait_until_serving(self) -> None:
        """Return when this host serves somebody, at once if that is so now."""
        await self._own.wait(lambda: bool(self._own.held))


class _Holds:
    """How often each scope holds the gate, and who waits for that to begin or end."""

    def __init__(self) -> None:
        self.held = Counter[Scope | None]()
        self.moved = set[Scope | None]()
        self._turned = asyncio.Event()

    def count(self, scope: Scope | None, reach: BusyReach) -> int:
        if scope is None:
            return self.held.total()
        if reach is BusyReach.SCOPE:
            return self.held[None] + self.held[scope]
        return sum(times for served, times in self.held.items() if reach.holds_back(served, scope))

    @contextmanager
    def hold(self, scope: Scope | None) -> Generator[None]:
        self.held[scope] += 1
        self.moved.add(scope)
        if self.held[scope] == 1:
            self._tell()
        try:
            yield
        finally:
            self.moved.add(scope)
            self.held[scope] -= 1
            if not self.held[scope]:
                del self.held[scope]
                self._tell()

    async def wait(self, reached: Callable[[], bool]) -> None:
        # What was told may have turned again before this task wakes.
        while not reached():
            await self._turned.wait()

    def _tell(self) -> None:
        turned, self._turned = self._turned, asyncio.Event()
        turned.set()


class CallSlots:
    """Bounds the calls in flight of all scopes together; lives as long as the host, on its event loop.

    No scope takes all of them where several may dream at once: a slot is kept free for each of the others that has no
    call in flight, up to half of all slots. So a model that hangs on one scope leaves the others theirs.

    Args:
        bound: Calls at once; None for no bound.

    Example:
        >>> async def main() -> None:
        ...     slots = CallSlots(1)
        ...     async with slots.one(Scope.default()):
        ...         print(slots.in_flight)
        >>> asyncio.run(main())
        1
    """

    def __init__(self, bound: int | None = None) -> None:
        self._bound = bound
        self._scopes = 1
        self._held: Counter[Scope] = Counter()
        self._freed = asyncio.Event()

    @property
    def in_flight(self) -> int:
        """How many slots are taken now."""
        return self._held.total()

    def share_among(self, scopes: int) -> None:
        """Expect calls of so many scopes at once; one alone may have all the slots."""
        self._scopes = scopes

    @asynccontextmanager
    async def one(self, scope: Scope) -> AsyncGenerator[None]:
        """Hold a slot for the length of the block; waits until one is free for *scope*."""
        while not self._is_free_for(scope):
            await self._freed.wait()
        self._held[scope] += 1
        try:
            yield
        finally:
            self._held[scope] -= 1
            if not self._held[scope]:
                del self._held[scope]
            freed, self._freed = self._freed, asyncio.Event()
            freed.set()

    def _is_free_for(self, scope: Scope) -> bool:
        if self._bound is None:
            return True
        free = self._bound - self.in_flight
        if not self._held[scope]:
            return free > 0
        return free > min(max(0, self._scopes - len(self._held)), self._bound // 2)
