"""Where snapshots of indexes stand: beside the database, one file a scope."""

import logging
import os
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentcore.domain.scope import Scope
from agentcore.stores.protocols import FeedPosition, ReadView, Storage, UnitOfWork

if TYPE_CHECKING:
    from agentcore.recall.lists import Lists
    from agentcore.recall.snapshot import Snapshot

_log = logging.getLogger(__name__)

_SETTING: Final = "recall.snapshot"
"""The seal of the scope's snapshot: a file that the database knows nothing of is of another one, or older than it."""


class SnapshotFolder:
    """Keeps indexes over restarts; a file that cannot be used is left aside, said so, and the index built anew.

    A snapshot holds the terms of every entry, so forgetting an entry deletes its scope's file.

    Args:
        folder: Created when the first file is written.
        storage: Knows which files are its own.
    """

    def __init__(self, folder: Path, storage: Storage) -> None:
        self._folder = folder
        self._storage = storage

    def path(self, scope: Scope) -> Path:
        """Return the file of a scope, whether or not it exists."""
        return self._folder / f"{blake2b(str(scope).encode(), digest_size=16).hexdigest()}.index"

    def remove(self, scope: Scope) -> None:
        """Delete the file of a scope, if there is one."""
        self.path(scope).unlink(missing_ok=True)

    async def seal(self, scope: Scope) -> str | None:
        """Return the seal that the database expects of the scope's file; None if there is none."""
        return await self._storage.read(scope, _seal)

    def read(self, scope: Scope, seal: str | None) -> "Snapshot | None":
        """Return a scope's snapshot if there is one that can be used."""
        from agentcore.recall.snapshot import UnusableSnapshotError, read_snapshot  # noqa: PLC0415 - NumPy

        try:
            snapshot = read_snapshot(self.path(scope), scope=str(scope))
        except FileNotFoundError:
            return None
        except UnusableSnapshotError as error:
            refused(str(error))
            return None
        if snapshot.seal != seal:
            refused("it is not the one that the database knows")
            return None
        return snapshot

    async def keep(self, scope: Scope, path: Path, seal: str, position: FeedPosition) -> bool:
        """Have a file that was just written be the scope's snapshot, unless an entry of it was removed meanwhile."""

        def work(unit: UnitOfWork) -> bool:
            page = unit.entries.changes_since(position, limit=1)
            if page.rebuild or page.removed:
                return False
            # The file takes its place before the seal is committed: with another seal it is merely not used.
            path.replace(self.path(scope))
            unit.settings.put(_SETTING, seal)
            return True

        kept = await self._storage.write(scope, work)
        if not kept:
            path.unlink(missing_ok=True)
        return kept

    def write(self, scope: Scope, lists: "Lists", position: FeedPosition) -> tuple[Path, str] | None:
        """Write a file that is not yet the scope's; return it and its seal, None where nothing can be written."""
        from agentcore.recall.snapshot import write_snapshot  # noqa: PLC0415 - NumPy

        path = self.path(scope).with_suffix(f".{os.getpid()}.new")
        try:
            self._folder.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            return path, write_snapshot(path, lists, position, scope=str(scope))
        except OSError as error:
            path.unlink(missing_ok=True)
            _log.warning("recall_snapshot_not_written", extra={"error": type(error).__name__})
            return None


def refused(reason: str) -> None:
    """Say that a snapshot is not used and the index is built anew."""
    _log.warning("recall_snapshot_refused", extra={"reason": reason})


def _seal(view: ReadView) -> str | None:
    return view.settings.get(_SETTING)
