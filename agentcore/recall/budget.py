"""Budget: the memory that open indexes share."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from agentcore.domain.scope import Scope

Close: TypeAlias = Callable[[Scope], Awaitable[None]]

_BYTES_PER_INDEX: Final = 16_384
"""What an empty one costs with its lock and its lists."""


class IndexBudget:
    """Closes the index unused for longest when all together take too much memory; lives as long as recall.

    The index just used stays, however large it is.

    Args:
        limit: Bytes that all may take.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._open: OrderedDict[tuple[Close, Scope], int] = OrderedDict()

    async def use(self, close: Close, scope: Scope, nbytes: int) -> None:
        """Note that an index was used, and close others until there is room for it.

        Args:
            close: Closes the index of a scope; also tells apart what kind of records it is of.
            scope: Whose index it is.
            nbytes: What it takes.
        """
        held = nbytes + _BYTES_PER_INDEX
        self._used += held - self._open.pop((close, scope), 0)
        self._open[close, scope] = held
        while self._used > self._limit and len(self._open) > 1:
            (close_oldest, oldest), freed = self._open.popitem(last=False)
            self._used -= freed
            await close_oldest(oldest)

    def clear(self) -> None:
        """Forget every index."""
        self._open.clear()
        self._used = 0
