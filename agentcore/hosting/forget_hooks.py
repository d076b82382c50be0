"""Previews what a forget would do, and tells those who keep copies outside the storage what it did."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from agentcore.domain.scope import Scope

if TYPE_CHECKING:
    from agentcore.recall.recall import Recall
    from agentcore.stores.forgetting import Forgotten
    from agentcore.stores.storage import Storage, UnitOfWork


Follow: TypeAlias = Callable[[Scope], Awaitable[None]]


class ForgetHooks:
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


async def clear_files(scope: Scope, storage: Storage, recall: Recall, aftermath: ForgetHooks) -> None:
    """Clear the files beside the database of what was forgotten in it, and note that it is done.

    A kill before that leaves the note of the forget, and the next host that opens clears them.
    """
    await aftermath.tell(scope)
    await recall.scrub(scope)
    await storage.write(scope, lambda unit: unit.erasure.end_forget())


class _RolledBackError(Exception):
    """Takes back what a preview did."""

    def __init__(self, result: Forgotten) -> None:
        self.result = result
        super().__init__()


async def preview(storage: Storage, scope: Scope, work: Callable[[UnitOfWork], Forgotten]) -> Forgotten:
    """Return what *work* would do, by doing it in a transaction that is rolled back."""

    def attempt(unit: UnitOfWork) -> None:
        raise _RolledBackError(work(unit))

    try:
        await storage.write(scope, attempt)
    except _RolledBackError as told:
        return told.result
    raise AssertionError
