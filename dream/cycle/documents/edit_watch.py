"""Notices what people write in the MEMORY.md of a workspace, though nobody tells the store of it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentcore.domain.scope import Scope
from agentcore.errors import AgentcoreError
from agentcore.workspace.folder import MEMORY
from dream.cycle.documents.delivery import Documents
from dream.cycle.running.run_envelope import scope_boundary
from dream.errors import DreamBrokenOffError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from agentcore.hosting.services import HostServices
    from agentcore.workspace.workspaces import Workspaces

_EVERY: Final = timedelta(minutes=1)
_LOOKED_AT_ONCE: Final = 1_000
"""Workspaces whose file is looked at in one minute; of more than that, each has its turn."""
_READ_AT_ONCE: Final = 100
"""Files read in one minute, which takes about a millisecond each."""
_log: Final = logging.getLogger(__name__)

_Mark = tuple[int, int, int] | None


class EditWatch:
    """Looks at the workspaces of a host once a minute; lives as long as the host.

    A file that looks as it did is not read. What a dream or the agent wrote stands in the store already: it is no news.

    Args:
        parts: What the host offers.
    """

    def __init__(self, parts: HostServices) -> None:
        self._parts = parts
        self._marks: dict[Scope, _Mark] = {}
        self._left: deque[Scope] = deque()
        self._looked_at: datetime | None = None

    async def look(self) -> None:
        """Take over what people wrote since the last look, if that was a minute ago.

        Raises:
            StorageError: the database failed.
        """
        now, workspaces = self._parts.clock.now(), self._parts.workspaces
        if workspaces is None or (self._looked_at is not None and timedelta() <= now - self._looked_at < _EVERY):
            return
        self._looked_at = now
        if not self._left:
            is_one = isinstance(workspaces.where, Path)
            self._left.extend([Scope.default()] if is_one else await self._parts.storage.scopes())
        scopes = [self._left.popleft() for _ in range(min(_LOOKED_AT_ONCE, len(self._left)))]
        found = await asyncio.to_thread(_marks, workspaces, scopes)
        changed = [scope for scope in scopes if scope in found and self._marks.get(scope) != found[scope]]
        for scope in changed[:_READ_AT_ONCE]:
            try:
                with scope_boundary(scope):
                    await Documents(self._parts, scope).take_over()
            except DreamBrokenOffError as error:  # its next dream says what is wrong with it
                _log.warning("edit_not_read", extra={"scope": str(scope), "error": type(error.__cause__).__name__})
            self._marks[scope] = found[scope]
        self._left.extend(changed[_READ_AT_ONCE:])


def _marks(workspaces: Workspaces, scopes: Sequence[Scope]) -> dict[Scope, _Mark]:
    """Return what tells each MEMORY.md from any other; of a workspace that cannot be used, nothing."""
    found: dict[Scope, _Mark] = {}
    for scope in scopes:
        try:
            folder = workspaces.folder(scope)
            if folder is not None:
                seen = (folder.root / MEMORY).stat()
                found[scope] = (seen.st_mtime_ns, seen.st_size, seen.st_ino)
        except FileNotFoundError:
            found[scope] = None
        except (AgentcoreError, OSError):
            continue
    return found
