"""Defines one detail of a text, and the scan that finds details."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import regex

_DIGIT = regex.compile(r"\d")


class DetailKind(StrEnum):
    """What sort of detail it is; the value is shown to people."""

    NAME = "name"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    WEEKDAY = "weekday"
    NEGATION = "negation"
    CODE = "code"
    URL = "url"
    EMAIL = "email"
    IDENTIFIER = "identifier"


@dataclass(frozen=True, slots=True)
class Detail:
    """A detail as it was written, and the form in which two spellings of it are equal.

    Args:
        kind: What sort of detail it is.
        text: As it stands in the text; at most 200 characters.
        key: Equal for equivalent spellings, per kind: a folded word, a `Quantity`, a `Day`, minutes of the day.

    Example:
        >>> str(Detail(DetailKind.NAME, "Porto", "porto"))
        "name 'Porto'"
    """

    kind: DetailKind
    text: str
    key: Hashable

    def __str__(self) -> str:
        return f"{self.kind.value} {self.text!r}"


def distinct(details: Iterable[Detail]) -> tuple[Detail, ...]:
    """Return details without those that say the same as an earlier one."""
    first: dict[tuple[DetailKind, Hashable], Detail] = {}
    for detail in details:
        first.setdefault((detail.kind, detail.key), detail)
    return tuple(first.values())


@dataclass(slots=True)
class TextScan:
    """A text while it is read: each reader covers what it understood, so that the next one passes over it.

    Args:
        text: What is left to read; as long as the original at any time.
        original: As it was written, after digits and apostrophes were brought into one form.
        language: Two letters.
        found: What was found so far, with the place where it stands.
        also: Other forms of what was found, which back another text and are demanded of none.
    """

    text: str
    original: str
    language: str
    found: list[tuple[int, Detail]]
    also: list[Detail] = field(default_factory=list[Detail])

    def add(self, kind: DetailKind, start: int, end: int, key: Hashable) -> None:
        """Note a detail that stands from *start* to *end*."""
        self.found.append((start, Detail(kind, self.original[start : min(end, start + 200)].strip(), key)))

    def take(
        self, kind: DetailKind, pattern: "regex.Pattern[str]", key: Callable[["regex.Match[str]"], Hashable | None]
    ) -> None:
        """Note and cover what a pattern finds; what has no key is passed over."""
        spans: list[tuple[int, int]] = []
        for match in pattern.finditer(self.text):
            found = key(match)
            if found is not None:
                self.add(kind, *match.span(), found)
                spans.append(match.span())
        self.cover(spans)

    def imply(self, kind: DetailKind, text: str, key: Hashable) -> None:
        """Note another form of something that the text says: of `14 h` the time 14:00."""
        self.also.append(Detail(kind, text[:200], key))

    @property
    def has_digits(self) -> bool:
        """Whether digits are left: most texts have none, and most readers look for nothing else."""
        return _DIGIT.search(self.text) is not None

    def cover(self, spans: list[tuple[int, int]]) -> None:
        """Cover spans, given in reading order, with a character that no reader knows."""
        if not spans:
            return
        pieces: list[str] = []
        done = 0
        for start, end in spans:
            if start < done:
                continue
            pieces += (self.text[done:start], COVER * (end - start))
            done = end
        self.text = "".join((*pieces, self.text[done:]))


COVER = "\x1a"
"""Stands where a reader has been: no letter, no space, no punctuation."""
