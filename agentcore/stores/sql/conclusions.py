"""Keeps conclusions true: whatever happens to a premise, what rests on it is judged again in the same transaction.

A conclusion that lacks what it needs is archived (`premise_gone`), and comes back with what it lacked; a pattern's
confidence follows its evidence. It needs no model: what a conclusion needs is a function of its premises alone
(`agentcore.domain.conclusion`). The cost is that of the dependants, not of the store.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import orjson
from sqlalchemy import Text, bindparam, select, update

from agentcore.domain.card import CardLine
from agentcore.domain.conclusion import Confidence, Footing, Premise, footing_of
from agentcore.domain.evidence import SourceKind
from agentcore.domain.memory import CONCLUSIONS, PREMISE_GONE, Level, MemoryEntry, Status
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.card import SqlCardStore
from agentcore.stores.sql.entries import SqlEntryReader
from agentcore.stores.sql.rows import to_premises
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.schema.records import Key
from agentcore.stores.sql.transaction import MY_SCOPE, Transaction, chunks, of_my_scope

_MOST_ROUNDS: Final = 64
"""Conclusions above one another that are followed; dreams write three at most, an import may bring a circle."""
_MOST_FOLDS: Final = 9
"""Folds of a text into another of equal text that are followed, one after the other."""
_ACTIVE: Final = Status.ACTIVE.value
_AMONG: Final = bindparam("among", expanding=True, type_=Text())
_MINE: Final = of_my_scope(entries)
_LEVELS: Final = sorted(level.value for level in CONCLUSIONS)
_COLUMNS: Final = (
    entries.c.pk,
    entries.c.id,
    entries.c.level,
    entries.c.status,
    entries.c.status_reason,
    entries.c.status_at,
    entries.c.successor,
    entries.c.confidence,
    entries.c.premises,
)
_resting = select(entry_sources.c.entry_pk).where(
    entry_sources.c.scope_id == bindparam(MY_SCOPE),
    entry_sources.c.kind == SourceKind.ENTRY.value,
    entry_sources.c.source_id.in_(_AMONG),
)
_DEPENDANTS: Final = select(*_COLUMNS).where(entries.c.pk.in_(_resting), entries.c.level.in_(_LEVELS))
_NAMED: Final = select(*_COLUMNS).where(_MINE, entries.c.id.in_(_AMONG), entries.c.level.in_(_LEVELS))
_LIVING: Final = select(
    entries.c.id, entries.c.status, entries.c.fold_key, entries.c.valid_until, entries.c.successor
).where(_MINE, entries.c.id.in_(_AMONG))
_ABSORBED: Final = select(entries.c.absorbed).where(_MINE, entries.c.id.in_(_AMONG), entries.c.absorbed != "[]")
_FORMERLY: Final = select(entries.c.id).where(
    _MINE, entries.c.successor.in_(_AMONG), entries.c.valid_until.is_not(None)
)
_CHANGE: Final = (
    update(entries)
    .where(entries.c.pk.in_(bindparam("among", expanding=True, type_=Key)))
    .values(
        status=bindparam("b_status"),
        status_reason=bindparam("b_reason"),
        status_at=bindparam("b_at"),
        confidence=bindparam("b_confidence"),
        version=entries.c.version + 1,
        revision=bindparam("b_revision"),
    )
)


Upheld: TypeAlias = tuple[MemoryEntry, MemoryEntry] | tuple[CardLine, CardLine]
"""What settling changed, before and after."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """What settling changes of a conclusion, as it stands in its row."""

    status: str
    reason: str | None
    at: int | None
    confidence: str | None

    def applied_to(self, entry: MemoryEntry) -> MemoryEntry:
        return replace(
            entry,
            status=Status(self.status),
            status_reason=self.reason,
            status_at=None if self.at is None else from_micros(self.at),
            confidence=None if self.confidence is None else Confidence(self.confidence),
        )


class _Living:
    """Which premises hold, looked up once for each round; a copy holds as long as what it was folded into does."""

    def __init__(self, transaction: Transaction, ids: Iterable[str]) -> None:
        self._found: dict[str, Any] = {}
        wanted = set(ids)
        for _ in range(_MOST_FOLDS):
            for chunk in chunks(sorted(wanted)):
                self._found.update((row.id, row) for row in transaction.execute(_LIVING, among=chunk))
            heirs = {row.successor for row in self._found.values() if row.status != _ACTIVE and row.successor}
            wanted = heirs - self._found.keys()
            if not wanted:
                break

    def __call__(self, premise: Premise) -> bool:
        found = self._found.get(premise.entry_id)
        for _ in range(_MOST_FOLDS):
            if found is None or found.fold_key != premise.text_key:
                return False
            has_held = premise.past and found.status == Status.SUPERSEDED.value and found.valid_until is not None
            if found.status == _ACTIVE or has_held:
                return True
            found = self._found.get(found.successor)
        return False


class SqlConclusionReader:
    """What conclusions rest on, read in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def footing(self, conclusion: MemoryEntry) -> Footing:
        """Return how a conclusion stands by its premises as they are now."""
        living = _Living(self._transaction, [one.entry_id for one in conclusion.premises])
        return footing_of(conclusion.premises, living, is_pattern=conclusion.level is Level.INDUCTIVE)

    def resting_on(self, entry_ids: Collection[str]) -> list[MemoryEntry]:
        """Return the conclusions that name one of these entries as a premise, in whatever state, by id."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(entry_ids))):
            found.update(row.id for row in self._transaction.execute(_DEPENDANTS, among=chunk))
        return SqlEntryReader(self._transaction).get_many(found)

    def formerly(self, entry_ids: Collection[str]) -> list[MemoryEntry]:
        """Return the superseded entries that held until one of these took their place, by id."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(entry_ids))):
            found.update(self._transaction.execute(_FORMERLY, among=chunk).scalars())
        return SqlEntryReader(self._transaction).get_many(found)


class SqlConclusionStore(SqlConclusionReader):
    """What conclusions rest on, kept true in one transaction; lives as long as it."""

    def settle(self) -> list[Upheld]:
        """Judge again all that rests on what changed in the transaction; return what that changed, before and after.

        It is done before the transaction commits, whoever writes; a caller that keeps a journal asks earlier.
        """
        before, lines = settle(self._transaction)
        after = SqlEntryReader(self._transaction).get_many(before)
        told = [(replace(before[one.id].applied_to(one), version=one.version - 1), one) for one in after]
        return [*told, *lines]


def settle(transaction: Transaction) -> tuple[Mapping[str, _Standing], list[tuple[CardLine, CardLine]]]:
    """Judge again all that rests on what changed.

    Returns:
        How the conclusions that it changed stood before, by id; and the lines of the card that it changed.
    """
    if not transaction.unsettled:
        return {}, []
    touched, transaction.unsettled = transaction.unsettled, set()
    for chunk in chunks(sorted(touched)):
        absorbed = transaction.execute(_ABSORBED, among=chunk).scalars().all()
        touched = touched | {entry_id for one in absorbed for entry_id, _ in orjson.loads(one)}
    before = _settle_conclusions(transaction, touched)
    lines = SqlCardStore(transaction).settle(touched | before.keys(), lambda ids: _Living(transaction, ids))
    return before, lines


def _settle_conclusions(transaction: Transaction, touched: set[str]) -> dict[str, _Standing]:
    before: dict[str, _Standing] = {}
    rows: dict[str, Any] = {}
    for chunk in chunks(sorted(touched)):
        rows.update((row.id, row) for row in transaction.execute(_NAMED, among=chunk))
    for _ in range(_MOST_ROUNDS):
        if not touched and not rows:
            break
        for chunk in chunks(sorted(touched)):
            rows.update((row.id, row) for row in transaction.execute(_DEPENDANTS, among=chunk))
        changed = _judged(transaction, rows)
        for row_id in changed:
            before.setdefault(row_id, _standing(rows[row_id]))
        touched, rows = changed, {}
    return before


def _judged(transaction: Transaction, rows: Mapping[str, Any]) -> set[str]:
    """Write what became of these conclusions; return the ids of those that changed."""
    premises = {row_id: to_premises(row.premises) for row_id, row in rows.items()}
    living = _Living(transaction, (one.entry_id for some in premises.values() for one in some))
    changed: set[str] = set()
    alike: defaultdict[_Standing, list[int]] = defaultdict(list)
    for row_id, row in rows.items():
        footing = footing_of(premises[row_id], living, is_pattern=row.level == Level.INDUCTIVE.value)
        now = _standing(row)
        then = _settled(now, footing, to_micros(transaction.now))
        if then != now:
            changed.add(row_id)
            alike[then].append(row.pk)
    for then, keys in alike.items():
        told = {"b_status": then.status, "b_reason": then.reason, "b_at": then.at, "b_confidence": then.confidence}
        for chunk in chunks(keys):
            transaction.connection.execute(_CHANGE, {"among": chunk, "b_revision": transaction.change(), **told})
    return changed


def _standing(row: Any) -> _Standing:
    return _Standing(row.status, row.status_reason, row.status_at, row.confidence)


def _settled(now: _Standing, footing: Footing, at: int) -> _Standing:
    """Return how a conclusion stands by its footing; one that was set aside for another reason stays so."""
    is_active = now.status == _ACTIVE
    is_lacking = now.status == Status.ARCHIVED.value and (now.reason or "").startswith(PREMISE_GONE)
    if not (is_active or is_lacking) or (is_lacking and not footing.stands):
        return now
    if not footing.stands:
        reason = PREMISE_GONE if footing.missing is None else f"{PREMISE_GONE}: {footing.missing}"
        return _Standing(Status.ARCHIVED.value, reason, at, now.confidence)
    sure = None if footing.confidence is None else footing.confidence.value
    return _Standing(_ACTIVE, None, None, sure)
