"""Between a row of `entries` and a MemoryEntry."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.memory import Level, MemoryEntry, SourceRef, Status, Trust
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import fold_key
from agentcore.stores.protocols.feed import FILING_MARK
from agentcore.stores.sql.building import builder
from agentcore.stores.sql.faults import UNREADABLE, DamagedRowError
from agentcore.stores.sql.schema import entries
from agentcore.stores.sql.transaction import Transaction, encode, micros

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
    entries.c.version,
)

# A table is asked in a tenth of the time in which an enumeration is.
_LEVELS = {level.value: level for level in Level}
_TRUSTS = {trust.value: trust for trust in Trust}
_STATES = {status.value: status for status in Status}

_entry = builder(MemoryEntry)


def to_entries(transaction: Transaction, rows: Iterable[Sequence[Any]]) -> list[MemoryEntry]:
    """Build entries whose importance is as of the transaction's instant."""
    return [to_entry(transaction, row) for row in rows]


def to_entry(transaction: Transaction, row: Sequence[Any]) -> MemoryEntry:
    """Build one entry from the columns of `RECORD_COLUMNS`."""
    try:
        return _read(transaction, row)
    except UNREADABLE as error:
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
            _TRUSTS[row[15]],
            bool(row[16]),
            _STATES[row[17]],
            row[18],
            row[19],
            _instant(row[20]),
            row[21],
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
        "trust": int(entry.trust),
        "pinned": entry.pinned,
        "status": entry.status.value,
        "status_reason": entry.status_reason,
        "successor": entry.successor,
        "status_at": micros(entry.status_at),
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
    return () if column == "[]" else tuple(map(SourceRef.parse, orjson.loads(column)))


def _counts(column: str) -> tuple[tuple[str, int], ...]:
    return () if column == "[]" else tuple((entry, count) for entry, count in orjson.loads(column))


def _instant(column: int | None) -> datetime | None:
    return None if column is None else from_micros(column)
