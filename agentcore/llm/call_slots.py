"""Bounds how many calls of a model are in flight at once, over all the background work of a host."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentcore.domain.scope import Scope


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
