"""A storage that lets a test step in between two transactions, up to the death of the process."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, TypeVar

from dreaming import World

from agentcore.domain import Scope
from agentcore.stores import Origin, ReadView, Storage, UnitOfWork
from dream.domain import DREAM_LEASE
from dream.domain.storage_names import PAUSED_SETTING

T = TypeVar("T")
Step = Callable[[int], None]


class Killed(BaseException):
    """The process died here: nothing that it does afterwards has any effect."""


class WatchedStorage:
    """Hands every call on, and tells a test before and after each write, counted from 0."""

    def __init__(self, storage: Storage, *, before: Step | None = None, after: Step | None = None) -> None:
        self._storage = storage
        self._before = before
        self._after = after
        self.writes = 0
        self.is_dead = False

    async def start(self) -> None:
        await self._storage.start()

    async def stop(self) -> None:
        await self._storage.stop()

    async def read(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        if self.is_dead:
            raise Killed
        return await self._storage.read(scope, work)

    def read_here(self, scope: Scope, work: Callable[[ReadView], T]) -> T:
        if self.is_dead:
            raise Killed
        return self._storage.read_here(scope, work)

    def present(self, _: Scope) -> None:
        return None

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        number = self.writes  # others may begin before this one is done
        self.writes += 1
        self._step(self._before, number)
        result = await self._storage.write(scope, work, origin=origin)
        self._step(self._after, number)
        return result

    async def scopes(self) -> list[Scope]:
        return await self._storage.scopes()

    def snapshot(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._storage.snapshot(scope)

    def _step(self, told: Step | None, number: int) -> None:
        if self.is_dead:
            raise Killed
        if told is not None:
            told(number)


class PausedStorage(WatchedStorage):
    """Hands every call on, and has a person pause the dreams right after a write."""

    def __init__(self, storage: Storage, write: int) -> None:
        super().__init__(storage)
        self._pausing = write

    async def write(self, scope: Scope, work: Callable[[UnitOfWork], T], *, origin: Origin = Origin.HOST) -> T:
        number = self.writes
        result = await super().write(scope, work, origin=origin)
        if number == self._pausing:
            await self._storage.write(scope, lambda unit: unit.settings.put(PAUSED_SETTING, "true"))
        return result


def dying(world: World, write: int, *, committed: bool) -> World:
    """The world of a process that dies at a write: just before it is committed, or just after."""
    storage = WatchedStorage(world.storage)

    def die(number: int) -> None:
        if number == write:
            storage.is_dead = True
            raise Killed

    if committed:
        storage._after = die
    else:
        storage._before = die
    return replace(world, storage=storage)


async def count_writes(world: World, run: Callable[[World], Any]) -> int:
    """How many transactions *run* commits."""
    storage = WatchedStorage(world.storage)
    await run(replace(world, storage=storage))
    return storage.writes


async def bury(world: World) -> None:
    """Free the lease of a process that died; one that dies in earnest loses it with its process id."""
    await world.write(lambda unit: unit.leases.revoke(DREAM_LEASE))
