"""Starts hosted services in order and stops them in reverse, keeping every error."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from agentcore.domain.actor import HOST
from agentcore.errors import HostNotStartedError, InvalidOptionsError
from agentcore.hosting.errors import NotRestartableError, ServiceFailedError, ShutdownTimeoutError
from agentcore.stores.acting import acting_as

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
        with acting_as(HOST):  # a worker goes on after whoever happened to start it
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
        told = {"service": self._name, "error": type(error).__name__}
        _log.error("service_failed service=%s error=%s", *told.values(), extra=told)
        if self._on_failure is WorkerFailure.STOP_HOST and not self._stopping:
            for listener in self._listeners:
                listener()


DEFAULT_SHUTDOWN_TIMEOUT = timedelta(seconds=30)


class LifecycleState(StrEnum):
    """Where a lifecycle stands; it only ever moves forward."""

    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class Lifecycle:
    """Runs services from `async with` to its end, once; a host inherits from it or holds one.

    Starting goes in order; one that fails, or a cancellation, stops those already started. Stopping goes in
    reverse, goes on whatever happens, and shares one budget. What leaves the block:

    - one error: itself, whether a start, the body or a stop raised it;
    - several: an `ExceptionGroup` of all, the body's or the start's first; `except*` handles one and several;
    - a cancellation or an exit (`CancelledError`, `KeyboardInterrupt`, `SystemExit`): itself, so that it
      keeps its meaning for timeouts and task groups; the other errors are its `__cause__`.

    A worker that died under `STOP_HOST` leaves as `ServiceFailedError`, services cut off by the budget as one
    `ShutdownTimeoutError`. All methods belong to the event loop's thread.

    Args:
        services: In the order to start them.
        shutdown_timeout: The time all stops together may take.

    Raises:
        InvalidOptionsError: the timeout is not longer than zero.

    Example:
        >>> class Door:
        ...     async def start(self) -> None:
        ...         print("open")
        ...     async def stop(self) -> None:
        ...         print("shut")
        >>> async def main() -> None:
        ...     async with Lifecycle([Door()]):
        ...         print("inside")
        >>> asyncio.run(main())
        open
        inside
        shut
    """

    def __init__(
        self,
        services: Sequence[HostedService],
        *,
        shutdown_timeout: timedelta = DEFAULT_SHUTDOWN_TIMEOUT,
    ) -> None:
        if shutdown_timeout <= timedelta():
            raise InvalidOptionsError(
                field="shutdown_timeout",
                value=shutdown_timeout,
                allowed="give a duration longer than zero",
            )
        self._services = tuple(services)
        self._shutdown_timeout = shutdown_timeout
        self._started: list[HostedService] = []
        self._state = LifecycleState.CREATED
        self._stop_requested = asyncio.Event()

    @property
    def state(self) -> LifecycleState:
        """Where the lifecycle stands."""
        return self._state

    def request_stop(self) -> None:
        """Let `wait_for_shutdown` return; fits `loop.add_signal_handler`, and may be called at any time."""
        self._stop_requested.set()

    async def wait_for_shutdown(self) -> None:
        """Return when a stop is requested or a worker's death asks for it; leaving the block is the caller's.

        Raises:
            HostNotStartedError: called before `async with`.
        """
        if self._state is LifecycleState.CREATED:
            raise HostNotStartedError(service="host")
        await self._stop_requested.wait()

    async def __aenter__(self) -> Self:
        """Start every service in order.

        Raises:
            NotRestartableError: entered a second time.
        """
        if self._state is not LifecycleState.CREATED:
            raise NotRestartableError(service="host")
        self._state = LifecycleState.STARTING
        try:
            for service in self._services:
                await self._start(service)
        except BaseException as error:
            await self._stop(error)
            raise
        self._state = LifecycleState.RUNNING
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop every started service in reverse order; raises as the class says."""
        await self._stop(error)

    async def _start(self, service: HostedService) -> None:
        name = _name_of(service)
        if isinstance(service, BackgroundService):
            service.when_host_must_stop(self.request_stop)
        try:
            await service.start()
        except Exception as error:
            error.add_note(f"Raised while starting the service {name}.")
            raise
        self._started.append(service)
        _log.debug("service_started", extra={"service": name})

    async def _stop(self, pending: BaseException | None) -> None:
        self._state = LifecycleState.STOPPING
        self.request_stop()
        shutdown = _Shutdown(self._shutdown_timeout)
        try:
            while self._started:
                await shutdown.stop(self._started.pop())
        finally:
            self._state = LifecycleState.STOPPED
        _raise_unless_pending(pending, shutdown.interruption, shutdown.errors())


class _Shutdown:
    """One shutdown: its deadline and what went wrong so far."""

    def __init__(self, budget: timedelta) -> None:
        self._budget = budget
        self._deadline = asyncio.get_running_loop().time() + budget.total_seconds()
        self._late: list[str] = []
        self._errors: list[Exception] = []
        self.interruption: asyncio.CancelledError | None = None

    def errors(self) -> list[Exception]:
        """Everything the stops raised, in stopping order, and the overrun of the budget last."""
        if not self._late:
            return self._errors
        return [*self._errors, ShutdownTimeoutError(services=self._late, budget=self._budget)]

    async def stop(self, service: HostedService) -> None:
        """Stop *service* within what is left of the budget; never raises its errors."""
        name = _name_of(service)
        requests = _cancel_requests()
        budget = asyncio.timeout_at(self._deadline)
        try:
            async with budget:
                await service.stop()
        except asyncio.CancelledError as error:
            # On a task cancelled before, early 3.11 (3.11.2) does not turn the budget's cut into TimeoutError.
            if _cancel_requests() > requests:
                self.interruption = error
            elif not budget.expired():
                self._keep(name, ServiceFailedError(service=name, error=error))
        except Exception as error:  # noqa: BLE001 - the stop loop keeps every error and goes on to the next service
            if not (budget.expired() and isinstance(error, TimeoutError)):
                self._keep(name, error)
        else:
            _log.debug("service_stopped", extra={"service": name})
            return
        if budget.expired():
            self._late.append(name)
            _log.error("service_stop_timed_out", extra={"service": name})

    def _keep(self, name: str, error: Exception) -> None:
        error.add_note(f"Raised while stopping the service {name}.")
        self._errors.append(error)
        _log.error("service_stop_failed", extra={"service": name, "error": type(error).__name__})


def _raise_unless_pending(
    pending: BaseException | None,
    interruption: asyncio.CancelledError | None,
    stop_errors: Sequence[Exception],
) -> None:
    """Raise what must leave the block, or return if that is *pending*, which is already on its way."""
    errors = [pending, *stop_errors] if isinstance(pending, Exception) else list(stop_errors)
    leading = interruption if pending is None or isinstance(pending, Exception) else pending
    outcome = _together(errors)
    if leading is not None:
        leading.__cause__ = outcome or leading.__cause__
        outcome = leading
    if outcome is not None and outcome is not pending:
        raise outcome


def _together(errors: Sequence[Exception]) -> Exception | None:
    if len(errors) < 2:
        return errors[0] if errors else None
    group = ExceptionGroup("The host did not run and stop cleanly", errors)
    # The body's error stands in the group; it need not be told a second time as the context.
    group.__suppress_context__ = True
    return group


def _name_of(service: HostedService) -> str:
    return service.name if isinstance(service, BackgroundService) else type(service).__name__


def _cancel_requests() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task is not None else 0
