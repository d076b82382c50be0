"""A host for programs without an event loop: every call waits for its answer."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from agentcore.domain.scope import Scope
from agentcore.hosting.host import Host
from agentcore.hosting.scoped_host import ScopedHost

T = TypeVar("T")


class SyncServices:
    """Services of one scope, whose calls wait for their answers; lives as long as its `SyncHost`.

    It has the names of `ScopedHost` (`memory`, `conversation`, `dreams`, `desk`, ...), with the same arguments and
    errors; only coroutine functions are changed into plain ones.
    """

    def __init__(self, services: Any, wait: Callable[[Awaitable[Any]], Any]) -> None:
        self._services = services
        self._wait = wait

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the service; what can be awaited waits instead."""
        found = getattr(self._services, name)
        if inspect.iscoroutinefunction(found):

            @wraps(found)
            def call(*args: Any, **kwargs: Any) -> Any:
                return self._waiting(self._wait(found(*args, **kwargs)))

            return call
        return self._waiting(found)

    def _waiting(self, found: Any) -> Any:
        """Return a service, or a session, whose calls wait too; anything else as it is."""
        is_a_service = type(found).__module__.split(".")[0] in {"agentcore", "dream"} and _has_coroutines(found)
        return SyncServices(found, self._wait) if is_a_service else found


class SyncHost(SyncServices):
    """A host whose calls wait for their answers: for Flask, Streamlit, notebooks and scripts.

    It runs the host on an event loop of its own, in a thread that lives as long as the `with` block. Any thread may
    call it. A loop of your own needs none of this: use the host itself.

    Args:
        host: As `build()` returns it, not yet entered.

    Example:
        >>> from agentcore import AgentHostBuilder
        >>> with SyncHost(AgentHostBuilder(None).with_memory().build()) as host:
        ...     tea = host.memory.remember("Ana drinks green tea.")
        ...     print([hit.entry.content for hit in host.memory.recall("what does Ana drink?")])
        ['Ana drinks green tea.']
    """

    def __init__(self, host: Host) -> None:
        super().__init__(host, self._waited)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="agentcore-sync-host", daemon=True)

    def for_scope(self, scope: Scope | str) -> SyncServices:
        """Return the services of another scope."""
        scoped: ScopedHost = self._services.for_scope(scope)
        return SyncServices(scoped, self._wait)

    def __enter__(self) -> Self:
        """Start the loop and the host."""
        self._thread.start()
        try:
            self._waited(self._services.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the host, then the loop."""
        try:
            self._waited(self._services.__aexit__(kind, error, trace))
        finally:
            self._end()

    def _waited(self, answer: Awaitable[T]) -> T:
        async def whole() -> T:
            return await answer

        return asyncio.run_coroutine_threadsafe(whole(), self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _has_coroutines(service: object) -> bool:
    return any(inspect.iscoroutinefunction(getattr(type(service), name, None)) for name in dir(type(service)))
