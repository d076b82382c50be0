"""Judges whether a text tells an answer: by its words, dates and numbers, so that the same text is always judged alike.

The rule, which `docs/how-to/measure-a-dream.md` publishes:

- The answer's *values* are its dates, times of day and numbers, in digits or in words. All of them must be told. A date
  counts in any spelling, and as what a line says relative to its own date (`yesterday` on 8 May); a line
  also tells its own date. A line tells no date that is much vaguer than the answer's.
- The answer's *words* are the stems of what is left of it without stop words and without the words of the question. At
  least `SHARE` of them must stand in the text.
- A value counts only on a line that also has two of the words which question and answer share with the evidence, or
  the only one there is; the speakers' names, which stand on every other line, do not count as such.
- Of an answer with a part in parentheses (`12 days (from 3 to 15 May)`), the first of these is looked for that the
  evidence tells: the whole, what stands outside, what stands inside.

A question is not judged (`Unjudged`) where its file gives no answer, where the answer is long (a summary, a list of
headings: more than `MOST_WORDS` words), and where not even the turns that are its evidence tell the answer by this
rule (the answer is inferred or computed, or told in other words).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from math import ceil
from typing import Final, cast

from agentcore.domain.subject_time import PartialDate, Span
from agentcore.errors import InvalidSubjectTimeError
from agentcore.lexicon.language import languages
from agentcore.recall.tokenizer import ENGLISH_STOP_WORDS, Tokenizer
from dream.guards.dates import Day
from dream.guards.detail import Detail, DetailKind
from dream.guards.details import measures_of
from dream.guards.numbers import Quantities, Quantity
from dream.guards.relative_dates import nearest_years, relative_dates

SHARE: Final = 0.75
"""Share of the answer's words that a text must have: of three all, of four three."""
MOST_WORDS: Final = 15
"""Words of the longest answer that is judged."""

_VAGUER: Final = timedelta(days=2)
"""How much longer than the answer's date a date may be that tells it: a weekend tells its Saturday."""
_YEARS: Final = range(1900, 2100)
_NO_YEAR: Final = range(2000, 2040)
"""What the year of an answer can be that tells none."""
_SAID: Final = re.compile(r"(?:- )?\[(\d{1,2} \w+ \d{4})\] (?:([^:]{1,60}): )?")
_SEEN: Final = re.compile(r" \((?:[^()]*; )?seen (\d{4}-\d{2}-\d{2})")
_BEFORE: Final = re.compile(r"(?:the )?([\w ]+?) before\b", re.IGNORECASE)
_STOP_WORDS: Final = ENGLISH_STOP_WORDS.union(*(one.function_words for one in languages()))
_TOKENIZER: Final = Tokenizer(_STOP_WORDS)
_GLUED: Final = re.compile(r"(?<=\d)(?=[A-Z][a-z])")
"""Where LoCoMo forgot a space: `25October`."""
_NEAR: Final = 2
"""Words of the answer or the question that a line must have if its values are to count."""
_PARENTHESES: Final = re.compile(r"\(([^()]*)\)")
_DAY: Final = timedelta(days=1)

_Stretch = tuple[datetime, datetime]


class Unjudged(StrEnum):
    """Why nothing can be said about a question."""

    NO_ANSWER = "no answer"
    """Its file gives none."""
    LONG = "long answer"
    """It is a summary or a list rather than an answer."""
    OTHER_WORDS = "other words"
    """Its evidence does not tell it by the rule either."""


@dataclass(frozen=True, slots=True)
class _AnswerLine:
    """What one line of a text says: stems, numbers, times of day, and stretches of time."""

    words: frozenset[str]
    numbers: tuple[Quantity, ...]
    times: frozenset[int]
    dates: tuple[_Stretch, ...]
    speaker: str

    @classmethod
    @lru_cache(maxsize=50_000)
    def of(cls, text: str) -> "_AnswerLine":
        said, seen = _SAID.match(text), _SEEN.search(text)
        told = text[said.end() :] if said else text[: seen.start()] if seen else text
        day = _day(said[1]) if said else date.fromisoformat(seen[1]) if seen else None
        found = measures_of(told)
        items = [*found, *found.also]
        dates = [stretch for item in items for stretch in _stretches(item, day)]
        if day is not None:
            mentions = relative_dates(told, day)
            dates += [_stretch(reading) for mention in mentions for reading in mention.readings]
            dates.append((datetime.combine(day, time.min), datetime.combine(day, time.min) + _DAY))
        return cls(
            words=frozenset(_TOKENIZER.tokens(text)),
            numbers=tuple(cast("Quantity", item.key) for item in items if item.kind is DetailKind.NUMBER),
            times=frozenset(cast("int", item.key) for item in items if item.kind is DetailKind.TIME),
            dates=tuple(dates),
            speaker=(said[2] or "") if said else "",
        )


@dataclass(frozen=True, slots=True)
class _Value:
    """A date, a time of day or a number of an answer.

    Args:
        dates: What it is as a date, any of which will do; none if it is none.
        time: What it is as a time of day, in seconds.
        number: What it is as a number.
    """

    dates: tuple[_Stretch, ...] = ()
    time: int | None = None
    number: Quantity | None = None

    def stands_in(self, line: _AnswerLine) -> bool:
        """Tell whether a line says it."""
        if self.number is not None and self.number in Quantities(line.numbers):
            return True
        if self.time is not None and self.time in line.times:
            return True
        return any(_tells(told, wanted) for wanted in self.dates for told in line.dates)


@dataclass(frozen=True, slots=True)
class AnswerKey:
    r"""What a text must say to tell the answer of a question; made once for each.

    Args:
        words: Stems of the answer's words.
        values: Its dates, times and numbers.
        topic: Stems of the question's and the answer's words that the evidence has too.

    Example:
        >>> key = AnswerKey.of("When did Ana move?", "7 May 2023", ["[8 May 2023] Ana: I moved yesterday!"])
        >>> key.is_told_by("Ana moved on 2023-05-07.\nBen stayed."), key.is_told_by("Ana moved.\nOn 7 May it rained.")
        (True, False)
    """

    words: frozenset[str]
    values: tuple[_Value, ...]
    topic: frozenset[str]

    @classmethod
    def of(cls, question: str, answer: str | None, evidence: Sequence[str]) -> "AnswerKey | Unjudged":
        """Return the key, or why there is none.

        Args:
            question: It.
            answer: Its answer.
            evidence: The turns that answer it, as lines of their date, speaker and text.
        """
        if answer is None:
            return Unjudged.NO_ANSWER
        lines = [_AnswerLine.of(" ".join(one.split())) for one in evidence]
        keys = [cls._of(question, part, lines) for part in _parts(answer)]
        # Of 12 days (from 3 to 15 May) the evidence often tells what stands in parentheses alone.
        told = [key for key in keys if isinstance(key, AnswerKey) and key.is_in(lines)]
        return told[0] if told else keys[0] if isinstance(keys[0], Unjudged) else Unjudged.OTHER_WORDS

    @classmethod
    def _of(cls, question: str, answer: str, lines: Sequence[_AnswerLine]) -> "AnswerKey | Unjudged":
        speakers = frozenset(term for line in lines for term in _TOKENIZER.tokens(line.speaker))
        asked = frozenset(_TOKENIZER.tokens(question))
        details = [item for item in measures_of(answer) if item.kind is not DetailKind.WEEKDAY]
        left = answer
        for detail in details:
            left = left.replace(detail.text, " ")
        # Of a text of stop words alone a tokenizer keeps them, and they say nothing here.
        words = frozenset(_TOKENIZER.tokens(left)) - _STOP_WORDS
        values = tuple(_values(answer, details))
        words = words - asked - speakers or (frozenset() if values else words)
        if len(words) > MOST_WORDS:
            return Unjudged.LONG
        told = frozenset[str]().union(*(line.words for line in lines))
        return cls(words, values, ((asked | words) & told) - speakers) if words or values else Unjudged.OTHER_WORDS

    def is_told_by(self, text: str) -> bool:
        """Tell whether a text says the answer."""
        return self.is_in([_AnswerLine.of(line) for line in text.splitlines()])

    def is_in(self, lines: Sequence[_AnswerLine]) -> bool:
        """Tell whether lines say the answer together."""
        told = frozenset[str]().union(*(line.words for line in lines))
        # A value says most of an answer that has one: of two words beside it one will do, and one may be missing.
        fewest = len(self.words) // 2 if self.values else ceil(SHARE * len(self.words))
        if len(self.words & told) < fewest:
            return False
        about = [line for line in lines if len(self.topic & line.words) >= min(_NEAR, len(self.topic))]
        return all(any(value.stands_in(line) for line in about) for value in self.values)


def _parts(answer: str) -> list[str]:
    """Return an answer, what is left of it without its parentheses, and what stands in these."""
    plain = _GLUED.sub(" ", answer)
    inside = " ".join(_PARENTHESES.findall(plain))
    return [plain, _PARENTHESES.sub(" ", plain), inside] if inside else [plain]


def _values(answer: str, details: Iterable[Detail]) -> Iterable[_Value]:
    for detail in details:
        if detail.kind is DetailKind.TIME:
            yield _Value(time=cast("int", detail.key))
            continue
        number = cast("Quantity", detail.key) if detail.kind is DetailKind.NUMBER else None
        yield _Value(dates=tuple(_wanted(answer, detail)), number=number)


def _wanted(answer: str, detail: Detail) -> list[_Stretch]:
    """Return what the date of an answer can be; `the week before 9 June` is a week, whatever 9 June is."""
    dates = _stretches(detail, None)
    before = _BEFORE.match(answer)
    if not dates or before is None or answer.find(detail.text) < before.end():
        return dates
    end = dates[0][0]
    told = [*relative_dates(f"last {before[1]}", end.date()), *relative_dates(f"{before[1]} ago", end.date())]
    return [_stretch(reading) for mention in told for reading in mention.readings] or [(end - timedelta(days=7), end)]


def _stretches(item: Detail, said: date | None) -> list[_Stretch]:
    """Return the dates that a detail can be; one without a year is any near the day it was said."""
    if item.kind is DetailKind.NUMBER:
        quantity = cast("Quantity", item.key)
        years = [int(value) for value in quantity.values if value.isdecimal() and quantity.unit is None]
        return [_stretch(PartialDate.parse(f"{year:04}")) for year in years if year in _YEARS]
    return [_stretch(one) for one in _dates(cast("Day", item.key), said)] if item.kind is DetailKind.DATE else []


def _dates(day: Day, said: date | None) -> Iterable[PartialDate]:
    if day.raw or (day.year is None and day.month is None):
        return ()
    if day.year is not None:
        parts = [f"{part:02}" for part in (day.month, day.day) if part is not None]
        try:
            return (PartialDate.parse("-".join([f"{day.year:04}", *parts])),)
        except InvalidSubjectTimeError:
            return ()
    month = day.month or 1
    near = [said] if said is not None else [date(year, month, 1) for year in _NO_YEAR]
    return (one for each in near for one in nearest_years(month, day.day, each)[: None if said else 1])


def _stretch(reading: PartialDate | Span) -> _Stretch:
    return reading.begins, reading.ends


def _tells(told: _Stretch, wanted: _Stretch) -> bool:
    overlaps = told[0] < wanted[1] and wanted[0] < told[1]
    return overlaps and told[1] - told[0] <= max(wanted[1] - wanted[0], _VAGUER)


def _day(written: str) -> date | None:
    day = next((cast("Day", item.key) for item in measures_of(written).of(DetailKind.DATE)), None)
    return date(day.year, day.month, day.day) if day and day.year and day.month and day.day else None
