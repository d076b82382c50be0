"""Times a fact may name: those the cited turns name, those their relative dates come to, and the days of the turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agentcore.domain.conversation import Turn
from agentcore.domain.subject_time import PartialDate, Precision, Span, SubjectTime
from agentcore.errors import InvalidSubjectTimeError
from dream.guards.detail import DetailKind
from dream.guards.details import Details, measures_of
from dream.passes.conversation.evidence import TurnEvidence
from dream.passes.conversation.relative_dates import DateMention, DateReading, day_of, nearest_years, relative_dates

if TYPE_CHECKING:
    from dream.guards.dates import Day
    from dream.guards.numbers import Quantity


_YEARS = range(1000, 3000)
_SECONDS_OF_MINUTE = 60


@dataclass(frozen=True, slots=True)
class EvidenceTimes:
    """The times that a fact's turns tell.

    Args:
        dates: What a date of the fact has to agree with.
        minutes: Times of day that stand in the turns, in minutes since midnight.
        in_quote: What the quote comes to, if it holds one relative date and no other.
    """

    dates: frozenset[PartialDate]
    minutes: frozenset[int]
    in_quote: SubjectTime | None

    @classmethod
    def of(cls, evidence: TurnEvidence) -> "EvidenceTimes":
        """Read the turns of a fact."""
        dates: set[PartialDate] = set()
        minutes: set[int] = set()
        for turn in evidence.turns:
            found = measures_of(turn.content)
            dates.add(day_of(turn.occurred_at.date()))
            dates.update(_named(found, turn))
            for mention in relative_dates(turn.content, turn.occurred_at.date()):
                dates.update(bound for reading in mention.readings for bound in _bounds(reading))
            times = (item for item in (*found, *found.also) if item.kind is DetailKind.TIME)
            minutes.update(cast("int", item.key) // _SECONDS_OF_MINUTE for item in times)
        return cls(frozenset(dates), frozenset(minutes), _of_quote(evidence))

    def sentences(self) -> str:
        """Return the dates as a text that backs up what a fact says: with weekday, and years alone."""
        days = (f"{date} {date.begins:%A}" if date.precision is Precision.DAY else str(date) for date in self.dates)
        # Without stops, each of which would begin a clause for the guard to compare.
        return " ".join(sorted(days))

    def follows(self, subject: SubjectTime) -> bool:
        """Tell whether every bound of a subject time agrees with a date that was told, and is no more exact."""
        bounds = [*subject.points, *(_bounds(subject.span) if subject.span else ())]
        return all(self._has(bound) for bound in bounds)

    def _has(self, bound: PartialDate) -> bool:
        if bound.precision is Precision.MINUTE:
            told = bound.begins.hour * 60 + bound.begins.minute in self.minutes
            return told and day_of(bound.begins.date()) in self.dates
        return any(bound.contains(date) for date in self.dates)


def subject_time_of(given: object, told: EvidenceTimes) -> tuple[SubjectTime | None, bool]:
    """Return the subject time of a fact, and whether what the model gave was dropped.

    Args:
        given: What stood in the answer; None or blank is nothing.
        told: What the fact's turns say of times.
    """
    if given is None or (isinstance(given, str) and not given.strip()):
        return told.in_quote, False
    try:
        subject = SubjectTime.parse(given.strip()) if isinstance(given, str) else None
    except InvalidSubjectTimeError:
        subject = None
    if subject is not None and told.follows(subject):
        return subject, False
    return told.in_quote, True


def _named(found: Details, turn: Turn) -> Iterator[PartialDate]:
    """Return the dates of a text; one without a year gets those near the day it was said."""
    for item in found.of(DetailKind.DATE):
        day = cast("Day", item.key)
        if day.year is not None and not day.raw:
            yield from _partial(day.year, day.month, day.day)
        elif day.month is not None:
            yield from nearest_years(day.month, day.day, turn.occurred_at.date())
    for item in found.of(DetailKind.NUMBER):
        for value in cast("Quantity", item.key).values:
            if value.isdecimal() and int(value) in _YEARS:
                yield from _partial(int(value), None, None)


def _partial(year: int, month: int | None, day: int | None) -> Iterator[PartialDate]:
    text = f"{year:04}" + "".join(f"-{part:02}" for part in (month, day) if part is not None)
    try:
        yield PartialDate.parse(text)
    except InvalidSubjectTimeError:
        return  # a day that no calendar has


def _of_quote(evidence: TurnEvidence) -> SubjectTime | None:
    if measures_of(evidence.quote).of(DetailKind.DATE):
        return None
    told = relative_dates(evidence.quote, evidence.quoted.occurred_at.date())
    # For how long something has been so says nothing of when it is.
    mentions: Sequence[DateMention] = [mention for mention in told if not mention.begins]
    if len(mentions) != 1 or not mentions[0].sure:
        return None
    reading = mentions[0].readings[0]
    return SubjectTime(span=reading) if isinstance(reading, Span) else SubjectTime((reading,))


def _bounds(reading: DateReading) -> tuple[PartialDate, ...]:
    if isinstance(reading, PartialDate):
        return (reading,)
    return tuple(bound for bound in (reading.start, reading.end) if bound is not None)
