"""Keeps conclusions true: whatever happens to a premise, what rests on it is judged again in the same transaction.

A conclusion that lacks what it needs is archived (`premise_gone`), and comes back with what it lacked; a pattern's
confidence follows its evidence. It needs no model: what a conclusion needs is a function of its premises alone
(`agentcore.domain.conclusion`). The cost is that of the dependants, not of the store.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias

import orjson
from sqlalchemy import Text, bindparam, select, update

from agentcore.domain.card import CardLine
from agentcore.domain.conclusion import Confidence, Footing, Premise, footing_of
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import CONCLUSIONS, PREMISE_GONE, Level, MemoryEntry, Status
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.card import SqlCardReader, SqlCardStore
from agentcore.stores.sql.entries import SqlEntryReader
from agentcore.stores.sql.rows import to_premises
from agentcore.stores.sql.schema import entries, entry_sources
from agentcore.stores.sql.schema.records import Key
from agentcore.stores.sql.transaction import MY_SCOPE, Transaction, chunks, is_retired, of_my_scope, starts_with

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
    entries.c.id,
    entries.c.status,
    entries.c.fold_key,
    entries.c.valid_until,
    entries.c.successor,
).where(_MINE, entries.c.id.in_(_AMONG))
_MERGED: Final = select(entries.c.id, entries.c.own_count, entries.c.absorbed, entries.c.evidence).where(
    _MINE, entries.c.id.in_(_AMONG)
)
_ABSORBED: Final = select(entries.c.absorbed).where(_MINE, entries.c.id.in_(_AMONG), entries.c.absorbed != "[]")
_HEIRS: Final = select(entries.c.successor).where(
    _MINE, entries.c.id.in_(_AMONG), entries.c.status == Status.ARCHIVED.value, entries.c.successor.is_not(None)
)
_FORMERLY: Final = select(entries.c.id).where(
    _MINE, entries.c.successor.in_(_AMONG), entries.c.valid_until.is_not(None)
)
_LOST: Final = select(entries.c.id).where(
    _MINE,
    is_retired(entries.c.status),
    entries.c.status_at > bindparam("after"),
    entries.c.level.in_(bindparam("level", expanding=True)),
    starts_with(entries.c.status_reason, PREMISE_GONE),
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


@dataclass(frozen=True, slots=True)
class LostRecord:
    """A conclusion or a line of the card that lost its premises to others, which may bear it as well.

    Args:
        record: It, as it was set aside.
        heirs: The active entries that took the place of premises that are gone.
    """

    record: MemoryEntry | CardLine
    heirs: tuple[str, ...]


Upheld: TypeAlias = tuple[MemoryEntry, MemoryEntry] | tuple[CardLine, CardLine]
"""What settling changed, before and after."""


@dataclass(frozen=True, slots=True)
class _ConclusionRow:
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
    """Which premises hold, looked up once for each round.

    What was folded or merged into another entry holds as long as that does, and tells it: an equal text, or one that
    took it over and rests on its evidence.
    """

    def __init__(self, transaction: Transaction, ids: Iterable[str]) -> None:
        self._transaction = transaction
        self._found: dict[str, Any] = {}
        self._merged: dict[str, Any] = {}
        wanted = set(ids)
        for _ in range(_MOST_FOLDS):
            for chunk in chunks(sorted(wanted)):
                self._found.update((row.id, row) for row in transaction.execute(_LIVING, among=chunk))
            heirs = {row.successor for row in self._found.values() if row.status != _ACTIVE and row.successor}
            wanted = heirs - self._found.keys()
            if not wanted:
                break
        self._read_merges()

    def __call__(self, premise: Premise) -> bool:
        found = self._found.get(premise.entry_id)
        if found is None or found.fold_key != premise.text_key:
            return False
        for _ in range(_MOST_FOLDS):
            has_held = premise.past and found.status == Status.SUPERSEDED.value and found.valid_until is not None
            if found.status == _ACTIVE or has_held:
                return True
            heir = self._found.get(found.successor)
            if heir is None or not (heir.fold_key == premise.text_key or self._tells(heir, found, premise)):
                return False
            found = heir
        return False

    def heir(self, premise: Premise) -> str | None:
        """Return the id of the active entry that took the place of a premise, however often; None if there is none."""
        found = self._found.get(premise.entry_id)
        for _ in range(_MOST_FOLDS):
            if found is None or found.status == _ACTIVE:
                break
            found = self._found.get(found.successor)
        return None if found is None or found.status != _ACTIVE else found.id

    def _read_merges(self) -> None:
        """Look up what merged texts and their heirs were made of, and rest on."""
        merged = [row for row in self._found.values() if row.status == Status.ARCHIVED.value and row.successor]
        for chunk in chunks(sorted({one for row in merged for one in (row.id, row.successor)})):
            self._merged.update((row.id, row) for row in self._transaction.execute(_MERGED, among=chunk))

    def _tells(self, heir: Any, gone: Any, premise: Premise) -> bool:
        """Tell whether an entry still tells what it was told by one that was merged into it."""
        made, told = self._merged.get(heir.id), self._merged.get(premise.entry_id)
        if gone.status != Status.ARCHIVED.value or made is None or told is None:
            return False
        # A text that is a merge itself was never observed: it stands for what it was made of.
        observed = {premise.entry_id} if told.own_count else _absorbed(told)
        if not observed <= _absorbed(made):
            return False
        evidence, said = _said(made), _said(told)
        own = str(SourceRef(SourceKind.ENTRY, premise.entry_id))
        return said <= evidence if said else any(source == own for source, _ in evidence)


def _absorbed(row: Any) -> set[str]:
    return {entry_id for entry_id, _ in orjson.loads(row.absorbed)}


def _said(row: Any) -> set[tuple[str, str]]:
    return {(one["source"], one["sentence"]) for one in orjson.loads(row.evidence or "[]")}


class SqlConclusionReader:
    """What conclusions rest on, read in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def footing(self, conclusion: MemoryEntry) -> Footing:
        """Return how a conclusion stands by its premises as they are now."""
        living = _Living(self._transaction, [one.entry_id for one in conclusion.premises])
        return footing_of(conclusion.premises, living, is_pattern=conclusion.level is Level.INDUCTIVE)

    def missing(self, conclusion: MemoryEntry) -> frozenset[str]:
        """Return the ids of those premises of a conclusion that do not hold any longer."""
        living = _Living(self._transaction, [one.entry_id for one in conclusion.premises])
        return frozenset(one.entry_id for one in conclusion.premises if not living(one))

    def lost(self, since: datetime | None) -> list[LostRecord]:
        """Return what lost its premises after an instant, and is to be looked at again: where each of them has an heir.

        Of the premises of a pattern one is enough. None asks for all.
        """
        after = -1 if since is None else to_micros(since)
        rows = self._transaction.execute(_LOST, after=after, level=_LEVELS).scalars().all()
        entries_lost = SqlEntryReader(self._transaction).get_many(rows)
        lines = SqlCardReader(self._transaction).lost(since)
        living = _Living(self._transaction, (p.entry_id for one in (*entries_lost, *lines) for p in one.premises))
        found: list[LostRecord] = []
        for record in (*entries_lost, *lines):
            heirs = [living.heir(one) for one in record.premises if not living(one)]
            known = {heir for heir in heirs if heir is not None}
            is_pattern = isinstance(record, MemoryEntry) and record.level is Level.INDUCTIVE
            if known and (is_pattern or None not in heirs):
                found.append(LostRecord(record, tuple(sorted(known))))
        return found

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


def settle(transaction: Transaction) -> tuple[Mapping[str, _ConclusionRow], list[tuple[CardLine, CardLine]]]:
    """Judge again all that rests on what changed.

    Returns:
        How the conclusions that it changed stood before, by id; and the lines of the card that it changed.
    """
    if not transaction.unsettled:
        return {}, []
    touched, transaction.unsettled = transaction.unsettled, set()
    touched |= _merged_into(transaction, touched)
    before = _settle_conclusions(transaction, touched)
    lines = SqlCardStore(transaction).settle(touched | before.keys(), lambda ids: _Living(transaction, ids))
    return before, lines


def _merged_into(transaction: Transaction, heirs: Collection[str]) -> set[str]:
    """Return the ids of what was folded or merged into these entries, at whatever remove."""
    found, wanted = set[str](), set[str]()
    for chunk in chunks(sorted(heirs)):
        absorbed = transaction.execute(_ABSORBED, among=chunk).scalars().all()
        wanted |= {entry_id for one in absorbed for entry_id, _ in orjson.loads(one)}
    for _ in range(_MOST_FOLDS):
        if not wanted:
            break
        found |= wanted
        passed_on = [transaction.execute(_HEIRS, among=chunk).scalars() for chunk in chunks(sorted(wanted))]
        wanted = {heir for some in passed_on for heir in some} - found
    return found


def _settle_conclusions(transaction: Transaction, touched: set[str]) -> dict[str, _ConclusionRow]:
    before: dict[str, _ConclusionRow] = {}
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
    alike: defaultdict[_ConclusionRow, list[int]] = defaultdict(list)
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


def _standing(row: Any) -> _ConclusionRow:
    return _ConclusionRow(row.status, row.status_reason, row.status_at, row.confidence)


def _settled(now: _ConclusionRow, footing: Footing, at: int) -> _ConclusionRow:
    """Return how a conclusion stands by its footing; one that was set aside for another reason stays so."""
    is_active = now.status == _ACTIVE
    is_lacking = now.status == Status.ARCHIVED.value and (now.reason or "").startswith(PREMISE_GONE)
    if not (is_active or is_lacking) or (is_lacking and not footing.stands):
        return now
    if not footing.stands:
        reason = PREMISE_GONE if footing.missing is None else f"{PREMISE_GONE}: {footing.missing}"
        return _ConclusionRow(Status.ARCHIVED.value, reason, at, now.confidence)
    sure = None if footing.confidence is None else footing.confidence.value
    return _ConclusionRow(_ACTIVE, None, None, sure)
