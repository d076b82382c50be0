"""Tells from when until when what an entry says held, once another entry took its place."""

from dataclasses import replace
from datetime import UTC, datetime

from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.subject_time import PartialDate, Precision, Span, SubjectTime


def superseded(entry: MemoryEntry, *, by: MemoryEntry, reason: str, at: datetime) -> MemoryEntry:
    """Return *entry* after another one took its place: superseded, with the reason, and with the end of its validity.

    It held until its successor began to: the begin of the successor's subject time or, where that names none, the day
    (UTC) on which the successor was first said. An end that the entry's own subject time names earlier stays. A
    successor that did not begin later corrects the entry, so nothing tells that it ever held: it has no such end.

    Args:
        entry: What does not hold any longer.
        by: Its successor.
        reason: Why, as people read it.
        at: When it leaves the active state.

    Example:
        >>> from agentcore.domain.scope import Scope
        >>> said = {"scope": Scope.default(), "recorded_at": datetime(2024, 5, 1, tzinfo=UTC)}
        >>> said |= {"created_at": said["recorded_at"], "last_seen_at": said["recorded_at"]}
        >>> porto = MemoryEntry(id="a", content="Ana lives in Porto.", **said)
        >>> moved = MemoryEntry(
        ...     id="b", content="Ana moved to Lisbon.", subject_time=SubjectTime.parse("2022-03"), **said)
        >>> str(superseded(porto, by=moved, reason="She moved.", at=said["recorded_at"]).valid_until)
        '2022-03'
    """
    until, time = _begin_after(entry, by), entry.subject_time
    if until is not None and time is not None and time.span is not None and time.span.ends < until.ends:
        until = time.span.end
    return replace(
        entry, status=Status.SUPERSEDED, status_reason=reason, successor=by.id, status_at=at, valid_until=until
    )


def _begin_after(entry: MemoryEntry, successor: MemoryEntry) -> PartialDate | None:
    """Return when *successor* began to hold, if that is later than the begin of *entry*, as far as that is known."""
    begin, own = begin_of(successor.subject_time), begin_of(entry.subject_time)
    if begin is not None:
        return begin if own is None or own.begins < begin.begins else None
    return day_of(successor.created_at) if entry.created_at < successor.created_at else None


def revived(entry: MemoryEntry) -> MemoryEntry:
    """Return a retired *entry* as an active one, of which nothing tells that it was retired."""
    return replace(entry, status=Status.ACTIVE, status_reason=None, successor=None, status_at=None, valid_until=None)


def begin_of(time: SubjectTime | None) -> PartialDate | None:
    """Return the earliest date that a subject time names as a point or as the start of its span.

    Example:
        >>> str(begin_of(SubjectTime.parse("2024-05; 2023..2025"))), begin_of(SubjectTime.parse("?..2003"))
        ('2023', None)
    """
    if time is None:
        return None
    named = (*time.points, None if time.span is None else time.span.start)
    return min((date for date in named if date is not None), default=None)


def day_of(instant: datetime) -> PartialDate:
    """Return the day of an instant, in UTC."""
    return PartialDate(instant.astimezone(UTC).replace(tzinfo=None), Precision.DAY)


def time_held(time: SubjectTime | None, *, since: PartialDate, until: PartialDate | None) -> SubjectTime:
    """Return the time in which a text held that took another's place, or whose place another took.

    Args:
        time: Its subject time; a span of it that ends is all the time it held in.
        since: When it held first, as far as its subject time does not tell.
        until: When it stopped to hold; None if it holds.

    Example:
        >>> day = PartialDate.parse("2021-05-01")
        >>> str(time_held(None, since=day, until=PartialDate.parse("2022-03")))
        '2021-05-01..2022-03'
        >>> str(time_held(SubjectTime.parse("2022-03"), since=day, until=None))
        '2022-03; 2022-03..?'
    """
    if time is not None and time.span is not None and time.span.end is not None:
        return time
    start = begin_of(time) or since
    is_told_late = until is not None and start.begins >= until.ends
    return SubjectTime(() if time is None else time.points, Span(None if is_told_late else start, until))
