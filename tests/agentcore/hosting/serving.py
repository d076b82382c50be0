"""A storage whose announcements a test can see, refuse and slow down, and patience for what happens on its threads."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from agentcore.clock import Clock
from agentcore.errors import StorageUnavailableError
from agentcore.stores import BusyHolder
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from agentcore.testing.contracts.samples import SCOPE

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


class BusyStorage(SqlStorage):
    """In memory; counts what is asked of it."""

    at_work: ClassVar[int] = 0
    """Units of work under way on threads, of all storages."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(None, clock=clock)
        self.reads = 0
        self.answers = 0
        self.writes = 0
        self.is_broken = False
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def read(self, scope: Any, work: Any) -> Any:
        self.reads += 1
        await self.may_read.wait()
        self._refuse()
        with self._working():
            answer = await super().read(scope, work)
        self.answers += 1
        return answer

    async def write(self, scope: Any, work: Any, **told: Any) -> Any:
        self.writes += 1
        await self.may_write.wait()
        self._refuse()
        with self._working():
            return await super().write(scope, work, **told)

    async def holders(self) -> list[BusyHolder]:
        return await super().read(SCOPE, lambda view: view.busy.holders())

    async def announce(self, holder: str, duration: timedelta = MINUTE) -> None:
        await super().write(SCOPE, lambda unit: unit.busy.announce(holder, duration=duration))

    async def withdraw(self, holder: str) -> None:
        await super().write(SCOPE, lambda unit: unit.busy.withdraw(holder))

    @contextmanager
    def _working(self) -> Iterator[None]:
        BusyStorage.at_work += 1
        try:
            yield
        finally:
            BusyStorage.at_work -= 1

    def _refuse(self) -> None:
        if self.is_broken:
            raise StorageUnavailableError(path="here", problem="is broken", remedy="mend it")


async def until(reached: Callable[[], bool]) -> None:
    """Let everything go on until it has come to that."""
    for _ in range(2_000):
        if reached():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came to that")


async def pass_time(clock: ManualClock, duration: timedelta, step: timedelta = timedelta(milliseconds=100)) -> None:
    """Move the clock in steps; whoever sleeps by it has done its work before the next one."""
    end = clock.now() + duration
    await settle()
    while clock.now() < end:
        clock.advance(min(step, end - clock.now()))
        await settle()


async def settle() -> None:
    """Let everything go on that is not held up, however long the threads take."""
    for _ in range(4):
        await asyncio.sleep(0.0005)
        await until(lambda: not BusyStorage.at_work)
