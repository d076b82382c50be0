"""One JSON object of a file, read field by field."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import TypeVar, cast

from agentcore.domain.instants import from_text, to_micros
from agentcore.domain.text import clean_content
from dream.errors import InvalidFileError
from dream.interfaces.exchange.source import Source

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

    def __init__(self, source: Source, line: int, values: Mapping[str, object]) -> None:
        self._source = source
        self._values = values
        self.line = line

    def content(self, name: str) -> str:
        """Return a text that can be stored as content."""
        value = self._values.get(name)
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
        value = self._values.get(name)
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
        value = self._values.get(name)
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
        value = self._values.get(name)
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        raise self.refusal(name, "a number from 0 to 1")

    def count(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """Return a whole number of at least *least*; it must be there unless there is a default."""
        value = self._values.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63:
            return value
        raise self.refusal(name, f"a whole number from {least} up")

    def optional_count(self, name: str) -> int | None:
        """Return a whole number from 0 up, or None if there is none."""
        return None if self._values.get(name) is None else self.count(name)

    def flag(self, name: str, *, default: bool | None = None) -> bool:
        """Return true or false; it must be there unless there is a default."""
        value = self._values.get(name, default)
        if isinstance(value, bool):
            return value
        raise self.refusal(name, "true or false")

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty if it is not there."""
        value = self._values.get(name)
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
        value = self._values.get(name)
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

    def required_choice(self, name: str, choices: Mapping[str, E]) -> E:
        """Return the member that a text stands for, which must be there."""
        found = self.choice(name, choices)
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
