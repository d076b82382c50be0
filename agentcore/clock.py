"""Time as an argument: the one place of the project that reads the wall clock."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where instants come from; lives as long as the host.

    Doubles: `agentcore.testing.ManualClock`.
    """

    def now(self) -> datetime:
        """Return the current instant, aware and in UTC."""
        ...

    async def sleep(self, duration: timedelta) -> None:
        """Return after *duration*; a zero or negative one yields to the loop once."""
        ...


class SystemClock:
    """The machine's clock.

    Example:
        >>> SystemClock().now().tzinfo
        datetime.timezone.utc
    """

    def now(self) -> datetime:
        """Return the machine's current instant in UTC."""
        return datetime.now(UTC)

    async def sleep(self, duration: timedelta) -> None:
        """Wait on the event loop for *duration*."""
        await asyncio.sleep(max(0.0, duration.total_seconds()))
