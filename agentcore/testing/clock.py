"""ManualClock: time that moves only when a test says so."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from threading import Lock

from agentcore.clock import SystemClock
from agentcore.errors import InvalidOptionsError


class ManualClock:
    """A `Clock` that stands still until it is moved; lives as long as the test.

    `now` may be called from any thread; everything else belongs to the event loop's thread.

    Moving the clock wakes the sleepers whose instant has come, in the order of their instants (of their calls
    where those are equal). They run when the test next waits, as in `await clock.sleep(timedelta())`, and see
    the clock's instant, not the one they were due at. The clock may be set back: sleepers keep the instant
    they are due at.

    Args:
        start: The first instant, aware; `now` gives it in UTC.

    Raises:
        InvalidOptionsError: an instant without a time zone, or a negative advance.

    Example:
        >>> clock = ManualClock(datetime(2025, 6, 14, tzinfo=UTC))
        >>> clock.advance(timedelta(hours=9))
        >>> clock.now().isoformat()
        '2025-06-14T09:00:00+00:00'
    """

    def __init__(self, start: datetime) -> None:
        self._lock = Lock()
        self._now = _in_utc("start", start)
        self._calls = 0
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []

    @property
    def sleepers(self) -> int:
        """How many tasks wait for the clock to move."""
        return sum(not future.done() for _, _, future in self._sleepers)

    def now(self) -> datetime:
        """Return the clock's instant in UTC."""
        with self._lock:
            return self._now

    def set(self, instant: datetime) -> None:
        """Move the clock to *instant*, forward or back."""
        moved = _in_utc("instant", instant)
        with self._lock:
            self._now = moved
        while self._sleepers and self._sleepers[0][0] <= moved:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def advance(self, duration: timedelta) -> None:
        """Move the clock forward by *duration*, in one leap."""
        if duration < timedelta():
            raise InvalidOptionsError(field="duration", value=duration, allowed="use set() to move the clock back")
        self.set(self.now() + duration)

    async def sleep(self, duration: timedelta) -> None:
        """Return once the clock stands at least *duration* further; zero or less yields to the loop once."""
        if duration <= timedelta():
            await SystemClock().sleep(timedelta())
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._calls += 1
        heapq.heappush(self._sleepers, (self.now() + duration, self._calls, future))
        await future


def _in_utc(field: str, instant: datetime) -> datetime:
    if instant.utcoffset() is None:
        raise InvalidOptionsError(field=field, value=instant, allowed="give it a time zone, such as tzinfo=UTC")
    return instant.astimezone(UTC)
