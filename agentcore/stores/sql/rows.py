"""Builds records of rows, and rows of records: entries by hand, all others by the names of their columns.

It also words the conditions that filters and protections set on rows of entries.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

import orjson
from sqlalchemy import ColumnElement, Table, and_, exists, false, func, or_, select

from agentcore.domain.card import CardSection
from agentcore.domain.conclusion import Confidence, Pattern, Premise
from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef
from agentcore.domain.filters import EntryFilter
from agentcore.domain.hypothesis import Factor, HypothesisSource, LoggedDecision, WeighedEntry
from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
from agentcore.domain.question import QuestionCause, QuestionState, QuestionVerdict
from agentcore.domain.record_fields import (
    decision_image,
    decision_of,
    evidence_image,
    premise_image,
    weighed_image,
    weighed_of,
)
from agentcore.domain.records import Record, builder
from agentcore.domain.signals import FailureCategory, FeedbackKind, Rating
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.domain.text import fold_key
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.transaction import (
    Transaction,
    encode,
    has_element,
    is_active,
    is_retired,
    micros,
    of_my_scope,
    starts_with,
)
from agentcore.stores.values import FILING_MARK

_UNREADABLE = (ArithmeticError, LookupError, TypeError, ValueError)
"""What is raised where a value of a row is not what the storage writes there; JSON's error is one of them."""


class DamagedRowError(Exception):
    """A row holds a value that the storage never wrote; `storage_faults` says it of the database."""


R = TypeVar("R", bound=Record)


def _all_texts(column: str) -> tuple[str, ...]:
    return tuple(orjson.loads(column))


def _refs(column: str) -> tuple[SourceRef, ...]:
    return tuple(map(SourceRef.parse, orjson.loads(column)))


def _each(read: Callable[[Any], Any]) -> Callable[[str], tuple[Any, ...]]:
    return lambda column: tuple(map(read, orjson.loads(column)))


def members_of(kind: type[Enum]) -> Callable[[Any], Any]:
    """Return what reads a column that holds the value of a member."""
    # A table is asked in a tenth of the time in which an enumeration is.
    return {member.value: member for member in kind}.__getitem__


def to_premises(column: str) -> tuple[Premise, ...]:
    """Read the premises of a conclusion, or of a line of the card."""
    return tuple(map(_premise, orjson.loads(column)))


_READERS: dict[str, Any] = {
    "trust": members_of(Trust),
    "status": members_of(Status),
    "kind": members_of(FeedbackKind),
    "rating": members_of(Rating),
    "failure_category": members_of(FailureCategory),
    "cause": members_of(QuestionCause),
    "state": members_of(QuestionState),
    "verdict": members_of(QuestionVerdict),
    "section": members_of(CardSection),
    "members": _refs,
    "sources": _refs,
    "premises": to_premises,
    "result": SourceRef.parse,
    "see_also": _all_texts,
    "own": _all_texts,
    "generated": bool,
    "observers": _all_texts,
    "learning": bool,
    "pinned": bool,
    "succeeded": bool,
    "source_refs": _each(HypothesisSource.parse),
    "factors": _each(Factor.parse),
    "quotes": _all_texts,
    "touching": _refs,
    "weighed": _each(weighed_of),
    "decisions": _each(decision_of),
    "subject_time": SubjectTime.parse,
}


_IMAGES: Mapping[type, Callable[[Any], Any]] = {
    Premise: premise_image,
    LoggedDecision: decision_image,
    WeighedEntry: weighed_image,
}
"""How the items of a list are written that are more than a text."""


class RecordRows(Generic[R]):
    """The mapping between one record type and one table."""

    def __init__(
        self, record_type: type[R], table: Table, readers: Mapping[str, Callable[[Any], Any]] = MappingProxyType({})
    ) -> None:
        self.table = table
        self._build = builder(record_type)
        every = fields(record_type)
        self._fields = tuple(one.name for one in every if one.name != "scope")
        self._defaults = tuple(None if one.default is MISSING else one.default for one in every if one.name != "scope")
        self._place_of_scope = [one.name for one in every].index("scope")
        self.columns = tuple(table.c[name] for name in self._fields)
        self.mine = select(*self.columns).where(of_my_scope(table))
        self.by_id = self.mine.order_by(table.c.id)
        self._readers = tuple(readers.get(name) or _reader(name) for name in self._fields)

    def read(self, transaction: Transaction, row: Sequence[Any]) -> R:
        """Build the record of a row of `columns`."""
        try:
            values = [
                default if value is None else value if read is None else read(value)
                for read, default, value in zip(self._readers, self._defaults, row, strict=False)
            ]
            values.insert(self._place_of_scope, transaction.scope)
            return self._build(values)
        except _UNREADABLE as error:
            raise DamagedRowError from error

    def write(self, transaction: Transaction, record: R) -> dict[str, Any]:
        """Return the columns of *record*, the scope's key included; InvalidContentError if it is of another scope."""
        transaction.require_mine(record.scope)
        values = {name: _to_column(getattr(record, name)) for name in self._fields}
        return values | {"scope_id": transaction.scope_id}


def _reader(name: str) -> Callable[[Any], Any] | None:
    """Return what makes the field of a column's value; None if it is the value."""
    return from_micros if name.endswith("_at") else _READERS.get(name)


def _to_column(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, tuple):
        return encode([_IMAGES.get(one.__class__, str)(one) for one in cast("tuple[Any, ...]", value)])
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, SourceRef | SubjectTime):
        return str(value)
    return int(value) if isinstance(value, IntEnum) else value


RECORD_COLUMNS = (
    entries.c.id,
    entries.c.content,
    entries.c.category,
    entries.c.tags,
    entries.c.base,
    entries.c.created_at,
    entries.c.recorded_at,
    entries.c.updated_at,
    entries.c.last_seen_at,
    entries.c.own_count,
    entries.c.absorbed,
    entries.c.subject_time,
    entries.c.metadata,
    entries.c.level,
    entries.c.sources,
    entries.c.trust,
    entries.c.pinned,
    entries.c.status,
    entries.c.status_reason,
    entries.c.successor,
    entries.c.status_at,
    entries.c.evidence,
    entries.c.valid_until,
    entries.c.pattern,
    entries.c.confidence,
    entries.c.premises,
    entries.c.version,
)

# A table is asked in a tenth of the time in which an enumeration is.
_LEVELS = {level.value: level for level in Level}
_TRUSTS = {trust.value: trust for trust in Trust}
_STATES = {status.value: status for status in Status}

_KINDS = {kind.value: kind for kind in SourceKind}
_VERDICTS = {verdict.value: verdict for verdict in EvidenceVerdict}

_entry = builder(MemoryEntry)
_source_of = builder(SourceRef)
_piece_of = builder(Evidence)
_premise_of = builder(Premise)


def to_entries(transaction: Transaction, rows: Iterable[Sequence[Any]]) -> list[MemoryEntry]:
    """Build entries whose importance is as of the transaction's instant."""
    return [to_entry(transaction, row) for row in rows]


def to_entry(transaction: Transaction, row: Sequence[Any]) -> MemoryEntry:
    """Build one entry from the columns of `RECORD_COLUMNS`."""
    try:
        return _read(transaction, row)
    except _UNREADABLE as error:
        raise DamagedRowError from error


def _read(transaction: Transaction, row: Sequence[Any]) -> MemoryEntry:
    base: float = row[4]
    created, recorded, seen = row[5], row[6], row[8]
    created_at = from_micros(created)
    last_seen_at = created_at if seen == created else from_micros(seen)
    return _entry(
        (
            row[0],
            transaction.scope,
            row[1],
            row[2],
            _texts(row[3]),
            base,
            transaction.decay.value(base, last_seen_at, transaction.now),
            created_at,
            created_at if recorded == created else from_micros(recorded),
            _instant(row[7]),
            last_seen_at,
            row[9],
            _counts(row[10]),
            SubjectTime.parse(row[11]) if row[11] else None,
            orjson.loads(row[12]) if row[12] != "{}" else {},
            _LEVELS[row[13]],
            _sources(row[14]),
            to_evidence(row[21]),
            _TRUSTS[row[15]],
            bool(row[16]),
            _STATES[row[17]],
            row[18],
            row[19],
            _instant(row[20]),
            PartialDate.parse(row[22]) if row[22] else None,
            Pattern(row[23]) if row[23] else None,
            Confidence(row[24]) if row[24] else None,
            to_premises(row[25]) if row[25] else (),
            row[26],
        )
    )


def to_values(entry: MemoryEntry) -> dict[str, Any]:
    """Return the columns that hold *entry*, without the store's own keys."""
    return {
        "id": entry.id,
        "content": entry.content,
        "category": entry.category,
        "tags": encode(entry.tags) if entry.tags else "[]",
        "base": entry.base,
        "created_at": to_micros(entry.created_at),
        "recorded_at": to_micros(entry.recorded_at),
        "updated_at": micros(entry.updated_at),
        "last_seen_at": to_micros(entry.last_seen_at),
        "own_count": entry.own_count,
        "absorbed": encode(entry.absorbed) if entry.absorbed else "[]",
        "reinforcement_count": entry.reinforcement_count,
        "subject_time": None if entry.subject_time is None else str(entry.subject_time),
        "metadata": encode(dict(entry.metadata)) if entry.metadata else "{}",
        "level": entry.level.value,
        "sources": encode([str(source) for source in entry.sources]) if entry.sources else "[]",
        "evidence": encode([evidence_image(one) for one in entry.evidence]) if entry.evidence else None,
        "trust": int(entry.trust),
        "pinned": entry.pinned,
        "status": entry.status.value,
        "status_reason": entry.status_reason,
        "successor": entry.successor,
        "status_at": micros(entry.status_at),
        "valid_until": None if entry.valid_until is None else str(entry.valid_until),
        "pattern": None if entry.pattern is None else entry.pattern.value,
        "confidence": None if entry.confidence is None else entry.confidence.value,
        "premises": encode([premise_image(one) for one in entry.premises]) if entry.premises else None,
        "fold_key": fold_key(entry.content),
    }


def index_text(content: str, category: str, tags: str) -> str:
    """Return the text the recall index tokenises: content, then filing (see `IndexRow`)."""
    filing = category.replace("/", " ").replace("-", " ")
    filed = f"{content}{FILING_MARK}{filing}"
    return filed if tags == "[]" else f"{filed} {' '.join(_texts(tags))}"


def _texts(column: str) -> tuple[str, ...]:
    return () if column == "[]" else tuple(orjson.loads(column))


def _sources(column: str) -> tuple[SourceRef, ...]:
    return () if column == "[]" else tuple(map(_source, orjson.loads(column)))


def _source(text: str) -> SourceRef:
    kind, _, record_id = text.partition(":")
    return _source_of((_KINDS[kind], record_id))


def to_evidence(column: str | None) -> tuple[Evidence, ...]:
    """Read the evidence of an entry."""
    # By hand, since every entry that is read has some: checking each piece again would take five times as long.
    return tuple(map(_piece, orjson.loads(column))) if column else ()


def _piece(image: dict[str, Any]) -> Evidence:
    return _piece_of(
        (
            _source(image["source"]),
            image.get("speaker"),
            datetime.fromisoformat(image["said_at"]),
            image["sentence"],
            _VERDICTS[image["verdict"]],
            image.get("written_by", ""),
            image.get("verified_by", ""),
            image.get("round", 0),
        )
    )


def _premise(image: dict[str, Any]) -> Premise:
    # By hand, as evidence is: a premise may have ten thousand dependants.
    said_at = datetime.fromisoformat(image["said_at"])
    session, against, past = image.get("session", ""), image.get("against", False), image.get("past", False)
    return _premise_of((image["entry_id"], image["text_key"], said_at, session, against, past))


def _counts(column: str) -> tuple[tuple[str, int], ...]:
    return () if column == "[]" else tuple((entry, count) for entry, count in orjson.loads(column))


def _instant(column: int | None) -> datetime | None:
    return None if column is None else from_micros(column)


def matching(where: EntryFilter) -> list[ColumnElement[bool]]:
    """Return what has to hold of an entry that *where* admits."""
    conditions: list[ColumnElement[bool]] = []
    if where.statuses == frozenset({Status.ACTIVE}):
        conditions.append(is_active(entries.c.status))
    elif where.statuses:
        conditions.append(entries.c.status.in_(sorted(where.statuses)))
    if where.category is not None:
        conditions.append(within(where.category))
    conditions += [has_element(entries.c.tags, tag) for tag in where.tags]
    if where.level is not None:
        conditions.append(entries.c.level == where.level.value)
    if where.pattern is not None:
        conditions.append(entries.c.pattern == where.pattern.value)
    if where.confidence is not None:
        conditions.append(entries.c.confidence == where.confidence.value)
    if where.created_after is not None:
        conditions.append(entries.c.created_at >= to_micros(where.created_after))
    if where.created_before is not None:
        conditions.append(entries.c.created_at < to_micros(where.created_before))
    return conditions


def within(branch: str) -> ColumnElement[bool]:
    """Filed in a branch or below it, as one stretch of the index of categories."""
    below = func.substr(entries.c.category, 1, len(branch) + 1) == f"{branch}/"
    return and_(starts_with(entries.c.category, branch), or_(entries.c.category == branch, below))


def unprotected(floor: float, reinforced: int) -> ColumnElement[bool]:
    """Retired, below both protection thresholds, not pinned, no source of a live merge, and nothing that once held."""
    merged = entries.alias("merged")
    live_merge = exists().where(
        entry_sources.c.scope_id == entries.c.scope_id,
        entry_sources.c.kind == SourceKind.ENTRY.value,
        entry_sources.c.source_id == entries.c.id,
        entry_sources.c.entry_pk == merged.c.pk,
        is_active(merged.c.status),
    )
    return and_(
        is_retired(entries.c.status),
        entries.c.base < floor,
        entries.c.reinforcement_count < reinforced,
        entries.c.pinned == false(),
        entries.c.valid_until.is_(None),
        ~live_merge,
    )
