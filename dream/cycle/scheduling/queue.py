"""What brings scopes that may dream to whoever runs their dreams, and such a queue within one process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence

    from agentcore.domain.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A scope that may dream now, as far as is known: whoever takes it decides again on what is stored then.

    Args:
        key: The scope's key in the database.
        scope: Whose memory.
        number: Tells this offer from earlier ones of the same scope; it grows.
        priority: Those with more of it come first.
    """

    key: int
    scope: Scope
    number: int = 0
    priority: int = 0


Handler: TypeAlias = "Callable[[Offer], Awaitable[None]]"


class DreamQueue(Protocol):
    """Carries offers; it holds only what was admitted, and the truth stays in the table of due times.

    An offer can be lost, or come twice: the due time stays, and the lease of the scope lets one dream alone.
    """

    async def offer(self, offers: Sequence[Offer]) -> Collection[int]:
        """Have each handled soon, by one worker.

        One is dropped whose scope has an offer that is not handled yet; return the keys of those.

        Raises:
            StorageUnreachableError: none was taken.
        """
        ...

    async def withdraw(self, keys: Collection[int]) -> None:
        """Take offers of these scopes back that nobody has begun to handle; nothing happens if there are none.

        Raises:
            StorageUnreachableError: none was taken back.
        """
        ...

    async def serve(self, handler: Handler) -> None:
        """Handle offers until cancelled; what is under way then is cancelled and awaited, and is offered again."""
        ...


class InProcessQueue:
    """Handles each offer at once, as a task beside the others; lives as long as the host, on its event loop."""

    def __init__(self) -> None:
        self._waiting: dict[int, Offer] = {}
        self._begin: Callable[[Offer], None] | None = None

    async def offer(self, offers: Sequence[Offer]) -> Collection[int]:
        """Begin with each, or as soon as somebody serves; how many come at once is for the one who offers to bound."""
        for one in offers:
            if self._begin is None:
                self._waiting[one.key] = one
            else:
                self._begin(one)
        return ()

    async def withdraw(self, keys: Collection[int]) -> None:
        """Take offers back that came before anybody served."""
        for key in keys:
            self._waiting.pop(key, None)

    async def serve(self, handler: Handler) -> None:
        """Handle offers until cancelled; an error of a handler ends all.

        Raises:
            Exception: a handler raised it.
        """
        try:
            async with asyncio.TaskGroup() as under_way:

                def begin(one: Offer) -> None:
                    under_way.create_task(_handled(handler, one), name=f"dream-{one.scope}")

                self._begin = begin
                while self._waiting:
                    begin(self._waiting.popitem()[1])
                await asyncio.Event().wait()
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self._begin = None


async def _handled(handler: Handler, one: Offer) -> None:
    await handler(one)
