"""BusyGate: a person's turn goes first."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class BusyGate:
    """Tells background work whether a person is being served; lives as long as the host, on its event loop.

    Foreground work never waits here: it only announces itself, as often and as deeply nested as it likes.
    Background work asks `is_busy` at each step boundary, or awaits `wait_until_idle` there; what it has under way
    can be given up when `wait_until_busy` returns.

    People served by this host and people served elsewhere are told apart: a host tells others of its own alone, so
    that two never keep each other waiting.

    Example:
        >>> gate = BusyGate()
        >>> with gate.pending():
        ...     gate.is_busy, gate.is_serving
        (True, True)
        >>> with gate.foreign():
        ...     gate.is_busy, gate.is_serving
        (True, False)
        >>> gate.is_busy
        False
    """

    def __init__(self) -> None:
        self._all = _Holds()
        self._own = _Holds()

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a message waits for one, here or elsewhere."""
        return self._all.count > 0

    @property
    def is_serving(self) -> bool:
        """Whether a turn runs or a message waits for one in this host."""
        return self._own.count > 0

    @property
    def serving(self) -> int:
        """How many turns and waiting messages this host serves at this moment."""
        return self._own.count

    @property
    def served(self) -> int:
        """How many turns and messages this host has begun to serve; who remembers it sees whether any came since."""
        return self._own.begun

    @asynccontextmanager
    async def foreground(self) -> AsyncGenerator[None]:
        """Keep the gate busy during a person's turn; entering never waits."""
        with self.pending():
            yield

    @contextmanager
    def pending(self) -> Generator[None]:
        """Keep the gate busy while a message is received but its turn has not begun.

        Hold it until the turn is inside `foreground`, so that no dream slips in between.
        """
        with self._all.hold(), self._own.hold():
            yield

    @contextmanager
    def foreign(self) -> Generator[None]:
        """Keep the gate busy while a person is served elsewhere, who is not announced from here."""
        with self._all.hold():
            yield

    async def wait_until_idle(self) -> None:
        """Return when nobody is being served, at once if that is so now."""
        await self._all.wait_for_none()

    async def wait_until_busy(self) -> None:
        """Return when somebody is being served, here or elsewhere, at once if that is so now."""
        await self._all.wait_for_some()

    async def wait_until_serving(self) -> None:
        """Return when this host serves somebody, at once if that is so now."""
        await self._own.wait_for_some()


class _Holds:
    """How many hold the gate, and who waits for that to begin or end."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = 0
        self._some = asyncio.Event()
        self._none = asyncio.Event()
        self._none.set()

    @contextmanager
    def hold(self) -> Generator[None]:
        self.count += 1
        self.begun += 1
        if self.count == 1:
            self._none.clear()
            self._some.set()
        try:
            yield
        finally:
            self.count -= 1
            if not self.count:
                self._some.clear()
                self._none.set()

    async def wait_for_some(self) -> None:
        # It may have ended between the event and this task's wake-up; below, begun again.
        while not self.count:
            await self._some.wait()

    async def wait_for_none(self) -> None:
        while self.count:
            await self._none.wait()
