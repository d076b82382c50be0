"""Reads files on their way in, field by field, with refusals that name the line; writes whole files."""

import os
import stat
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, TypeVar, cast

import orjson

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_text, to_micros
from agentcore.domain.text import clean_content
from agentcore.errors import InvalidInputError
from dream.errors import InvalidFileError, UnreadableFileError
from dream.interfaces.exchange.items import UnknownField

MAX_LINE = 32 << 20
"""Longest line of a JSON Lines file, in bytes."""
MAX_WHOLE = 32 << 20
"""Largest file of a format that has to be read whole, in bytes."""

_SOON = 4096
_BOM = b"\xef\xbb\xbf"
_GET_AGAIN = "get the file again, or remove that line"


@dataclass(frozen=True, slots=True)
class SourceFile:
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


E = TypeVar("E", bound=Enum)

MAX_NAME = 256
"""Longest name, session id or hash, in characters."""


class Fields:
    """The fields of one line, with refusals that name file, line and field; lives as long as the line is read.

    Null and absent are the same.

    Args:
        source: The file.
        line: The line, counted from 1.
        values: The object on it.
    """

    def __init__(self, source: SourceFile, line: int, values: Mapping[str, object]) -> None:
        self._source = source
        self._values = values
        self._asked: set[str] = set()
        self.line = line

    def unknown(self, *others: str) -> Iterator[UnknownField]:
        """Yield the fields that nobody asked for, save those named *others*."""
        known = self._asked.union(others)
        for name, value in self._values.items():
            if name not in known and value is not None:
                yield UnknownField(name, next(iter(get_close_matches(name, sorted(known), 1)), None))

    def _value(self, name: str, default: object = None) -> object:
        self._asked.add(name)
        return self._values.get(name, default)

    def content(self, name: str) -> str:
        """Return a text that can be stored as content."""
        value = self._value(name)
        if value is None:
            raise self.missing(name)
        with self._source.at(self.line):
            return clean_content(value)

    def name(self, name: str) -> str:
        """Return a short text that must be there."""
        value = self.optional_name(name)
        if value is None:
            raise self.missing(name)
        return value

    def optional_name(self, name: str) -> str | None:
        """Return a short text, or None."""
        value = self.optional_text(name)
        if value is not None and not (0 < len(value.strip()) <= MAX_NAME and value.isprintable()):
            raise self.refusal(name, f"1 to {MAX_NAME} printable characters")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a text of any length, or None."""
        value = self._value(name)
        if value is None or isinstance(value, str):
            return value
        raise self.refusal(name, "a text")

    def text(self, name: str) -> str:
        """Return a text of any length that must be there."""
        value = self.optional_text(name)
        if value is None:
            raise self.missing(name)
        return value

    def instant(self, name: str) -> datetime | None:
        """Return an instant written in RFC 3339 or as seconds since 1970, or None."""
        value = self._value(name)
        if value is None:
            return None
        with self._source.at(self.line):
            if isinstance(value, str):
                return from_text(value)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return self._from_seconds(name, value)
        raise self.refusal(name, "an instant such as 2025-05-01T10:00:00Z")

    def required_instant(self, name: str) -> datetime:
        """Return an instant that must be there."""
        value = self.instant(name)
        if value is None:
            raise self.missing(name)
        return value

    def fraction(self, name: str, default: float) -> float:
        """Return a number from 0 to 1."""
        value = self._value(name)
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        raise self.refusal(name, "a number from 0 to 1")

    def count(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """Return a whole number of at least *least*; it must be there unless there is a default."""
        value = self._value(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63:
            return value
        raise self.refusal(name, f"a whole number from {least} up")

    def optional_count(self, name: str) -> int | None:
        """Return a whole number from 0 up, or None if there is none."""
        return None if self._value(name) is None else self.count(name)

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """Return true or false; it must be there unless there is a default."""
        value = self._value(name, default)
        if isinstance(value, bool):
            return value
        raise self.refusal(name, "true or false")

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty if it is not there."""
        value = self._value(name)
        if value is None:
            return ()
        if isinstance(value, list):
            items = cast("list[object]", value)
            texts = tuple(item for item in items if isinstance(item, str))
            if len(texts) == len(items):
                return texts
        raise self.refusal(name, "a list of texts")

    def pairs(self, name: str) -> dict[str, str]:
        """Return an object whose values are texts; empty if it is not there."""
        value = self._value(name)
        if value is None:
            return {}
        if isinstance(value, dict):
            items = cast("dict[str, object]", value)
            texts = {key: item for key, item in items.items() if isinstance(item, str)}
            if len(texts) == len(items):
                return texts
        raise self.refusal(name, "an object whose values are texts")

    def choice(self, name: str, choices: Mapping[str, E]) -> E | None:
        """Return the member that a text stands for, or None."""
        value = self.optional_text(name)
        if value is None:
            return None
        if value in choices:
            return choices[value]
        raise self.refusal(name, f"one of {', '.join(choices)}")

    def required_choice(self, name: str, choices: Mapping[str, E], default: E | None = None) -> E:
        """Return the member that a text stands for, which must be there unless there is a default."""
        found = self.choice(name, choices)
        # A member may be false, as the least trust is.
        found = default if found is None else found
        if found is None:
            raise self.missing(name)
        return found

    def refusal(self, name: str, wanted: str) -> InvalidFileError:
        """Build the error that says what *name* should be."""
        return self._source.refusal(f"{name} should be {wanted}", line=self.line)

    def missing(self, name: str) -> InvalidFileError:
        """Build the error that says that *name* is not there."""
        remedy = "add it, or choose another --format"
        return self._source.refusal(f"{name} is missing", line=self.line, remedy=remedy)

    def _from_seconds(self, name: str, seconds: float) -> datetime:
        try:
            instant = datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):
            raise self.refusal(name, "seconds since 1970 of the years 1 to 9999") from None
        to_micros(instant)
        return instant


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """Open a file beside *path* that takes its place when the context ends well, and else is gone.

    A new file is its owner's alone; one that was there keeps its permissions.

    Raises:
        OSError: it cannot be written; what stood at *path* is untouched.
    """
    partial = path.parent / f".{path.name}.partial"
    try:
        partial.unlink(missing_ok=True)
        partial.touch(mode=0o600)
        if path.exists():
            partial.chmod(stat.S_IMODE(path.stat().st_mode))
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
