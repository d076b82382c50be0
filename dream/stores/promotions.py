"""Stores promotions, and the outbox: texts of documents that are stored and not yet in their files."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, delete, func, insert, literal, select, update

from agentcore.domain.document import StoredDocument
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import outbox, phase_hits, promotions, recall_hits
from agentcore.stores.sql.transaction import chunks
from dream.domain.phases import Phase, PhaseStanding
from dream.domain.promotion import Promotion
from dream.domain.recalls import RecallColumns

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import ColumnElement

    from agentcore.domain.records import Record
    from agentcore.stores.sql.transaction import Transaction
    from dream.domain.change import Change
    from dream.domain.phases import PhaseHit


class PromotionReader:
    """Promotions of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = promotions.c.scope_id == transaction.scope_id

    def known(self) -> dict[str, datetime]:
        """Return when which entries were promoted, also those whose promotion was taken back."""
        rows = self._connection.execute(select(promotions.c.entry_id, promotions.c.promoted_at).where(self._mine))
        return {row.entry_id: from_micros(row.promoted_at) for row in rows}

    def by_run(self) -> dict[str, list[str]]:
        """Return which entries each run promoted, also those whose promotion was taken back."""
        found: dict[str, list[str]] = {}
        for row in self._connection.execute(select(promotions.c.run_id, promotions.c.entry_id).where(self._mine)):
            found.setdefault(row.run_id, []).append(row.entry_id)
        return found

    def count(self) -> int:
        """Count promotions."""
        return self._connection.execute(select(func.count()).select_from(promotions).where(self._mine)).scalar_one()

    def of(self, entry_id: str) -> Promotion | None:
        """Return when and why an entry was promoted; None if it never was."""
        row = self._connection.execute(select(promotions).where(self._mine, promotions.c.entry_id == entry_id)).first()
        if row is None:
            return None
        return Promotion(
            entry_id=row.entry_id,
            score=row.score,
            hits=row.hits,
            run_id=row.run_id,
            promoted_at=from_micros(row.promoted_at),
        )


class PromotionStore(PromotionReader):
    """Promotions of one scope, in one transaction; lives as long as it."""

    def record(self, promoted: Sequence[Promotion]) -> None:
        """Remember promotions, of several of one entry the first; one that is known stays as it is."""
        first = {one.entry_id: one for one in reversed(promoted)}
        known: set[str] = set()
        for chunk in chunks(sorted(first)):
            statement = select(promotions.c.entry_id).where(self._mine, promotions.c.entry_id.in_(chunk))
            known.update(self._connection.execute(statement).scalars())
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "entry_id": one.entry_id,
                "score": one.score,
                "hits": one.hits,
                "run_id": one.run_id,
                "promoted_at": to_micros(one.promoted_at),
            }
            for one in promoted
            if one is first[one.entry_id] and one.entry_id not in known
        ]
        if rows:
            self._connection.execute(insert(promotions), rows)


_MET = phase_hits.c


class PhaseReader:
    """The phases' hits of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._scope_id = transaction.scope_id
        self._connection = transaction.connection
        self._mine = _MET.scope_id == transaction.scope_id

    def met(self, phase: Phase) -> set[str]:
        """Return the ids of the entries that a phase met."""
        mine = select(_MET.entry_id).where(self._mine, _MET.phase == phase.value)
        return set(self._connection.execute(mine).scalars())

    def standing(self) -> dict[str, PhaseStanding]:
        """Return how often each entry was met, by id; those that never were are left out."""
        found: dict[str, dict[str, int]] = {}
        for row in self._connection.execute(select(phase_hits).where(self._mine)):
            found.setdefault(row.entry_id, {}).update({row.phase: row.times, f"{row.phase}_last": row.last_at})
        return {entry_id: PhaseStanding(**values) for entry_id, values in found.items()}


class PhaseStore(PhaseReader):
    """The phases' hits of one scope, in one transaction; lives as long as it."""

    def record(self, hits: Sequence[PhaseHit]) -> None:
        """Count hits, each entry and phase once."""
        latest = {(hit.entry_id, hit.phase): to_micros(hit.at) for hit in hits}
        for phase in Phase:
            wanted = sorted(entry_id for entry_id, of in latest if of is phase)
            known = self._known(phase, wanted)
            old = [{"of": one, "at": latest[one, phase]} for one in wanted if one in known]
            new = [{"entry_id": one, "last_at": latest[one, phase]} for one in wanted if one not in known]
            if old:
                counted = update(phase_hits).where(self._mine, _MET.phase == phase, _MET.entry_id == bindparam("of"))
                self._connection.execute(counted.values(times=_MET.times + 1, last_at=bindparam("at")), old)
            if new:
                row = {"scope_id": self._scope_id, "phase": phase.value, "times": 1}
                self._connection.execute(insert(phase_hits), [row | one for one in new])

    def _known(self, phase: Phase, entry_ids: Sequence[str]) -> set[str]:
        known: set[str] = set()
        for chunk in chunks(entry_ids):
            statement = select(_MET.entry_id).where(self._mine, _MET.phase == phase, _MET.entry_id.in_(chunk))
            known.update(self._connection.execute(statement).scalars())
        return known


_DAY = timedelta(days=1) // timedelta(microseconds=1)
_HITS = recall_hits.c


class RecallReader:
    """The recalls of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._mine = _HITS.scope_id == transaction.scope_id

    def columns(self, zone: ZoneInfo, *, until: datetime, since: datetime | None = None) -> RecallColumns:
        """Return what was recalled up to an instant.

        Args:
            zone: Whose days count.
            until: Later hits are left out.
            since: Hits up to then are left out, too; None: none are.
        """
        mine = self._mine & (_HITS.recalled_at <= to_micros(until))
        if since is not None:
            mine &= _HITS.recalled_at > to_micros(since)
        bounds = self._connection.execute(
            select(func.min(_HITS.recalled_at), func.max(_HITS.recalled_at)).where(mine)
        ).one()
        offsets = [] if bounds[0] is None else _offsets(zone, bounds[0], bounds[1])
        statement = (
            select(
                _HITS.entry_id,
                func.count(),
                func.sum(1.0 / _HITS.rank),
                func.count(_HITS.query.distinct()),
                func.count(_local_day(offsets).distinct()),
                func.min(_HITS.recalled_at),
                func.max(_HITS.recalled_at),
            )
            .where(mine)
            .group_by(_HITS.entry_id)
            .order_by(_HITS.entry_id)
        )
        return _columns(self._connection.execute(statement).all(), offsets)

    def counts(self) -> dict[str, int]:
        """Return how often each entry was recalled, where it ever was."""
        found = select(_HITS.entry_id, func.count()).where(self._mine).group_by(_HITS.entry_id)
        return {row[0]: row[1] for row in self._connection.execute(found)}

    def last(self, entry_ids: Collection[str]) -> dict[str, datetime]:
        """Return when each of these entries was recalled last, if ever."""
        found: dict[str, datetime] = {}
        for chunk in chunks(sorted(entry_ids)):
            mine = self._mine & _HITS.entry_id.in_(chunk)
            newest = select(_HITS.entry_id, func.max(_HITS.recalled_at)).where(mine).group_by(_HITS.entry_id)
            found.update({row[0]: from_micros(row[1]) for row in self._connection.execute(newest)})
        return found


def _columns(rows: Sequence[Any], offsets: list[tuple[int, int]]) -> RecallColumns:
    import numpy as np  # noqa: PLC0415 - 90 ms, and most bookkeeping sums nothing

    ids, count, total, queries, days, first, last = zip(*rows, strict=True) if rows else ((),) * 7
    firsts, lasts = np.array(first, np.int64), np.array(last, np.int64)
    return RecallColumns(
        ids=tuple(ids),
        count=np.array(count, np.int64),
        total=np.array([float(one) for one in total], np.float64),
        queries=np.array(queries, np.int64),
        days=np.array(days, np.int64),
        span=_days_of(lasts, offsets) - _days_of(firsts, offsets),
        last=lasts,
    )


def _days_of(instants: NDArray[np.int64], offsets: list[tuple[int, int]]) -> NDArray[np.int64]:
    import numpy as np  # noqa: PLC0415 - as above

    if not offsets:
        return instants
    starts = np.array([start for start, _ in offsets], np.int64)
    shifts = np.array([shift for _, shift in offsets], np.int64)
    return (instants + shifts[np.searchsorted(starts, instants, side="right") - 1]) // _DAY


def _local_day(offsets: Sequence[tuple[int, int]]) -> ColumnElement[int]:
    """Return the number of a hit's day: its instant, shifted by what the zone is ahead of UTC then."""
    if len(offsets) < 2:
        shift: ColumnElement[int] = literal(offsets[0][1] if offsets else 0)
    else:
        # Before the second period begins the first holds, and so on.
        whens = [(_HITS.recalled_at < after[0], before[1]) for before, after in pairwise(offsets)]
        shift = case(*whens, else_=offsets[-1][1])
    return (_HITS.recalled_at + shift) // _DAY


def _offsets(zone: ZoneInfo, first: int, last: int) -> list[tuple[int, int]]:
    """Return from which instant on the zone is how far ahead of UTC, in microseconds, between two instants.

    Example:
        >>> from datetime import datetime
        >>> from zoneinfo import ZoneInfo
        >>> march, april = (to_micros(datetime.fromisoformat(f"2025-0{month}-01T00:00Z")) for month in (3, 4))
        >>> told = _offsets(ZoneInfo("Europe/Lisbon"), march, april)
        >>> [(str(from_micros(start))[:16], shift // (_DAY // 24)) for start, shift in told]
        [('2025-03-01 00:00', 0), ('2025-03-30 01:00', 1)]
    """
    offsets = [(first, _shift(zone, first))]
    for start in range(first, last, _DAY):
        end = min(start + _DAY, last)
        if _shift(zone, end) != offsets[-1][1]:
            known = offsets[-1][1]
            change = bisect_right(range(start, end + 1), 0, key=lambda at: int(_shift(zone, at) != known)) + start
            offsets.append((change, _shift(zone, change)))
    return offsets


def _shift(zone: ZoneInfo, at: int) -> int:
    ahead = from_micros(at).astimezone(zone).utcoffset() or timedelta()
    return ahead // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A text that is to be written.

    Args:
        key: Its place in the outbox.
        run_id: The run that wrote it; empty for an import or a forget.
        pass_name: The pass.
        document: The document.
        before: The text it takes the place of; None if there was no file.
        after: The text; None if the file goes.
    """

    key: int
    run_id: str
    pass_name: str
    document: str
    before: str | None
    after: str | None


class OutboxStore:
    """The outbox of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = outbox.c.scope_id == transaction.scope_id

    def post(self, run_id: str, pass_name: str, changes: Sequence[Change[Record]]) -> None:
        """Have the documents among *changes* written to their files."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": run_id,
                "pass_name": pass_name,
                "document": change.record_id,
                "before": _text(change.before),
                "after": _text(change.after),
                "recorded_at": to_micros(self._transaction.now),
            }
            for change in changes
            if isinstance(change.record, StoredDocument) and _text(change.before) != _text(change.after)
        ]
        if rows:
            self._connection.execute(insert(outbox), rows)

    def waiting(self) -> list[Outgoing]:
        """Return what is to be written, in the order it was posted."""
        statement = select(outbox).where(self._mine).order_by(outbox.c.pk)
        return [
            Outgoing(
                key=row.pk,
                run_id=row.run_id,
                pass_name=row.pass_name,
                document=row.document,
                before=row.before,
                after=row.after,
            )
            for row in self._connection.execute(statement)
        ]

    def remove(self, keys: Collection[int]) -> int:
        """Take out what was written; return how much of it was still there."""
        return self._connection.execute(delete(outbox).where(self._mine, outbox.c.pk.in_(keys))).rowcount


def _text(record: Record | None) -> str | None:
    return record.content if isinstance(record, StoredDocument) else None
