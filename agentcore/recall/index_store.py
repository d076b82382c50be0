"""Keeps large indexes over restarts, in files beside the database."""

import asyncio
import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentcore.domain.scope import Scope
from agentcore.errors import StorageUnavailableError
from agentcore.recall.follow import Feed, StorableIndex
from agentcore.recall.thread import RecallThread
from agentcore.stores.storage import ReadView, Storage, UnitOfWork
from agentcore.stores.values import FeedPosition

if TYPE_CHECKING:
    from agentcore.recall.snapshot import Kept, Snapshot


_log = logging.getLogger(__name__)

_CHANGES_WORTH_A_FILE: Final = 0.05


@dataclass(frozen=True, slots=True)
class IndexKind:
    """What is kept of one kind of record.

    Args:
        ending: How its files end.
        seal: Setting with the checksum of a scope's file: a file that the database knows nothing of is of another one.
        feed: Where its rows come from.
    """

    ending: str
    seal: str
    feed: Feed[Any]


class FileIndexStore:
    """Keeps indexes over restarts; a file that cannot be used is left aside, said so, and the index built anew.

    A file holds the terms of every record, so removing one deletes its scope's file. It is written again when the
    index is closed.

    Args:
        folder: Created when the first file is written.
        storage: Knows which files are its own.
        thread: What owns the indexes.
        kind: What is kept.
        least: Records from which an index is kept.
    """

    def __init__(self, folder: Path, storage: Storage, thread: RecallThread, kind: IndexKind, *, least: int) -> None:
        self._folder = folder
        self._kind = kind
        self._storage = storage
        self._thread = thread
        self._least = least

    def path(self, scope: Scope) -> Path:
        """Return the file of a scope, whether or not it exists."""
        return self._folder / f"{blake2b(str(scope).encode(), digest_size=16).hexdigest()}.{self._kind.ending}"

    async def load(self, scope: Scope, index: StorableIndex[Any]) -> None:
        """Fill an empty index with what was kept of it, if that can be used."""
        snapshot = await asyncio.to_thread(self._read, scope)
        if snapshot is None:
            return
        if snapshot.seal != await self._storage.read(scope, partial(_seal, kind=self._kind)):
            _refuse("it is not the one that the database knows")
        elif snapshot.kept.cut != index.cut:
            _refuse("its texts were cut otherwise than the options now say")
        elif await self._storage.read(scope, partial(_is_out_of_reach, kind=self._kind, position=snapshot.position)):
            _refuse("the change feed no longer reaches back to it")
        else:
            await self._thread.run(index.adopt, snapshot)

    async def save(self, scope: Scope, index: StorableIndex[Any]) -> None:
        """Keep an index that holds everything committed, if it is large and has no file or one a twentieth behind."""
        if len(index) < self._least:
            return
        if index.unkept < _CHANGES_WORTH_A_FILE * len(index) and await asyncio.to_thread(self.path(scope).exists):
            return
        kept, position = await self._thread.run(index.kept), index.position
        written = await asyncio.to_thread(self._write, scope, kept, position)
        if written is not None:
            await self._storage.write(scope, lambda unit: self._seal(unit, *written, position))

    async def discard(self, scope: Scope) -> None:
        """Delete what was kept of an index, if that is possible: it is behind, and used only as far as it is right."""
        try:
            await self.scrub(scope)
        except StorageUnavailableError as error:
            _log.warning("recall_snapshot_not_deleted", extra={"error": type(error.__cause__).__name__})

    async def scrub(self, scope: Scope) -> None:
        """Delete what was kept of an index, and what somebody is about to keep.

        Raises:
            StorageUnavailableError: The file is there and cannot be deleted.
        """
        await asyncio.to_thread(self._delete, scope)

    def _read(self, scope: Scope) -> "Snapshot | None":
        # Opening a host must not pay for NumPy.
        from agentcore.recall.snapshot import UnusableSnapshotError, read_snapshot  # noqa: PLC0415

        try:
            return read_snapshot(self.path(scope), scope=str(scope))
        except FileNotFoundError:
            return None
        except UnusableSnapshotError as error:
            _refuse(str(error))
            return None

    def _write(self, scope: Scope, kept: "Kept", position: FeedPosition) -> tuple[Path, str] | None:
        """Write a file that is not yet the scope's; return it and its seal, None where nothing can be written."""
        from agentcore.recall.snapshot import write_snapshot  # noqa: PLC0415

        path = self.path(scope).with_suffix(f".{self._kind.ending}.{os.getpid()}.new")
        try:
            self._folder.mkdir(exist_ok=True)
            path.unlink(missing_ok=True)
            return path, write_snapshot(path, kept, position, scope=str(scope))
        except OSError as error:
            with suppress(OSError):
                path.unlink()
            _log.warning("recall_snapshot_not_written", extra={"error": type(error).__name__})
            return None

    def _seal(self, unit: UnitOfWork, path: Path, seal: str, position: FeedPosition) -> None:
        """Make a file the scope's, unless a record that stands in it was removed meanwhile."""
        page = self._kind.feed(unit, position, 1)
        if page.rebuild or page.removed:
            path.unlink(missing_ok=True)
            return
        try:
            # Before the commit: a file with another seal than the database's is merely not used.
            path.replace(self.path(unit.scope))
        except OSError as error:
            _log.warning("recall_snapshot_not_written", extra={"error": type(error).__name__})
        else:
            unit.settings.put(self._kind.seal, seal)

    def _delete(self, scope: Scope) -> None:
        path = self.path(scope)
        for old in (path, *self._folder.glob(f"{path.name}.*.new")):
            try:
                old.unlink()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                remedy = "delete it yourself, as it holds words of what was forgotten"
                raise StorageUnavailableError(
                    path=f"index file {old}", problem="cannot be deleted", remedy=remedy
                ) from error


def _refuse(reason: str) -> None:
    _log.warning("recall_snapshot_refused", extra={"reason": reason})


def _is_out_of_reach(view: ReadView, *, kind: IndexKind, position: FeedPosition) -> bool:
    return kind.feed(view, position, 1).rebuild


def _seal(view: ReadView, *, kind: IndexKind) -> str | None:
    return view.settings.get(kind.seal)
