"""Reads and writes whole documents of a workspace, and never overwrites somebody else's work."""

import errno
import os
import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

from agentcore.stores.sql.leases import is_gone, machine, process_mark
from agentcore.workspace.errors import (
    DocumentChangedError,
    InvalidWorkspaceError,
    UnreadableDocumentError,
    UnwritableDocumentError,
)

MEMORY: Final = "MEMORY.md"
"""What the agent always knows."""
DREAMS: Final = "DREAMS.md"
"""The diary of its dreams."""
USER: Final = "USER.md"
"""What people wrote about themselves."""
ARCHIVE: Final = "memory-archive.md"
"""What MEMORY.md had no more room for."""
MAX_BYTES: Final = 2_000_000
"""Longest document that is read."""

_NEW_MODE: Final = 0o600
_DRAFT: Final = ".draft"


@dataclass(frozen=True, slots=True)
class Written:
    """A document as it stands in the folder.

    Attributes:
        text: Its text, a byte order mark included; empty if there is none.
        hash: SHA-256 of its bytes, in hexadecimal digits; None if there is no such file.
        changed_at: When it was last written, by the clock of its disk; None if there is no such file.
    """

    text: str
    hash: str | None
    changed_at: datetime | None = None

    @property
    def text_or_none(self) -> str | None:
        """Its text, None if there is no such file."""
        return None if self.hash is None else self.text


class WorkspaceFolder:
    """The files of one workspace; every method blocks, so ask from a thread.

    Args:
        root: The folder, which must exist.

    Raises:
        InvalidWorkspaceError: it is no folder, or cannot be read.
    """

    def __init__(self, root: Path) -> None:
        try:
            is_folder = stat.S_ISDIR(root.stat().st_mode)
            problem = "it is a file; name a folder"
        except FileNotFoundError:
            is_folder, problem = False, "it does not exist; create it first"
        except (OSError, ValueError) as error:
            is_folder, problem = False, _told(error)
        if not is_folder:
            raise InvalidWorkspaceError(path=str(root), problem=problem)
        self._root = _resolved(root)

    @property
    def root(self) -> Path:
        """The folder, its own links resolved."""
        return self._root

    def path(self, name: str) -> Path:
        """Return where a document really stands.

        Raises:
            UnreadableDocumentError: the name is none, or it or a link leads out of the workspace.
        """
        try:
            path = _resolved(self._root / name)
        except ValueError as error:
            raise UnreadableDocumentError(name=repr(name), problem=_told(error)) from None
        if not path.is_relative_to(self._root) or path == self._root:
            raise UnreadableDocumentError(
                name=name, problem="it leads out of the workspace; replace the link by a file"
            )
        return path

    def read(self, name: str) -> Written:
        """Return a document; one that does not exist is empty.

        Raises:
            UnreadableDocumentError: it is no file, too long, not UTF-8, or barred.
        """
        path = self.path(name)
        try:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise UnreadableDocumentError(name=name, problem="it is no file; move it out of the workspace")
            if found.st_size > MAX_BYTES:
                problem = f"it has {found.st_size:,} bytes; split it, at most {MAX_BYTES:,} are taken"
                raise UnreadableDocumentError(name=name, problem=problem)
            content = path.read_bytes()
        except FileNotFoundError:
            return Written("", None)
        except OSError as error:
            raise UnreadableDocumentError(name=name, problem=_told(error)) from None
        try:
            return Written(content.decode(), sha256(content).hexdigest(), datetime.fromtimestamp(found.st_mtime, UTC))
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1:,} is not UTF-8; save it as UTF-8"
            raise UnreadableDocumentError(name=name, problem=problem) from None

    def write(self, name: str, text: str, *, over: str | None) -> str:
        """Put *text* in a document's place, whole or not at all, and return its new hash.

        It is written beside it, flushed to the disk and renamed; its permissions stay. Just before that it is looked at
        once more: whoever changed it since it was read wins.

        Args:
            name: The document.
            text: Its whole new text.
            over: The hash that was read; None if there was no such file.

        Raises:
            DocumentChangedError: the file is not the one that was read.
            UnreadableDocumentError: what stands in its place cannot be read.
            UnwritableDocumentError: the disk refused.
        """
        path = self.path(name)
        with _told_in_words(name):
            _require_no_write_protection(path)
            draft = _draft(path, text.encode())
            try:
                self._require_unchanged(name, over)
                draft.replace(path)
                _flush_folder(path.parent)
            finally:
                draft.unlink(missing_ok=True)
        return sha256(text.encode()).hexdigest()

    def remove(self, name: str, *, over: str) -> None:
        """Take a document away; the one who changed it since it was read wins.

        Raises:
            DocumentChangedError: the file is not the one that was read.
            UnreadableDocumentError: what stands in its place cannot be read.
            UnwritableDocumentError: the disk refused.
        """
        path = self.path(name)
        with _told_in_words(name):
            self._require_unchanged(name, over)
            path.unlink()
            _flush_folder(path.parent)

    def _require_unchanged(self, name: str, over: str | None) -> None:
        if self.read(name).hash != over:
            raise DocumentChangedError(name=name)


def _require_no_write_protection(path: Path) -> None:
    """Refuse to put another file in the place of one whose owner took the right to write away."""
    if path.exists() and not stat.S_IMODE(path.stat().st_mode) & 0o222:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def _told_in_words(name: str) -> Generator[None]:
    """Say in a sentence what the disk refuses about a document."""
    try:
        yield
    except OSError as error:
        raise UnwritableDocumentError(name=name, problem=_told(error)) from None


def _draft(path: Path, content: bytes) -> Path:
    """Write *content* beside *path*, with its permissions, and flush it."""
    _clear_drafts(path)
    owner = f"{os.getpid()}.{process_mark(os.getpid())}"
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.{owner}.", suffix=_DRAFT, dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else _NEW_MODE
            draft.chmod(mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft


def _clear_drafts(path: Path) -> None:
    """Remove what processes that were killed while they wrote left behind."""
    for draft in path.parent.glob(f".{path.name}.*{_DRAFT}"):
        pid, *mark = draft.name.removesuffix(_DRAFT).removeprefix(f".{path.name}.").split(".")[:-1]
        if pid.isdecimal() and is_gone(machine(), int(pid), ".".join(mark)):
            draft.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Make a rename last; a system that cannot flush folders does without."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _resolved(path: Path) -> Path:
    """Follow links; a link that leads to itself stands for itself, so that whoever opens it is told of the loop."""
    return Path(os.path.realpath(path))  # Path.resolve raises RuntimeError on a loop before Python 3.13


def _told(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return f"{error}; give it another name"
    said = (error.strerror or type(error).__name__).lower()
    return f"{said}; check the folder, its permissions and the room on the disk"
