"""A file on its way in: bounded reading, and refusals that name file and line."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import cast

import orjson

from agentcore.domain.scope import Scope
from agentcore.errors import InvalidInputError
from dream.errors import InvalidFileError, UnreadableFileError

MAX_LINE = 1 << 20
"""Longest line of a JSON Lines file, in bytes."""
MAX_WHOLE = 32 << 20
"""Largest file of a format that has to be read whole, in bytes."""

_SOON = 4096
_BOM = b"\xef\xbb\xbf"
_GET_AGAIN = "get the file again, or remove that line"


@dataclass(frozen=True, slots=True)
class Source:
    """A file, the scope it goes to, and the instant of the import; lives as long as that.

    Args:
        path: The file.
        scope: Whose knowledge its records become.
        now: When this store first holds them.
    """

    path: Path
    scope: Scope
    now: datetime

    def refusal(self, problem: str, *, line: int | None = None, remedy: str | None = None) -> InvalidFileError:
        """Build the error that says what is wrong in this file."""
        return InvalidFileError(path=str(self.path), line=line, problem=problem, remedy=remedy)

    @contextmanager
    def at(self, line: int | None) -> Generator[None]:
        """Give what is refused inside the context this file and line."""
        try:
            yield
        except InvalidFileError:
            raise
        except InvalidInputError as error:
            raise self.refusal(str(error).rstrip("."), line=line) from error

    def state(self) -> tuple[int, int, int]:
        """Return what changes when the file is replaced or written to.

        Raises:
            UnreadableFileError: it is missing, a folder, a device, or may not be read.
        """
        with self._faults():
            found = self.path.stat()
        if S_ISDIR(found.st_mode):
            raise UnreadableFileError(path=str(self.path), problem="is a folder", remedy="name one file inside it")
        if not S_ISREG(found.st_mode):
            raise UnreadableFileError(path=str(self.path), problem="is no regular file", remedy="save it as one first")
        return found.st_size, found.st_mtime_ns, found.st_ino

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Stream the lines that are not blank, numbered from 1, never more than `MAX_LINE` bytes at a time."""
        with self._faults(), self.path.open("rb") as file:
            number = 0
            blank = True
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    self.check_text(number, line, cut=True)
                    raise self._too_long(number)
                text = line.removeprefix(_BOM) if number == 1 else line
                if text and not text.isspace():
                    blank = False
                    yield number, text
        if blank:
            raise self._empty()

    def first_character(self) -> bytes:
        """Return the first byte that is not blank, or nothing if it does not come soon."""
        with self._faults(), self.path.open("rb") as file:
            return file.read(_SOON).removeprefix(_BOM).lstrip()[:1]

    def objects(self) -> Iterator[tuple[int, dict[str, object]]]:
        """Stream the lines' JSON objects."""
        for number, line in self.lines():
            yield number, self.object_of(number, line)

    def object_of(self, number: int, line: bytes) -> dict[str, object]:
        """Read the JSON object that is line *number*."""
        try:
            found: object = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise self._no_json(number, line, f"{error.msg}, column {error.colno}") from None
        if not isinstance(found, dict):
            raise self.refusal("no JSON object stands on this line", line=number, remedy="write one object per line")
        return cast("dict[str, object]", found)

    def whole(self) -> bytes:
        """Read the file whole, at most `MAX_WHOLE` bytes."""
        with self._faults(), self.path.open("rb") as file:
            content = file.read(MAX_WHOLE + 1).removeprefix(_BOM)
        if len(content) > MAX_WHOLE:
            raise self.refusal(f"it is larger than {MAX_WHOLE >> 20} MiB", remedy="split it")
        if not content or content.isspace():
            raise self._empty()
        return content

    def text(self) -> str:
        """Read the file whole as text, with line feeds alone between its lines."""
        content = self.whole()
        self.check_text(1, content)
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")

    def check_text(self, number: int, content: bytes, *, cut: bool = False) -> None:
        """Refuse *content*, from line *number* on, unless it is text; *cut* if it may end inside a character."""
        if b"\0" in content:
            line = number + content.count(b"\n", 0, content.index(b"\0"))
            raise self.refusal("it is a binary file, not text", line=line, remedy="choose another file")
        try:
            content.decode()
        except UnicodeDecodeError as error:
            if not (cut and error.end == len(content)):
                line = number + content.count(b"\n", 0, error.start)
                raise self.refusal("it is not UTF-8", line=line, remedy="save it as UTF-8") from None

    @contextmanager
    def _faults(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            remedy = "check the path" if missing else "check its permissions"
            reason = "does not exist" if missing else f"cannot be read ({os.strerror(error.errno or 0)})"
            raise UnreadableFileError(path=str(self.path), problem=reason, remedy=remedy) from error

    def _too_long(self, number: int) -> InvalidFileError:
        problem = f"the line is longer than {MAX_LINE >> 20} MiB"
        return self.refusal(problem, line=number, remedy="put one record of at most that size on each line")

    def _no_json(self, number: int, line: bytes, detail: str) -> InvalidFileError:
        self.check_text(number, line)
        if not line.endswith(b"\n") and line.lstrip().startswith(b"{") and not line.rstrip().endswith(b"}"):
            return self.refusal("the file ends in the middle of this line", line=number, remedy=_GET_AGAIN)
        return self.refusal(f"it is not JSON ({detail})", line=number, remedy=_GET_AGAIN)

    def _empty(self) -> InvalidFileError:
        return self.refusal("it is empty", remedy="choose another file")
