"""Stores what each pass has before it and behind it.

Its cursor and the records reopened behind that, clusters it settled, when it last stepped.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, delete, false, func, insert, select, update

from agentcore.domain.memory import Status
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import (
    change_feed,
    cursors,
    documents,
    entries,
    feedback,
    journal,
    model_calls,
    model_failures,
    pass_ledger,
    plans,
    prompt_texts,
    proposals,
    refused_texts,
    reopened,
    runs,
    settled_clusters,
    skills,
    steps,
    turns,
)
from agentcore.stores.sql.transaction import MY_SCOPE, chunks, encode, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD
from agentcore.stores.values import Origin
from dream.domain.cluster import SettledCluster
from dream.domain.declaration import Reads
from dream.domain.proposal import HistoryKind
from dream.domain.step import FormerPositions
from dream.stores.proposals import ProposalStore, RefusedTextStore

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Table

    from agentcore.stores.sql.transaction import Transaction


class _ReadTable:
    """What a reader reads: the table, its order of arrival, which of its rows count, and how they are asked for."""

    def __init__(self, table: Table, order: Column[int], counts: ColumnElement[bool]) -> None:
        mine = of_my_scope(table)
        self.current = select(table.c.id).where(mine, counts)
        self.past = self.current.where(order > bindparam("position"))
        self.among = self.current.where(table.c.id.in_(bindparam("ids", expanding=True)))
        self.last = select(order).where(mine).order_by(order.desc()).limit(1)
        named = table.c.id == bindparam("of_id")
        self.positions = select(table.c.id, order).where(mine, table.c.id.in_(bindparam("ids", expanding=True)))
        self.put_back = update(table).where(mine, named).values({order.name: bindparam("to")})


_UNREAD = turns.c.consumed_at.is_(None) & ~IS_WITHHELD
_READ_TABLES = {
    Reads.ENTRIES: _ReadTable(entries, entries.c.position, entries.c.status == Status.ACTIVE.value),
    Reads.TURNS: _ReadTable(turns, turns.c.position, _UNREAD),
    Reads.SKILLS: _ReadTable(skills, skills.c.position, skills.c.status == Status.ACTIVE.value),
    Reads.FEEDBACK: _ReadTable(feedback, feedback.c.recorded_at, feedback.c.id.is_not(None)),
    Reads.LOG: _ReadTable(turns, turns.c.position, _UNREAD),
    # Instants, and rows that no export holds, so that none is ever pending.
    Reads.NOTHING: _ReadTable(documents, documents.c.updated_at, false()),
}

_UNDOABLE = (Reads.ENTRIES, Reads.SKILLS)
"""What is read by position, and undo brings back."""
_MINE = of_my_scope(pass_ledger)
_OF_PASS = _MINE & (pass_ledger.c.pass_name == bindparam("of_pass"))
_COMPLETED = select(pass_ledger.c.completed_at).where(_OF_PASS)
_BY_READER = of_my_scope(cursors) & (cursors.c.reader == bindparam("by"))
_READERS = select(cursors.c.reader).where(of_my_scope(cursors)).order_by(cursors.c.reader)
_POSITION = select(cursors.c.position).where(_BY_READER)
_READS = select(cursors.c.reads).where(_BY_READER)
_UNSET = delete(cursors).where(_BY_READER)
_SET = insert(cursors)
_REOPENED_BY_READER = of_my_scope(reopened) & (reopened.c.reader == bindparam("by"))
_REOPENED = select(reopened.c.record_id).where(_REOPENED_BY_READER).order_by(reopened.c.record_id)
_SETTLE_ALL = delete(reopened).where(_REOPENED_BY_READER)
_SETTLE = _SETTLE_ALL.where(reopened.c.record_id.in_(bindparam("ids", expanding=True)))


class CursorReader:
    """Cursors and reopened ids of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def readers(self) -> list[str]:
        """Return the names of passes that have looked at anything, sorted."""
        return list(self._transaction.execute(_READERS).scalars())

    def reads(self, reader: str) -> Reads | None:
        """Return what *reader* reads; None if it never looked at anything."""
        found = self._transaction.execute(_READS, by=reader).scalar()
        return None if found is None else Reads(found)

    def position(self, reader: str) -> int | None:
        """Return how far *reader* has looked; None if it never did."""
        return self._transaction.execute(_POSITION, by=reader).scalar()

    def reopened(self, reader: str) -> list[str]:
        """Return ids behind the cursor that *reader* has to look at again, sorted."""
        return list(self._transaction.execute(_REOPENED, by=reader).scalars())

    def last_step(self, pass_name: str) -> datetime | None:
        """Return when a pass took its last step; None if it never did."""
        at = self._transaction.execute(_COMPLETED, of_pass=pass_name).scalar()
        return None if at is None else from_micros(at)

    def side_positions(self, pass_name: str) -> Mapping[str, int]:
        """Return how far the readers that a pass has beside its own have looked, by name; 0 for one that never did."""
        prefix = f"{pass_name}/"
        mine = [reader for reader in self.readers() if reader.startswith(prefix)]
        return defaultdict(int, {reader.removeprefix(prefix): self.position(reader) or 0 for reader in mine})

    def pending(self, reader: str, reads: Reads | None = None, *, also: Collection[str] = ()) -> list[str]:
        """Return ids of records that *reader* still has to look at, sorted.

        Args:
            reader: Who.
            reads: What it reads; by default what its cursor says, entries if it has none.
            also: Ids that count as if they were reopened.
        """
        reading = _READ_TABLES[reads or self.reads(reader) or Reads.ENTRIES]
        found = set(self._transaction.execute(reading.past, position=self.position(reader) or 0).scalars())
        for chunk in chunks(sorted({*self.reopened(reader), *also})):
            found.update(self._transaction.execute(reading.among, ids=chunk).scalars())
        return sorted(found)


class CursorStore(CursorReader):
    """Cursors and reopened ids of one scope, in one transaction; lives as long as it."""

    def move(self, reader: str, position: int | None, reads: Reads | None = None) -> None:
        """Set the position; None takes the reader back to before it ever looked.

        Args:
            reader: Whose.
            position: How far it has looked.
            reads: What it reads; by default what its cursor says, entries if it has none.
        """
        told = reads or self.reads(reader) or Reads.ENTRIES
        self._transaction.execute(_UNSET, by=reader)
        if position is not None:
            row = {"scope_id": self._transaction.scope_id, "reader": reader, "position": position, "reads": told.value}
            self._transaction.connection.execute(_SET, row)

    def reopen(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Have *reader* look at these records again; return those that it had not to before."""
        new = sorted(set(record_ids) - set(self.reopened(reader)))
        if new:
            rows = [
                {"scope_id": self._transaction.scope_id, "reader": reader, "record_id": record_id} for record_id in new
            ]
            self._transaction.connection.execute(insert(reopened), rows)
        return new

    def settle(self, reader: str, record_ids: Collection[str]) -> list[str]:
        """Take records out of the reopened set; return those that were in it."""
        settled = sorted(set(record_ids) & set(self.reopened(reader)))
        for chunk in chunks(settled):
            self._transaction.execute(_SETTLE, by=reader, ids=chunk)
        return settled

    def movable(self, record_ids: Collection[str]) -> dict[str, int]:
        """Return the positions of records, as far as this transaction may move them: a dream moves none."""
        if self._transaction.origin in {Origin.DREAM, Origin.READING}:
            return {}
        return {one: at for reads in _UNDOABLE for one, at in self._positions(reads, record_ids).items()}

    def left(self, positions: Mapping[str, int], back: Collection[str]) -> FormerPositions | None:
        """Return those of *positions* that are held no longer, and who had looked at what stood there; None for none.

        Args:
            positions: Where records stood.
            back: Those that leave their places next, as they are put back.
        """
        now = self.movable(positions)
        moved = {one: at for one, at in positions.items() if now.get(one) != at or one in back}
        read_by = {reader: self._looked_at(reader, moved) for reader in (self.readers() if moved else ())}
        return FormerPositions(moved, read_by) if moved else None

    def put_back(self, former: FormerPositions, record_ids: Collection[str]) -> None:
        """Give records the positions that they had; who had not looked at them there has yet to, and nobody else."""
        for reads in _UNDOABLE:
            back = self._positions(reads, former.positions.keys() & set(record_ids))
            for one in back:
                self._transaction.execute(_READ_TABLES[reads].put_back, of_id=one, to=former.positions[one])
            for reader in self.readers() if back else ():
                if self.reads(reader) is reads:
                    looked_at = back.keys() & set(former.read_by.get(reader, ()))
                    self.settle(reader, looked_at)
                    at = self.position(reader) or 0
                    self.reopen(reader, [one for one in back.keys() - looked_at if 0 < former.positions[one] <= at])

    def _looked_at(self, reader: str, positions: Mapping[str, int]) -> list[str]:
        at, again = self.position(reader) or 0, set(self.reopened(reader))
        return sorted(one for one, position in positions.items() if position <= at and one not in again)

    def _positions(self, reads: Reads, record_ids: Collection[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for chunk in chunks(sorted(record_ids)):
            rows = self._transaction.execute(_READ_TABLES[reads].positions, ids=chunk)
            found.update((row.id, row.position) for row in rows)
        return found

    def restore(self, reader: str, pending_ids: Collection[str], reads: Reads | None = None) -> None:
        """Have *reader* be done with everything there is but *pending_ids* (the reading side of `pending`)."""
        told = reads or self.reads(reader) or Reads.ENTRIES
        last = self._transaction.execute(_READ_TABLES[told].last).scalar() or 0
        self.move(reader, last, told)
        self._transaction.execute(_SETTLE_ALL, by=reader)
        self.reopen(reader, pending_ids)


_FINGERPRINT = select(pass_ledger.c.fingerprint).where(_OF_PASS)
_ALL = select(pass_ledger).where(_MINE)
_REMOVE = delete(pass_ledger).where(_OF_PASS)
_WRITE = insert(pass_ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """The last step of a pass.

    Args:
        pass_name: The pass.
        run_id: The run it was taken in.
        fingerprint: Hash of what it judges by, of passes that look again at everything when that changes.
        completed_at: When it was committed.
    """

    pass_name: str
    run_id: str
    fingerprint: str | None
    completed_at: datetime


class LedgerStore:
    """The pass ledger of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def record(self, pass_name: str, *, run_id: str, fingerprint: str | None) -> None:
        """Note that the pass took a step; without a *fingerprint* the one it had stands."""
        fingerprint = fingerprint or self.fingerprint(pass_name)
        self._transaction.execute(_REMOVE, of_pass=pass_name)
        row = {
            "scope_id": self._transaction.scope_id,
            "pass_name": pass_name,
            "run_id": run_id,
            "fingerprint": fingerprint,
            "completed_at": to_micros(self._transaction.now),
        }
        self._transaction.connection.execute(_WRITE, row)

    def fingerprint(self, pass_name: str) -> str | None:
        """Return the fingerprint of the pass's last step that had one; None if none had."""
        return self._transaction.execute(_FINGERPRINT, of_pass=pass_name).scalar()

    def entries(self) -> dict[str, LedgerEntry]:
        """Return the last step of every pass that ever took one."""
        rows = self._transaction.execute(_ALL)
        return {
            row.pass_name: LedgerEntry(
                pass_name=row.pass_name,
                run_id=row.run_id,
                fingerprint=row.fingerprint,
                completed_at=from_micros(row.completed_at),
            )
            for row in rows
        }


_SETTLED_BY = of_my_scope(settled_clusters) & (settled_clusters.c.pass_name == bindparam("of_pass"))
_ALL_SETTLED = (
    select(
        settled_clusters.c.fingerprint,
        settled_clusters.c.record_ids,
        settled_clusters.c.declines,
        settled_clusters.c.declined_at,
    )
    .where(_SETTLED_BY)
    .order_by(settled_clusters.c.declined_at, settled_clusters.c.fingerprint)
)
_PUT_SETTLED = insert(settled_clusters)
_REMOVE_SETTLED = delete(settled_clusters).where(
    _SETTLED_BY, settled_clusters.c.fingerprint == bindparam("of_fingerprint")
)
_WITHDRAW_SETTLED = delete(settled_clusters).where(_SETTLED_BY, settled_clusters.c.run_id == bindparam("of_run"))


class ClusterReader:
    """Settled clusters of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def all(self, pass_name: str) -> list[SettledCluster]:
        """Return the clusters a pass settled, longest settled first."""
        return [
            SettledCluster(
                fingerprint=fingerprint,
                record_ids=tuple(orjson.loads(record_ids)),
                declines=declines,
                declined_at=from_micros(declined_at),
            )
            for fingerprint, record_ids, declines, declined_at in self._transaction.execute(
                _ALL_SETTLED, of_pass=pass_name
            ).all()
        ]


class ClusterStore(ClusterReader):
    """Settled clusters of one scope, in one transaction; lives as long as it."""

    def put(self, clusters: Sequence[SettledCluster], *, pass_name: str, run_id: str) -> None:
        """Keep clusters as they now stand."""
        self.remove([cluster.fingerprint for cluster in clusters], pass_name=pass_name)
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "pass_name": pass_name,
                "fingerprint": cluster.fingerprint,
                "record_ids": encode(list(cluster.record_ids)),
                "declines": cluster.declines,
                "declined_at": to_micros(cluster.declined_at),
                "run_id": run_id,
            }
            for cluster in clusters
        ]
        if rows:
            self._transaction.connection.execute(_PUT_SETTLED, rows)

    def remove(self, fingerprints: Sequence[str], *, pass_name: str) -> None:
        """Forget clusters that are no more."""
        mine = {MY_SCOPE: self._transaction.scope_id, "of_pass": pass_name}
        rows = [{**mine, "of_fingerprint": fingerprint} for fingerprint in fingerprints]
        if rows:
            self._transaction.connection.execute(_REMOVE_SETTLED, rows)

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Forget what a run that is taken back settled."""
        self._transaction.execute(_WITHDRAW_SETTLED, of_pass=pass_name, of_run=run_id)


class ExpiryReader:
    """The old rows of one scope's bookkeeping, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = runs.c.scope_id == transaction.scope_id

    def count(self, what: HistoryKind, before: datetime) -> int:
        """Count the rows of a kind that ended before that instant."""
        if what is HistoryKind.REFUSED:
            return RefusedTextStore(self._transaction).count_expired(before)
        if what is HistoryKind.PROPOSALS:
            return ProposalStore(self._transaction).count_expired(before)
        return self.count_expired(before) if what is HistoryKind.RUNS else self.count_feed(before)

    def count_expired(self, before: datetime) -> int:
        """Count the rows of runs that ended before that instant, and plans as old."""
        return sum(
            self._connection.execute(select(func.count()).select_from(table).where(due)).scalar_one()
            for table, due in self._expired(before)
        )

    def count_feed(self, before: datetime) -> int:
        """Count feed rows written before that instant, the newest aside."""
        return self._connection.execute(
            select(func.count()).select_from(change_feed).where(self._old_feed(before))
        ).scalar_one()

    def _expired(self, before: datetime) -> list[tuple[Table, ColumnElement[bool]]]:
        scope_id = self._transaction.scope_id
        ended = self._mine & (runs.c.finished_at < to_micros(before))
        theirs = select(runs.c.id).where(ended)
        of_runs = [
            (table, (table.c.scope_id == scope_id) & table.c.run_id.in_(theirs))
            for table in (journal, refused_texts, steps)
        ]
        # A plan's calls belong to no run here, so calls go by their own age.
        of_runs += [
            (table, (table.c.scope_id == scope_id) & (at < to_micros(before)))
            for table, at in ((model_calls, model_calls.c.answered_at), (model_failures, model_failures.c.failed_at))
        ]
        old_plans = (plans.c.scope_id == scope_id) & (plans.c.created_at < to_micros(before))
        # One that still waits expires by its own date, which is told; this is about what was rejected.
        old_proposals = (proposals.c.scope_id == scope_id) & (proposals.c.proposed_at < to_micros(before))
        decided = old_proposals & (proposals.c.state != "waiting")
        return [*of_runs, (plans, old_plans), (proposals, decided), (runs, ended)]

    def _old_feed(self, before: datetime) -> Any:
        mine = change_feed.c.scope_id == self._transaction.scope_id
        newest = select(func.max(change_feed.c.revision)).where(mine).scalar_subquery()
        return mine & (change_feed.c.recorded_at < to_micros(before)) & (change_feed.c.revision < newest)


class ExpiryStore(ExpiryReader):
    """The old rows of one scope's bookkeeping, in one transaction; lives as long as it."""

    def purge(self, before: datetime, *, limit: int) -> int:
        """Remove about *limit* of what `count_expired` counts, a run after all that belongs to it; return how much."""
        gone = 0
        for table, due in self._expired(before):
            if gone < limit:
                gone += self._delete(table, due, limit - gone)
        if gone < limit:  # no call is left that sent one of these
            mine = prompt_texts.c.scope_id == self._transaction.scope_id
            self._connection.execute(delete(prompt_texts).where(mine, prompt_texts.c.used_at < to_micros(before)))
        return gone

    def purge_feed(self, before: datetime, *, limit: int) -> int:
        """Remove at most *limit* feed rows written before that instant, oldest first, the newest aside."""
        mine = change_feed.c.scope_id == self._transaction.scope_id
        oldest = select(change_feed.c.revision).where(self._old_feed(before)).order_by(change_feed.c.revision)
        doomed = change_feed.c.revision.in_(oldest.limit(limit))
        return self._connection.execute(delete(change_feed).where(mine, doomed)).rowcount

    def _delete(self, table: Table, due: ColumnElement[bool], limit: int) -> int:
        if "pk" in table.c:
            due = table.c.pk.in_(select(table.c.pk).where(due).limit(limit))
        return self._connection.execute(delete(table).where(due)).rowcount
