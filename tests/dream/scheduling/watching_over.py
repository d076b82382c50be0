"""A service to be watched: one storage, a clock that a test moves, and a service that tells when it rests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from dreaming import NOW, World

from agentcore.domain import Scope, Turn
from agentcore.recall import Recall
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from dream.cycle import DreamListeners, Dreams, DreamService, HostDreams, Planner
from dream.cycle.scheduling.scope_runners import ScopeRunners
from dream.domain import RunKind, RunReport
from dream.options import DreamOptions, SchedulingOptions
from dream.options.levels import OptionLevels, ScopeLevel
from dream.passes import ORDER, PassSlot

ANA = Scope("acme", "agent", "ana")
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class WatchedService(DreamService):
    """A service that tells when it rests."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self.resting = asyncio.Event()
        self.looks: list[datetime] = []
        self.next_at: datetime | None = None

    async def _wait(self, until: datetime | None) -> bool:
        self.looks.append(self._parts.clock.now())
        self.next_at = until
        if not self._admission.under_way:
            self.resting.set()
        try:
            return await super()._wait(until)
        finally:
            self.resting.clear()


class WatchedClock(ManualClock):
    """A clock that tells when the service of dreams has done all there is to do and sleeps."""

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self.resting = asyncio.Event()

    async def sleep(self, duration: timedelta) -> None:
        task = asyncio.current_task()
        dreams = any(one.get_name().startswith("dream-") for one in asyncio.all_tasks())
        if task is not None and task.get_name() == "dreams-due" and not dreams:
            self.resting.set()
        await super().sleep(duration)

    async def go_on(self, duration: timedelta) -> None:
        """Let at least a minute pass, in one leap."""
        await asyncio.wait_for(self.resting.wait(), 10)
        self.resting.clear()
        self.advance(duration)
        await asyncio.wait_for(self.resting.wait(), 10)


@dataclass
class Stage:
    """A world in which dreams start by themselves."""

    world: World
    order: Sequence[PassSlot] = ORDER
    reports: list[RunReport] = field(default_factory=list[RunReport])
    service: WatchedService | None = None
    levels: Sequence[ScopeLevel] = ()

    @property
    def clock(self) -> ManualClock:
        return self.world.clock

    @property
    def dreams(self) -> Dreams:
        parts, options = self.world.parts, self.world.options
        levels = OptionLevels(options, levels=self.levels)
        shared = HostDreams(DreamListeners(parts, levels), levels, self.service)
        return Dreams(parts, levels.of(self.world.scope), self.world.scope, shared)

    @asynccontextmanager
    async def watched(self, **options: Any) -> AsyncIterator["Stage"]:
        """The same, with a service that runs; with other options of scheduling, if any are given."""
        told = self.world.options.replace(schedule=SchedulingOptions(**options)) if options else self.world.options
        world = replace(self.world, options=told)
        parts = world.parts
        levels = OptionLevels(told, levels=self.levels)
        watch = DreamListeners(parts, levels)
        runners, planner = ScopeRunners(parts, levels, self.order), Planner(levels, world.ids, parts.capabilities)
        service = WatchedService.of_host(parts=parts, runners=runners, planner=planner, watch=watch)
        stage = Stage(world, self.order, self.reports, service, self.levels)
        watch.reports.add(self.reports.append)
        await service.start()
        try:
            await stage.rest()
            yield stage
        finally:
            await service.stop()

    async def rest(self) -> None:
        """Wait until the service has done all there is to do at this instant."""
        assert self.service is not None
        waiting = asyncio.ensure_future(self.service.resting.wait())
        await asyncio.wait([waiting], timeout=10)
        assert waiting.done(), self.service.failure or "the service never comes to rest"

    async def go_on(self, duration: timedelta, *, by: timedelta = MINUTE) -> None:
        """Let time pass, in steps of at most a minute, as the service sleeps."""
        end = self.clock.now() + duration
        while self.clock.now() < end:
            await self.to(min(end, self.clock.now() + by))

    async def to(self, instant: datetime) -> None:
        """Let the clock leap to an instant."""
        assert self.service is not None
        self.service.resting.clear()
        wakes = self.clock.sleepers
        self.clock.set(instant)
        if self.clock.sleepers == wakes:
            self.service.resting.set()  # it sleeps on
        await self.rest()

    async def woken(self) -> None:
        """Wait until the service has done what it was woken for."""
        assert self.service is not None
        self.service.resting.clear()
        self.service.wake()
        await self.rest()

    async def say(
        self, text: str = "I moved to Lisbon.", *, session_id: str = "s1", scope: Scope | None = None
    ) -> None:
        """Log a turn."""
        now, where = self.clock.now(), scope or self.world.scope
        turn = Turn(id=self.world.ids.new(), scope=where, session_id=session_id, role="user", content=text,
                    occurred_at=now, recorded_at=now)  # fmt: skip
        await self.world.storage.write(where, lambda unit: unit.turns.add([turn]))

    async def learn(self, *texts: str, scope: Scope | None = None) -> None:
        """Store memories."""
        for text in texts:
            await replace(self.world, scope=scope or self.world.scope).memory.remember(text)

    def ran(self) -> list[str]:
        """What started each run, and how many minutes after the beginning."""
        return [
            f"{run.trigger} {int((run.started_at - NOW) / MINUTE)}" for run in self.reports if run.kind is RunKind.DREAM
        ]


@asynccontextmanager
async def a_stage(**options: Any) -> AsyncIterator[Stage]:
    """A stage on a storage of its own."""
    clock = ManualClock(NOW)
    storage = SqlStorage(None, clock=clock)
    await storage.start()
    recall = Recall(storage)
    await recall.start()
    yield Stage(World(storage, recall, clock, scope=ANA, options=DreamOptions(**options)))
    await recall.stop()
    await storage.stop()
