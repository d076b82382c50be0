"""RecallThread: the one thread that owns every index."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from agentcore.errors import HostNotStartedError

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class RecallThread:
    """Runs whatever touches an index, one thing after the other; lives as long as recall is open."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._tokenizer: Tokenizer | None = None
        self._leisurely: set[Callable[[], bool]] = set()

    def start(self) -> None:
        """Open; the thread itself begins with the first work."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="agentcore-recall")

    async def stop(self) -> None:
        """Finish the slice under way and close."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.shutdown)
        self._leisurely.clear()

    @property
    def is_open(self) -> bool:
        """Whether it takes work."""
        return self._pool is not None

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
        """Run *call* on the thread; one cancelled before its turn never runs, after that it is waited for.

        So no slice runs unknown.

        Raises:
            HostNotStartedError: recall is not open.
        """
        job = self.require_open().submit(partial(call, *args, **kwargs))
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            if not job.cancel():
                under_way = asyncio.wrap_future(job)
                await asyncio.wait([under_way])
                under_way.exception()
            raise

    def at_leisure(self, work: Callable[[], bool]) -> None:
        """Call *work* on the thread until it returns False, whatever else is wanted coming in between.

        Args:
            work: Does a few milliseconds of something and tells whether there is more; the same is not begun twice.
        """
        if self._pool is not None and work not in self._leisurely:
            self._leisurely.add(work)
            self._submit(work)

    def _submit(self, work: Callable[[], bool]) -> None:
        self.require_open().submit(self._continue, work).add_done_callback(_tell_of_failure)

    def _continue(self, work: Callable[[], bool]) -> None:
        try:
            more = work()
        except BaseException:
            self._leisurely.discard(work)
            raise
        if more and self._pool is not None:
            self._submit(work)
        else:
            self._leisurely.discard(work)


def _tell_of_failure(future: "Future[None]") -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        _log.error("recall_tidying_failed", exc_info=error)
