"""Converts instants, and merges dates, counts, importance and marks when entries become one."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from agentcore.domain.evidence import Evidence, SourceKind, SourceRef, united_evidence
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.subject_time import SubjectTime, compatible
from agentcore.domain.text import normalise
from agentcore.errors import InvalidContentError

Observations = tuple[tuple[str, int], ...]
"""Distinct observations: `(entry id, times observed)`, sorted by id, counts >= 1."""

STICKY_MARKS = ("requires_user_permission",)
"""Metadata keys that, once set on any source, stay set through every merge."""

_UNSET = frozenset({"", "0", "false", "no", "off"})


def merge_observations(observations: Iterable[Iterable[tuple[str, int]]]) -> Observations:
    """Return the union of *observations*; where one id comes with two counts, the larger holds.

    A maximum per id is associative, order-free and idempotent, so that a source named twice or reached
    through two merges is counted once.

    Example:
        >>> merge_observations([[("b", 2), ("a", 1)], [("b", 3)]])
        (('a', 1), ('b', 3))
    """
    counts: dict[str, int] = {}
    for known in observations:
        for entry_id, count in known:
            counts[entry_id] = max(count, counts.get(entry_id, 0))
    return tuple(sorted((entry_id, count) for entry_id, count in counts.items() if count > 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Temporal:
    """The part of an entry that merges by arithmetic alone: associative, commutative and idempotent.

    Args:
        created_at: First observation.
        last_seen_at: Last reinforcement.
        base: Importance at the last reinforcement, 0..1.
        observations: The entry's own and those it absorbed.
        subject_time: The time the content is about, if any.
    """

    created_at: datetime
    last_seen_at: datetime
    base: float
    observations: Observations
    subject_time: SubjectTime | None

    @classmethod
    def of(cls, entry: MemoryEntry) -> "Temporal":
        """Return what *entry* contributes to a merge."""
        return cls(
            created_at=entry.created_at,
            last_seen_at=entry.last_seen_at,
            base=entry.base,
            observations=merge_observations([[(entry.id, entry.own_count)], entry.absorbed]),
            subject_time=entry.subject_time,
        )

    @classmethod
    def merge(cls, parts: "Sequence[Temporal]") -> "Temporal":
        """Join one or more *parts*: earliest creation, latest sight, largest base, distinct observations.

        Taking (largest base, latest sight) as a pair makes decay independent of how often entries merged.
        """
        return cls(
            created_at=min(part.created_at for part in parts),
            last_seen_at=max(part.last_seen_at for part in parts),
            base=max(part.base for part in parts),
            observations=merge_observations(part.observations for part in parts),
            subject_time=SubjectTime.merge(part.subject_time for part in parts),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFields:
    """What a new entry takes over from the entries it was made of; the rest is the author's to fill.

    Args:
        created_at: Earliest of the sources.
        last_seen_at: Latest of the sources.
        base: Largest of the sources; an upper bound for what a model may give.
        absorbed: Distinct observations of all sources, sorted.
        subject_time: What the sources say together.
        trust: Least of the sources.
        pinned: Whether any source is pinned.
        tags: All tags of the sources, sorted.
        metadata: All keys of the sources; the oldest source wins, sticky marks stay set.
        sources: References to the source entries, sorted.
        evidence: The sentences that the sources rest on, as `united_evidence` joins them.
    """

    created_at: datetime
    last_seen_at: datetime
    base: float
    absorbed: Observations
    subject_time: SubjectTime | None
    trust: Trust
    pinned: bool
    tags: tuple[str, ...]
    metadata: Mapping[str, str]
    sources: tuple[SourceRef, ...]
    evidence: tuple[Evidence, ...]


def merged_fields(sources: Sequence[MemoryEntry]) -> MergedFields:
    """Compute what a merge of *sources* into a new entry takes over from them; their order changes nothing.

    As the new entry carries the least trust of its sources, each of them contributes in full.

    Raises:
        InvalidContentError: there is no source.
    """
    if not sources:
        raise InvalidContentError(field="merge", problem="it names no source; give at least one entry")
    joined = Temporal.merge([Temporal.of(source) for source in sources])
    return MergedFields(
        created_at=joined.created_at,
        last_seen_at=joined.last_seen_at,
        base=joined.base,
        absorbed=joined.observations,
        subject_time=joined.subject_time,
        trust=min(source.trust for source in sources),
        pinned=any(source.pinned for source in sources),
        tags=_united_tags(sources),
        metadata=_merged_metadata(_oldest_first(sources), marked_by=sources),
        sources=tuple(sorted({SourceRef(SourceKind.ENTRY, source.id) for source in sources})),
        evidence=united_evidence(source.evidence for source in sources),
    )


def absorb(survivor: MemoryEntry, copies: Sequence[MemoryEntry]) -> MemoryEntry:
    """Return *survivor* after it took over its *copies*; their order changes nothing, nor does a repetition.

    The survivor keeps its id, text, category, level, trust, state, version, `recorded_at` and `updated_at`.
    It takes the earliest creation, latest sight, largest base, distinct observations, tags, sources, evidence, subject
    time, and such metadata keys as it lacks (the oldest copy's value). A copy with less trust gives only its
    protections, the pin and the sticky marks: whatever else it says would rise to the survivor's trust; it
    stays readable in the archive.
    """
    others = [copy for copy in copies if copy.id != survivor.id]
    pooled = [survivor, *_oldest_first(copy for copy in others if copy.trust >= survivor.trust)]
    joined = Temporal.merge([Temporal.of(entry) for entry in pooled])
    counts = dict(joined.observations)
    origins = {source for entry in pooled for source in entry.sources}
    return replace(
        survivor,
        created_at=joined.created_at,
        last_seen_at=joined.last_seen_at,
        base=joined.base,
        importance=joined.base,
        own_count=counts.pop(survivor.id, survivor.own_count),
        absorbed=tuple(counts.items()),
        subject_time=joined.subject_time,
        tags=_united_tags(pooled),
        metadata=_merged_metadata(pooled, marked_by=[survivor, *others]),
        pinned=any(entry.pinned for entry in (survivor, *others)),
        sources=tuple(sorted(origins - {SourceRef(SourceKind.ENTRY, survivor.id)})),
        evidence=united_evidence(entry.evidence for entry in pooled),
    )


def foldable(one: MemoryEntry, other: MemoryEntry, protected: Collection[str] = ()) -> bool:
    """Tell whether two entries say the same and may become one without a model's judgement.

    Compatibility of times is not transitive (`2019` and `2020` both fit an entry without a time): fold a
    group one by one, asking with the survivor as absorbed so far.

    Args:
        one: An entry.
        other: Another one of the same scope.
        protected: Categories that no dream touches, each with all below it.
    """
    category = one.category.casefold()
    return (
        one.id != other.id
        and one.scope == other.scope
        and one.is_active
        and other.is_active
        and one.level is other.level
        and not one.is_conclusion
        and category == other.category.casefold()
        and not any(_is_under(category, prefix.casefold().rstrip("/")) for prefix in protected)
        and compatible(one.subject_time, other.subject_time)
        and normalise(one.content) == normalise(other.content)
    )


def marks_of(entry: MemoryEntry) -> tuple[str, ...]:
    """Return the sticky marks that are set on *entry*."""
    return tuple(mark for mark in STICKY_MARKS if _is_set(entry.metadata, mark))


def _is_under(category: str, prefix: str) -> bool:
    return category == prefix or category.startswith(f"{prefix}/")


def _oldest_first(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    return sorted(entries, key=lambda entry: (entry.created_at, entry.id))


def _united_tags(entries: Iterable[MemoryEntry]) -> tuple[str, ...]:
    return tuple(sorted({tag for entry in entries for tag in entry.tags}))


def _merged_metadata(ranked: Sequence[MemoryEntry], *, marked_by: Iterable[MemoryEntry]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for entry in reversed(ranked):
        merged.update(entry.metadata)
    for mark in {mark for entry in marked_by for mark in marks_of(entry)}:
        if not _is_set(merged, mark):
            merged[mark] = "true"
    return merged


def _is_set(metadata: Mapping[str, str], mark: str) -> bool:
    # A safety mark errs on the safe side: whatever is not plainly a no is a yes.
    return metadata.get(mark, "").strip().casefold() not in _UNSET


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOWEST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_HIGHEST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_HOUR_MINUTE = r"(?:[01]\d|2[0-3]):[0-5]\d"
_TEXT = re.compile(
    rf"\d{{4}}-\d\d-\d\d(?P<time>[T ]{_HOUR_MINUTE}:[0-5]\d(?:\.\d{{1,9}})?(?P<zone>Z|[+-]{_HOUR_MINUTE})?)?",
    re.ASCII | re.IGNORECASE,
)
_HINT = "write it like 2025-05-01T10:00:00Z, 2025-05-01T12:00:00+02:00 or 2025-05-01"


def _refusal(problem: str) -> InvalidContentError:
    return InvalidContentError(field="instant", problem=problem)


def to_micros(instant: datetime) -> int:
    """Return *instant* as whole microseconds since 1970-01-01T00:00:00Z, exactly.

    Raises:
        InvalidContentError: it has no time zone, or its UTC value leaves the years 1 to 9999.

    Example:
        >>> to_micros(datetime(1970, 1, 2, tzinfo=UTC))
        86400000000
    """
    try:
        micros = (instant - _EPOCH) // _MICROSECOND
    except TypeError:
        raise _refusal(f"{instant.isoformat()} has no time zone; give one, such as UTC") from None
    if not _LOWEST <= micros <= _HIGHEST:
        raise _refusal(f"{instant.isoformat()} lies outside the years 1 to 9999 in UTC")
    return micros


def from_micros(micros: int) -> datetime:
    """Return the instant *micros* microseconds after the epoch, aware and in UTC; inverse of `to_micros`.

    Raises:
        InvalidContentError: it lies outside the years 1 to 9999.

    Example:
        >>> from_micros(86_400_000_001)
        datetime.datetime(1970, 1, 2, 0, 0, 0, 1, tzinfo=datetime.timezone.utc)
    """
    try:
        # By place: naming the argument doubles the time, and a turn's context has a hundred instants.
        return _EPOCH + timedelta(0, 0, micros)
    except OverflowError:
        raise _refusal(f"{micros} microseconds lie outside the years 1 to 9999") from None


def to_text(instant: datetime) -> str:
    """Return *instant* as RFC 3339 in UTC, with microseconds only where there are some.

    Raises:
        InvalidContentError: as `to_micros`.

    Example:
        >>> to_text(datetime(2025, 5, 1, 10, tzinfo=UTC))
        '2025-05-01T10:00:00Z'
    """
    utc = instant if instant.tzinfo is UTC else from_micros(to_micros(instant))
    return utc.isoformat().removesuffix("+00:00") + "Z"


def from_text(text: str) -> datetime:
    """Read an RFC 3339 instant with any offset, or a date alone (its midnight in UTC); the result is in UTC.

    Digits below the microsecond are cut off.

    Raises:
        InvalidContentError: *text* is written otherwise, has no offset, or names no real instant.

    Example:
        >>> to_text(from_text("2025-05-01T12:00:00+02:00"))
        '2025-05-01T10:00:00Z'
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _refusal(f"{text[:80]!r} is no instant; {_HINT}")
    if match["time"] and not match["zone"]:
        raise _refusal(f"{text[:80]!r} has no time zone; {_HINT}")
    try:
        instant = datetime.fromisoformat(text.upper())
        return instant.astimezone(UTC) if match["time"] else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _refusal(f"{text[:80]!r} is on no calendar; {_HINT}") from None
