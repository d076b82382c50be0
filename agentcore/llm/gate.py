"""BusyGate: a person's turn goes first."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager


class BusyGate:
    """Tells background work whether a person is being served; lives as long as the host, on its event loop.

    Foreground work never waits here: it only announces itself, as often and as deeply nested as it likes.
    Background work asks `is_busy` at each step boundary, or awaits `wait_until_idle` there. It sees the work
    of its own process; whoever learns of foreign work holds `pending` as long as that lasts.

    Example:
        >>> gate = BusyGate()
        >>> with gate.pending():
        ...     gate.is_busy
        True
        >>> gate.is_busy
        False
    """

    def __init__(self) -> None:
        self._holds = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a message waits for one."""
        return self._holds > 0

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
        self._holds += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._holds -= 1
            if not self._holds:
                self._idle.set()

    async def wait_until_idle(self) -> None:
        """Return when nobody is being served, at once if that is so now."""
        # A new turn may begin between the event and this task's wake-up.
        while self.is_busy:
            await self._idle.wait()
