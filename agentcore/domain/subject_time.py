"""Reads the time a text is about, as exactly as it was given and no more exactly."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import IntEnum
from itertools import pairwise

from agentcore.errors import InvalidSubjectTimeError

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d))?)?)?", re.ASCII)
_OPEN = "?"
_RANGE = ".."
_EARLIEST = datetime.combine(date.min, time.min)
_LATEST = datetime.combine(date.max, time.max)


class Precision(IntEnum):
    """How much of a calendar value is known; a larger member is finer."""

    YEAR = 1
    MONTH = 2
    DAY = 3
    MINUTE = 4


def _overlap(one: "PartialDate | Span", other: "PartialDate | Span") -> bool:
    return one.begins < other.ends and other.begins < one.ends


@dataclass(frozen=True, slots=True, order=True)
class PartialDate:
    """A calendar value known to a year, month, day or minute; sorts by begin, then coarser first.

    Args:
        begins: Its first instant, naive; whatever is finer than the precision is cut off.
        precision: How much of it is known.

    Raises:
        InvalidSubjectTimeError: the value carries a time zone.

    Example:
        >>> june = PartialDate.parse("2019-06")
        >>> june.begins, june.ends
        (datetime.datetime(2019, 6, 1, 0, 0), datetime.datetime(2019, 7, 1, 0, 0))
        >>> june.contains(PartialDate.parse("2019-06-14")), str(june)
        (True, '2019-06')
    """

    begins: datetime
    precision: Precision

    def __post_init__(self) -> None:
        """Cut what is finer than the precision, so that equal dates are equal values."""
        if self.begins.tzinfo is not None:
            raise InvalidSubjectTimeError(value=self.begins.isoformat())
        value, precision = self.begins, self.precision
        month = value.month if precision >= Precision.MONTH else 1
        day = value.day if precision >= Precision.DAY else 1
        clock = time(value.hour, value.minute) if precision >= Precision.MINUTE else time.min
        cut = datetime.combine(date(value.year, month, day), clock)
        object.__setattr__(self, "begins", cut)

    @classmethod
    def parse(cls, text: str) -> "PartialDate":
        """Read `2019`, `2019-06`, `2019-06-14` or `2019-06-14T09:30`, years 0001 to 9999.

        Raises:
            InvalidSubjectTimeError: *text* is written otherwise, or names a day that no calendar has.
        """
        match = _DATE.fullmatch(text)
        if match is None:
            raise InvalidSubjectTimeError(value=text)
        known = 4 - match.groups()[:4].count(None)
        defaults = ("", "1", "1", "0", "0")
        year, month, day, hour, minute = (
            int(part or default) for part, default in zip(match.groups(), defaults, strict=True)
        )
        try:
            begins = datetime.combine(date(year, month, day), time(hour, minute))
        except ValueError:
            raise InvalidSubjectTimeError(value=text) from None
        return cls(begins, Precision(known))

    def __str__(self) -> str:
        return self.begins.isoformat(timespec="minutes")[: (4, 7, 10, 16)[self.precision - 1]]

    @property
    def ends(self) -> datetime:
        """Its end, exclusive, naive; `datetime.max` stands for the year 10000, which no datetime can hold."""
        begins = self.begins
        try:
            if self.precision is Precision.YEAR:
                return begins.replace(year=begins.year + 1)
            if self.precision is Precision.MONTH:
                return (begins + timedelta(days=31)).replace(day=1)
            return begins + (timedelta(days=1) if self.precision is Precision.DAY else timedelta(minutes=1))
        except (OverflowError, ValueError):
            return _LATEST

    def contains(self, other: "PartialDate") -> bool:
        """Tell whether *other* lies within this date; every date contains itself."""
        return self.begins <= other.begins and other.ends <= self.ends

    def compatible(self, other: "PartialDate") -> bool:
        """Tell whether both can be the same moment: one contains the other."""
        return self.contains(other) or other.contains(self)


@dataclass(frozen=True, slots=True)
class Span:
    """From the begin of one date to the end of another; None is an open end.

    A bound on the edge of the calendar (the begin of 0001, the end of 9999) is the same as an open end and
    becomes one. All time is `0001..9999`: a merge of two half-open spans arrives there, nobody says it.

    Args:
        start: Where it starts, or None.
        end: Where it ends, or None; not both None.

    Raises:
        InvalidSubjectTimeError: both ends are open, or the start lies after the end.

    Example:
        >>> str(Span.parse("2020..9999-12-31"))
        '2020..?'
    """

    start: PartialDate | None
    end: PartialDate | None

    def __post_init__(self) -> None:
        """Refuse what says nothing or runs backwards; bring the edges of the calendar into one form."""
        if (self.start is None and self.end is None) or self.begins >= self.ends:
            raise InvalidSubjectTimeError(value=str(self))
        first, last = _first(self), _last(self)
        if first is None and last is None:
            first, last = _ALL_TIME
        object.__setattr__(self, "start", first)
        object.__setattr__(self, "end", last)

    @classmethod
    def parse(cls, text: str) -> "Span":
        """Read `1995..2003`, `2020..?` or `?..2003`.

        Raises:
            InvalidSubjectTimeError: *text* is written otherwise, or the span is none.
        """
        start, dots, end = text.partition(_RANGE)
        if not dots:
            raise InvalidSubjectTimeError(value=text)
        return cls(*(None if part == _OPEN else PartialDate.parse(part) for part in (start, end)))

    def __str__(self) -> str:
        return f"{self.start or _OPEN}{_RANGE}{self.end or _OPEN}"

    @property
    def begins(self) -> datetime:
        """True begin, naive; `datetime.min` if open."""
        return _EARLIEST if self.start is None else self.start.begins

    @property
    def ends(self) -> datetime:
        """True end, exclusive, naive; `datetime.max` if open."""
        return _LATEST if self.end is None else self.end.ends


_ALL_TIME = (PartialDate.parse("0001"), PartialDate.parse("9999"))


def _first(span: Span) -> PartialDate | None:
    return None if span.begins <= _ALL_TIME[0].begins else span.start


def _last(span: Span) -> PartialDate | None:
    return None if span.ends >= _ALL_TIME[1].ends else span.end


def _hull(spans: list[Span]) -> Span | None:
    if not spans:
        return None
    starts, ends = [_first(span) for span in spans], [_last(span) for span in spans]
    known_starts = [bound for bound in starts if bound is not None]
    known_ends = [bound for bound in ends if bound is not None]
    start = min(known_starts) if len(known_starts) == len(spans) else None
    end = max(known_ends, key=lambda bound: (bound.ends, -bound.precision)) if len(known_ends) == len(spans) else None
    return Span(start, end) if start is not None or end is not None else Span(*_ALL_TIME)


@dataclass(frozen=True, slots=True)
class SubjectTime:
    """The time a text is about: points, a span, or both.

    Args:
        points: Moments; kept sorted, and without those that contain a more precise one.
        span: One stretch of time.

    Raises:
        InvalidSubjectTimeError: there is neither a point nor a span.

    Example:
        >>> str(SubjectTime.parse("1995..2003; 2019; 2019-06"))
        '2019-06; 1995..2003'
    """

    points: tuple[PartialDate, ...] = ()
    span: Span | None = None

    def __post_init__(self) -> None:
        """Sort the points and keep the most precise ones."""
        if not self.points and self.span is None:
            raise InvalidSubjectTimeError(value="")
        ordered = sorted(set(self.points))
        # Calendar dates nest or are apart, so what contains any later date contains its right neighbour.
        finest = [one for one, after in pairwise(ordered) if not one.contains(after)]
        object.__setattr__(self, "points", (*finest, *ordered[-1:]))

    @classmethod
    def parse(cls, text: str) -> "SubjectTime":
        """Read parts joined by `;`, each a date or a range, at most one of them a range.

        Raises:
            InvalidSubjectTimeError: a part cannot be read, or there are two ranges.
        """
        parts = [part.strip() for part in text.split(";")]
        spans = [Span.parse(part) for part in parts if _RANGE in part]
        if len(spans) > 1:
            raise InvalidSubjectTimeError(value=text)
        points = tuple(PartialDate.parse(part) for part in parts if _RANGE not in part)
        return cls(points, spans[0] if spans else None)

    def __str__(self) -> str:
        return "; ".join(str(part) for part in (*self.points, self.span) if part is not None)

    @staticmethod
    def merge(times: "Iterable[SubjectTime | None]") -> "SubjectTime | None":
        """Join what several texts say; order, grouping and repetition of *times* change nothing.

        Points: of compatible ones the more precise is kept, of incompatible ones both are. Span: it widens
        by true bounds, so the end of 2019 beats the end of 2019-06 and an open end beats any. Of dates with
        the same true bound (`2019` and `2019-12` as an end) the coarser is kept, which claims less.

        Example:
            >>> texts = ("2001..2019", "2003..2019-06")
            >>> str(SubjectTime.merge(SubjectTime.parse(text) for text in texts))
            '2001..2019'
        """
        known = [given for given in times if given is not None]
        if not known:
            return None
        points = tuple(point for given in known for point in given.points)
        return SubjectTime(points, _hull([given.span for given in known if given.span is not None]))


def compatible(one: SubjectTime | None, other: SubjectTime | None) -> bool:
    """Tell whether two texts can be about the same time; None can be about any.

    Every point needs a point of the other that it can equal, spans must overlap by their true bounds, and a
    kind that the other lacks is measured against the kind it has. A time is always compatible with itself.

    Example:
        >>> compatible(SubjectTime.parse("2019"), SubjectTime.parse("2019-06"))
        True
        >>> compatible(SubjectTime.parse("1995..2003"), SubjectTime.parse("2019"))
        False
    """
    return one is None or other is None or (_fits(one, other) and _fits(other, one))


def overlaps(one: SubjectTime, other: SubjectTime) -> bool:
    """Tell whether two times have a moment in common, by any of their parts.

    Example:
        >>> overlaps(SubjectTime.parse("2019; 1995..2003"), SubjectTime.parse("2001-06"))
        True
        >>> overlaps(SubjectTime.parse("2019"), SubjectTime.parse("2020..?"))
        False
    """
    return any(_overlap(part, another) for part in _parts(one) for another in _parts(other))


def _parts(time: SubjectTime) -> "tuple[PartialDate | Span, ...]":
    return time.points if time.span is None else (*time.points, time.span)


def _fits(one: SubjectTime, other: SubjectTime) -> bool:
    spans = () if other.span is None else (other.span,)
    for_points, for_span = other.points or spans, spans or other.points
    if not all(any(_overlap(point, part) for part in for_points) for point in one.points):
        return False
    return one.span is None or all(_overlap(one.span, part) for part in for_span)
