"""Runs everything that touches an index on one thread."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeAlias, TypeVar

from agentcore.errors import HostNotStartedError

if TYPE_CHECKING:
    from agentcore.recall.tokenizer import Tokenizer

_log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

_HELD_SECONDS: Final = 0.001
_WOKEN_AT_ONCE: Final = 16
"""Answers that are begun in one turn of the loop though none before them has held it for long."""

_Call: TypeAlias = Callable[[], Callable[[], None] | None]
"""Runs something on the thread; returns what is to be done when that is over."""
_Queue: TypeAlias = "SimpleQueue[_Call | None]"


class RecallThread:
    """Runs whatever touches an index, one thing after the other; lives as long as recall is open.

    A thread of its own instead of an executor: an executor's future and asyncio's around it take longer than waking the
    thread does, and a query waits for that every time.
    """

    def __init__(self) -> None:
        self._queue: _Queue | None = None
        self._thread: Thread | None = None
        self._tokenizer: Tokenizer | None = None
        self._leisurely: set[Callable[[], bool]] = set()
        # Each is counted by one thread alone, so that neither needs a lock.
        self._given = 0
        self._latest: asyncio.Future[Any] | None = None
        self._ended = 0

    def start(self) -> None:
        """Open; the thread itself begins with the first work."""
        self._queue = SimpleQueue()

    async def stop(self) -> None:
        """Finish what is under way and close."""
        queue, self._queue = self._queue, None
        thread, self._thread = self._thread, None
        if queue is not None and thread is not None:
            queue.put(None)
            await asyncio.to_thread(thread.join)
        self._leisurely.clear()

    @property
    def is_open(self) -> bool:
        """Whether it takes work."""
        return self._queue is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs or waits on it; told to the event loop's thread, this lasts as long as that goes on.

        So long, whoever asks may do what else runs here.
        """
        return self._given == self._ended

    async def rest(self) -> None:
        """Wait until what was asked of it before has ended; new work may have come by then."""
        if self._latest is not None:
            await asyncio.wait((self._latest,))

    def require_open(self) -> None:
        """Refuse to go on.

        Raises:
            HostNotStartedError: recall is not open.
        """
        if self._queue is None:
            raise HostNotStartedError(service="recall")

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
        job: _Job[T] = _Job(partial(call, *args, **kwargs), asyncio.get_running_loop())
        self._put(job.run)
        self._latest = job.answer
        try:
            return await job.answer
        except asyncio.CancelledError:
            await job.withdrawn()
            raise
        finally:
            if self._latest is job.answer:
                self._latest = None

    def at_leisure(self, work: Callable[[], bool]) -> None:
        """Call *work* on the thread until it returns False, whatever else is wanted coming in between.

        Args:
            work: Does a few milliseconds of something and tells whether there is more; the same is not begun twice.
        """
        if self._queue is not None and work not in self._leisurely:
            self._leisurely.add(work)
            self._put(partial(self._continue, work))

    def _put(self, call: _Call) -> None:
        if self._queue is None:
            raise HostNotStartedError(service="recall")
        self._given += 1
        self._queue.put(call)
        if self._thread is None:
            # A process that ends without stopping its host does not wait for it.
            self._thread = Thread(target=self._work, args=(self._queue,), name="agentcore-recall", daemon=True)
            self._thread.start()

    def _work(self, queue: _Queue) -> None:
        while True:
            call = queue.get()
            if call is None:
                return
            tell = call()
            # The last answer does not stay until the next question.
            del call
            # Who is told asks again at once, and finds the thread idle.
            self._ended += 1
            if tell is not None:
                tell()
                del tell

    def _continue(self, work: Callable[[], bool]) -> None:
        more = False
        try:
            more = work()
        except Exception:  # noqa: BLE001 - queries go on, whatever becomes of tidying
            _log.exception("recall_tidying_failed")
        queue = self._queue
        if more and queue is not None:
            self._ended -= 1
            queue.put(partial(self._continue, work))
        else:
            self._leisurely.discard(work)


class LoopShare:
    """Lets the event loop go round between answers that are given on its own thread; lives as long as recall is open.

    A coroutine that never waits holds everything else up, however short each of its answers is.
    """

    def __init__(self) -> None:
        self._held = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait until the loop has gone round, if answers have held it for a millisecond since it last did."""
        while self._held > _HELD_SECONDS:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    def hold(self, seconds: float) -> None:
        """Note that an answer has held the loop."""
        if not self._held and not self._waiting:
            asyncio.get_running_loop().call_soon(self._gone_round)
        self._held += seconds

    def _gone_round(self) -> None:
        self._held = 0.0
        for _ in range(min(_WOKEN_AT_ONCE, len(self._waiting))):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._gone_round)


class _Job(Generic[T]):
    """One call: from who asks for it on the event loop to the thread, and back.

    Args:
        call: What to run.
        loop: Where it is waited for.
    """

    __slots__ = ("_call", "_ended", "_is_over", "_loop", "_turn", "answer")

    def __init__(self, call: Callable[[], T], loop: asyncio.AbstractEventLoop) -> None:
        self._call = call
        self._loop = loop
        self.answer: asyncio.Future[T] = loop.create_future()
        # Whoever takes the one thing out of it decides, in one step, whether the call runs.
        self._turn = [True]
        self._is_over = False
        self._ended: asyncio.Future[None] | None = None

    def run(self) -> Callable[[], None] | None:
        """Run the call on the thread, if it is still wanted; return what has the loop told."""
        if not self._taken():
            return None
        tell: Callable[[], None]
        try:
            tell = partial(self._succeed, self._call())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who asked
            tell = partial(self._fail, error)
        return partial(self._tell, tell)

    async def withdrawn(self) -> None:
        """Have the call not run, or wait until it has ended."""
        if self._taken() or self._is_over:
            return
        self._ended = self._loop.create_future()
        while not self._ended.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((self._ended,))

    def _taken(self) -> bool:
        try:
            return self._turn.pop()
        except IndexError:
            return False

    def _tell(self, tell: Callable[[], None]) -> None:
        # A loop that was closed meanwhile has nobody who waits.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(tell)

    def _succeed(self, answer: T) -> None:
        self._end()
        if not self.answer.done():
            self.answer.set_result(answer)

    def _fail(self, error: BaseException) -> None:
        self._end()
        if not self.answer.done():
            self.answer.set_exception(error)

    def _end(self) -> None:
        self._is_over = True
        if self._ended is not None:
            self._ended.set_result(None)
