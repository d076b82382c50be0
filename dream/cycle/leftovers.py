"""What nobody got to write to the files: of an earlier process when a host opens, of a forget at once."""

import logging
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from dream.cycle.documents import Documents
from dream.cycle.lease import dream_lease
from dream.options import DreamOptions
from dream.stores import dream_stores

_log: Final = logging.getLogger(__name__)


class Leftovers:
    """Empties the outbox of every scope once, when the host starts; what cannot be written waits for the next dream.

    Args:
        parts: What the host offers.
        options: The host's options.
    """

    def __init__(self, parts: HostParts, options: DreamOptions) -> None:
        self._parts = parts
        self._options = options

    async def start(self) -> None:
        """Write what waits; a scope on which somebody dreams is left to that dream."""
        self._parts.aftermath.add(self.follow)
        for scope in await self._parts.storage.scopes():
            await self.follow(scope)

    async def follow(self, scope: Scope) -> None:
        """Write what waits on one scope."""
        if not await self._parts.storage.read(scope, lambda view: dream_stores(view).outbox.waiting()):
            return
        async with dream_lease(self._parts, scope, self._options.lease) as lease:
            problem = None if lease is None else (await Documents(self._parts, scope).deliver()).problem
        if problem is not None:
            _log.warning("documents_wait", extra={"scope": str(scope), "problem": problem})

    async def stop(self) -> None:
        """Nothing is left running."""
