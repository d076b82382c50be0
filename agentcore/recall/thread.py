"""RecallThread: the one thread that owns every index."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from agentcore.errors import HostNotStartedError

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer

P = ParamSpec("P")
T = TypeVar("T")


class RecallThread:
    """Runs whatever touches an index, one thing after the other; lives as long as recall is open."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._tokenizer: Tokenizer | None = None

    def start(self) -> None:
        """Open; the thread itself begins with the first work."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="agentcore-recall")

    async def stop(self) -> None:
        """Finish the slice under way and close."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)

    def require_open(self) -> ThreadPoolExecutor:
        """Return the thread.

        Raises:
            HostNotStartedError: recall is not open.
        """
        if self._pool is None:
            raise HostNotStartedError(service="recall")
        return self._pool

    def tokenizer(self) -> "Tokenizer":
        """Return what cuts texts for every index; to be called on the thread alone."""
        # Opening a host must not pay for its tables: the first query does.
        from agentcore.recall.tokenizer import Tokenizer  # noqa: PLC0415

        if self._tokenizer is None:
            self._tokenizer = Tokenizer()
        return self._tokenizer

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *call* on the thread; a cancelled caller still waits, so that no slice runs unknown.

        Raises:
            HostNotStartedError: recall is not open.
        """
        work = partial(call, *args, **kwargs)
        future = asyncio.get_running_loop().run_in_executor(self.require_open(), work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise
