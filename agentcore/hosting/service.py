"""Defines what a host starts and stops, and the one owner of background tasks."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from agentcore.hosting.errors import NotRestartableError, ServiceFailedError

_log = logging.getLogger(__name__)


class HostedService(Protocol):
    """Something that lives as long as the host: started in order, stopped in reverse, never restarted."""

    async def start(self) -> None:
        """Make the service usable; one that raises, or is cancelled here, has cleaned up after itself.

        `stop` is not called on a service whose start failed.
        """
        ...

    async def stop(self) -> None:
        """Finish and release everything; called once, and cancelled when the host's budget is spent.

        With no budget left it still runs up to its first wait.
        """
        ...


class WorkerFailure(StrEnum):
    """What the host does when a worker dies with an error."""

    STOP_HOST = "stop_host"
    KEEP_RUNNING = "keep_running"


class BackgroundService(ABC):
    """A hosted service with one long-running task; the task lives from `start` to `stop`.

    A `run` that returns has finished its work: that is no failure. A `run` that raises, or is cancelled by
    anyone but `stop`, is dead: the error is kept in `failure` and logged, and `on_failure` decides the rest.

    Args:
        name: The task's name, and the service's in errors and logs.
        on_failure: `STOP_HOST` asks the host to stop, and `stop` raises the error. `KEEP_RUNNING` leaves the
            host alone. An error raised while stopping is always raised.

    Example:
        >>> class Greeter(BackgroundService):
        ...     async def run(self) -> None:
        ...         print("hello")
        >>> async def main() -> None:
        ...     greeter = Greeter(name="greeter")
        ...     await greeter.start()
        ...     await asyncio.sleep(0)
        ...     await greeter.stop()
        >>> asyncio.run(main())
        hello
    """

    def __init__(self, *, name: str, on_failure: WorkerFailure = WorkerFailure.STOP_HOST) -> None:
        self._name = name
        self._on_failure = on_failure
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._listeners: list[Callable[[], None]] = []

    @abstractmethod
    async def run(self) -> None:
        """Do the work until it is done or cancelled; let the cancellation through."""

    @property
    def name(self) -> str:
        """The service's name."""
        return self._name

    @property
    def failure(self) -> BaseException | None:
        """The error `run` died of; None while it runs, or if it ended well."""
        return self._error_of(self._task) if self._task is not None and self._task.done() else None

    def when_host_must_stop(self, listener: Callable[[], None]) -> None:
        """Call *listener* once, on the event loop, when the worker's death asks the host to stop."""
        self._listeners.append(listener)

    async def start(self) -> None:
        """Start `run` as a task of this service.

        Raises:
            NotRestartableError: it was started before.
        """
        if self._task is not None:
            raise NotRestartableError(service=f"service {self._name}")
        self._task = asyncio.create_task(self.run(), name=self._name)
        self._task.add_done_callback(self._report)

    async def stop(self) -> None:
        """Cancel `run` and wait until it has ended; does nothing before `start`.

        Raises:
            ServiceFailedError: `run` failed while stopping, or before under `STOP_HOST`.
        """
        task = self._task
        if task is None:
            return
        if not task.done():
            # Once only: a second stop waits for the cleanup that the first one began.
            if not self._stopping:
                self._stopping = True
                task.cancel()
            # wait() leaves the task alone when the budget cancels this method: its cleanup goes on.
            await asyncio.wait({task})
        error = self._error_of(task)
        if error is not None and (self._stopping or self._on_failure is WorkerFailure.STOP_HOST):
            raise ServiceFailedError(service=self._name, error=error)

    def _error_of(self, task: asyncio.Task[None]) -> BaseException | None:
        try:
            return task.exception()
        except asyncio.CancelledError as error:
            return None if self._stopping else error

    def _report(self, task: asyncio.Task[None]) -> None:
        error = self._error_of(task)
        if error is None:
            return
        _log.error("service_failed", extra={"service": self._name, "error": type(error).__name__})
        if self._on_failure is WorkerFailure.STOP_HOST and not self._stopping:
            for listener in self._listeners:
                listener()
