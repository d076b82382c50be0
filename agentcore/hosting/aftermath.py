"""Aftermath: what has to follow when a person forgot something, beyond the storage."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from agentcore.domain.scope import Scope

Follow: TypeAlias = Callable[[Scope], Awaitable[None]]


class Aftermath:
    """Tells who keeps copies outside the storage that a text was forgotten; lives as long as the host."""

    def __init__(self) -> None:
        self._following: Final[list[Follow]] = []

    def add(self, follow: Follow) -> None:
        """Have *follow* awaited after each forget, with its scope."""
        self._following.append(follow)

    async def tell(self, scope: Scope) -> None:
        """Tell everybody, one after the other."""
        for follow in self._following:
            await follow(scope)
