from datetime import UTC, datetime, timedelta

from agentcore.testing import ManualClock

START = datetime(2025, 6, 14, 9, 0, tzinfo=UTC)


class LeapingClock(ManualClock):
    """Leaps to the end of each sleep and writes down how long it was."""

    def __init__(self) -> None:
        super().__init__(START)
        self.slept: list[timedelta] = []

    async def sleep(self, duration: timedelta) -> None:
        self.slept.append(duration)
        self.advance(duration)
        await super().sleep(timedelta())
