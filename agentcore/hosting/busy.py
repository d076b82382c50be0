"""Learns of people served in other processes or by other means, and announces those served here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from copy import copy
from datetime import timedelta
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, TypeAlias

from agentcore.domain.busy_reach import BusyReach
from agentcore.domain.scope import Scope
from agentcore.errors import StorageError
from agentcore.hosting.lifecycle import BackgroundService, Lifecycle, WorkerFailure

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from agentcore.clock import Clock
    from agentcore.llm.gate import BusyGate
    from agentcore.stores.storage import ReadView, Storage, UnitOfWork

BusySource: TypeAlias = Callable[[], bool] | Callable[[], Awaitable[bool]]
"""Tells whether a person is served where the host does not see it."""

ROWS_EVERY = timedelta(milliseconds=500)
"""How often the announcements of other hosts are read: a dream has to know within a second."""
SOURCES_EVERY = timedelta(seconds=5)
"""How often a host's own sources are asked."""
PATIENCE_SECONDS = 5.0
"""How long one may take to answer."""

_ANYWHERE = Scope.default()
_log = logging.getLogger(__name__)


class BusyWatch:
    """Watches for people served by other hosts on the same storage, and by whatever a host names; lives as it does.

    It looks for anybody; what `of` returns looks for those alone who hold back the dreams of a scope.

    Args:
        storage: Where others announce themselves; the real one, also when a dream works on a copy.
        clock: What it waits by.
        gate: Held as foreign while somebody is served elsewhere.
        holder: The name under which this host announces itself.
        sources: Further ones to ask. One that fails, or takes longer than five seconds, counts as not busy and is
            reported once until it answers again.

    Example:
        >>> import asyncio
        >>> from agentcore.clock import SystemClock
        >>> from agentcore.llm import BusyGate
        >>> from agentcore.stores.sql.sql_storage import SqlStorage
        >>> async def main() -> None:
        ...     gate, clock = BusyGate(), SystemClock()
        ...     storage = SqlStorage(None, clock=clock)
        ...     await storage.start()
        ...     watch = BusyWatch(storage=storage, clock=clock, gate=gate, holder="me", sources=[lambda: True])
        ...     async with watch.watching():
        ...         print(gate.is_busy)
        ...     print(gate.is_busy)
        ...     await storage.stop()
        >>> asyncio.run(main())
        True
        False
    """

    def __init__(
        self, *, storage: Storage, clock: Clock, gate: BusyGate, holder: str, sources: Sequence[BusySource] = ()
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._gate = gate
        self._holder = holder
        self._sources = tuple(sources)
        self._asked = tuple(_SourceQuery(source, _name_of(source)) for source in sources)
        self._scope: Scope | None = None
        self._reach = BusyReach.ALL

    def of(self, scope: Scope, reach: BusyReach = BusyReach.SCOPE) -> BusyWatch:
        """Return the same watch for those who hold back the dreams of *scope*; the host's own sources hold back all."""
        bound = copy(self)
        bound._scope, bound._reach = scope, reach  # noqa: SLF001 - a copy of its own
        return bound

    @property
    def is_busy(self) -> bool:
        """Whether somebody is served, as far as the gate knows by now."""
        return self._gate.is_busy if self._scope is None else self._gate.is_busy_for(self._scope, self._reach)

    async def wait_until_busy(self) -> None:
        """Return when the gate knows that somebody is served, at once if that is so now."""
        await self._gate.wait_until_busy(self._scope, self._reach)

    @asynccontextmanager
    async def watching(self) -> AsyncGenerator[None]:
        """Hold the gate while somebody is served elsewhere; everything has been looked at once when it is entered."""
        rows = self._looking("busy-rows", self._anyone_announced, every=ROWS_EVERY)
        async with Lifecycle([rows, *(self._asking(source) for source in self._sources)]):
            yield

    async def sees_anyone(self) -> bool:
        """Tell whether somebody is served, here or elsewhere, asking everybody once.

        Raises:
            StorageError: the announcements could not be read.
        """
        if self.is_busy or await self._anyone_announced():
            return True
        answers = await asyncio.gather(*(asked() for asked in self._asked))
        return any(answers) or self.is_busy

    async def wait_until_idle(self) -> None:
        """Return when nobody is served, here or elsewhere, by announcements read at this moment.

        Raises:
            StorageError: they could not be read.
        """
        while True:
            await self._gate.wait_until_idle(self._scope, self._reach)
            if await self._anyone_announced():
                await self._clock.sleep(ROWS_EVERY)
            elif not self.is_busy:  # a turn may have begun while they were read
                return

    def _asking(self, source: BusySource) -> _BusyLook:
        name = _name_of(source)
        return self._looking(name, _SourceQuery(source, name), every=SOURCES_EVERY)

    def _looking(self, name: str, look: Callable[[], Awaitable[bool]], *, every: timedelta) -> _BusyLook:
        hold = partial(self._gate.foreign, self._scope)
        return _BusyLook(name, look, clock=self._clock, hold=hold, every=every)

    async def _anyone_announced(self) -> bool:
        def look(view: ReadView) -> bool:
            return bool(view.busy.holders(besides=self._holder, reach=self._reach))

        return await self._storage.read(self._scope or _ANYWHERE, look)


class _BusyLook(BackgroundService):
    """Looks in one place again and again, and holds the gate while somebody is served there."""

    def __init__(
        self,
        name: str,
        look: Callable[[], Awaitable[bool]],
        *,
        clock: Clock,
        hold: Callable[[], AbstractContextManager[None]],
        every: timedelta,
    ) -> None:
        super().__init__(name=name, on_failure=WorkerFailure.KEEP_RUNNING)
        self._look = look
        self._clock = clock
        self._hold_gate = hold
        self._every = every
        self._hold = ExitStack()
        self._is_held = False
        self._fails = False

    async def start(self) -> None:
        """Look once, then go on by and by."""
        await self._look_once()
        await super().start()

    async def stop(self) -> None:
        """Look no more; the gate is let go, whatever was seen."""
        try:
            await super().stop()
        finally:
            self._tell(busy=False)

    async def run(self) -> None:
        """Look until stopped."""
        while True:
            await self._clock.sleep(self._every)
            await self._look_once()

    async def _look_once(self) -> None:
        try:
            busy = await self._look()
        except StorageError as error:
            # What was seen last stands: a dream can do nothing now in any case.
            if not self._fails:
                _log.warning("busy_unknown", extra={"service": self.name, "error": type(error).__name__})
            self._fails = True
        else:
            self._fails = False
            self._tell(busy=busy)

    def _tell(self, *, busy: bool) -> None:
        if busy and not self._is_held:
            self._hold.enter_context(self._hold_gate())
        elif not busy:
            self._hold.close()
        self._is_held = busy


class _SourceQuery:
    """Asks one source, whatever it does; lives as long as a run, or as the host for looks between runs.

    A coroutine function is asked on the event loop, any other on a thread, because it may block.
    """

    def __init__(self, source: BusySource, name: str) -> None:
        self._source = source
        self._name = name
        self._is_answering = False
        self._fails = False

    async def __call__(self) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                busy = await self._answer()
        except Exception as error:  # noqa: BLE001 - a host's function may raise anything, and must not end a run
            if not self._fails:
                _log.warning("busy_source_failed", extra={"source": self._name, "error": type(error).__name__})
            self._fails = True
            return False
        self._fails = False
        return busy

    async def _answer(self) -> bool:
        if iscoroutinefunction(self._source):
            return bool(await self._source())
        if self._is_answering:
            raise TimeoutError  # its last call hangs in a thread; a second one would hang beside it
        answer = await asyncio.to_thread(self._call)
        return bool(await answer if isawaitable(answer) else answer)

    def _call(self) -> bool | Awaitable[bool]:
        self._is_answering = True
        try:
            return self._source()
        finally:
            self._is_answering = False


def _name_of(source: BusySource) -> str:
    return f"busy-source {getattr(source, '__qualname__', type(source).__name__)}"


DURATION = timedelta(seconds=30)
"""How long an announcement counts where nobody can see whether its process lives."""
RENEWAL = timedelta(seconds=10)
"""How often it is made again while people of a scope are served: two may fail."""
LOOK = timedelta(milliseconds=200)
"""How often a busy gate is looked at. An announcement outlives the last turn by one to two looks, so that a storm of
short turns costs at most five writes per second, and mostly one in ten seconds, however many scopes they are of."""


class BusyAnnouncer(BackgroundService):
    """Announces in the storage that people are served, and withdraws that; lives as long as the host.

    A turn never waits for it: it watches the gate. An idle host writes nothing. What the database refuses is tried
    again at the next look, and reported once until it succeeds.

    Args:
        storage: Where others look.
        clock: What it waits by.
        gate: Tells whether people are served.
        holder: Under which name; no other host on that storage has the same.
    """

    def __init__(self, *, storage: Storage, clock: Clock, gate: BusyGate, holder: str) -> None:
        super().__init__(name="busy-announcer", on_failure=WorkerFailure.KEEP_RUNNING)
        self._storage = storage
        self._clock = clock
        self._gate = gate
        self._holder = holder
        self._announced: dict[Scope | None, datetime | None] = {}
        self._fails = False

    async def run(self) -> None:
        """Announce whenever people are served, as long as they are."""
        try:
            while True:
                await self._gate.wait_until_serving()
                while await self._stands(self._gate.take_served()):
                    await self._clock.sleep(LOOK)
        finally:
            await self._stands(frozenset())

    async def _stands(self, served: frozenset[Scope | None]) -> bool:
        """Announce who is served and withdraw who no longer is; tell whether there is anything left to withdraw."""
        now = self._clock.now()
        wanting = {scope for scope in served if not self._is_fresh(scope, now)}
        over = self._announced.keys() - served
        if wanting or over:
            # Also when the write is cancelled or fails: nobody knows how far it came.
            self._announced |= dict.fromkeys(wanting)

            def tell(unit: UnitOfWork) -> None:
                if wanting:
                    unit.busy.announce(self._holder, duration=DURATION, scopes=wanting)
                if over:
                    unit.busy.withdraw(self._holder, scopes=over)

            try:
                await self._storage.write(None, tell)
            except StorageError as error:
                self._complain(error)
            else:
                self._announced |= dict.fromkeys(wanting, now)
                for scope in over:
                    del self._announced[scope]
                self._fails = False
        return bool(self._announced)

    def _is_fresh(self, scope: Scope | None, now: datetime) -> bool:
        announced_at = self._announced.get(scope)
        # A clock that was set back must not put the renewal off.
        return announced_at is not None and timedelta() <= now - announced_at < RENEWAL

    def _complain(self, error: StorageError) -> None:
        if not self._fails:
            self._fails = True
            _log.warning("busy_not_announced", extra={"error": type(error).__name__})
