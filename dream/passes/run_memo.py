"""What a pass works out once for a run, however many questions it asks."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from agentcore.domain.scope import Scope
from dream.passes.protocol import DreamContext

T = TypeVar("T")

_RUNS_REMEMBERED: Final = 16
"""Several scopes dream at once, and each time a scope is asked for its work counts as a run."""


class RunMemo(Generic[T]):
    """Keeps one value for each of the latest runs; lives as long as its pass.

    Questions are put together side by side: whoever needs the value while it is worked out waits for it. A run that
    another process resumes works the value out anew, so it must follow from what the run froze: the instant it judges
    by, and records that its batches name with their versions.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Scope, str], T] = OrderedDict()
        self._under_way: dict[tuple[Scope, str], asyncio.Lock] = {}

    async def of(self, context: DreamContext, make: Callable[[], Awaitable[T]]) -> T:
        """Return the value of the run, made by *make* if there is none yet."""
        key = (context.scope, context.run_id)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        # A lock belongs to an event loop, so it lasts no longer than the making.
        async with self._under_way.setdefault(key, asyncio.Lock()):
            try:
                if key not in self._known:
                    self._known[key] = await make()
            finally:
                self._under_way.pop(key, None)
            value = self._known[key]
            while len(self._known) > _RUNS_REMEMBERED:
                self._known.popitem(last=False)
            return value
