"""Brings what a peer said, and what was learnt from it, to the scopes of those who observed it.

A peer speaks in its own scope, `workspace/peer/peer`, and there alone a model reads it. Who observed a turn is written
on the turn when it is said. A copy has the id of its origin, so that a tombstone of one is a tombstone of the other.
Which records of a scope are copies stands in a ledger, and how far a scope has followed its speaker is one revision.
All that one step of following does, and how far it came, commits in one transaction of the observer's scope.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, delete, exists, func, insert, select, union_all, update

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.domain.validity import revived
from agentcore.stores.forgetting import TombstoneKind
from agentcore.stores.sql.entries import SqlEntryStore
from agentcore.stores.sql.entry_sources import occasions
from agentcore.stores.sql.erase import SqlErasureReader
from agentcore.stores.sql.forget import forget_entries, forget_said
from agentcore.stores.sql.obey import obey
from agentcore.stores.sql.schema import change_feed, entries, fan_outs, fanned_out, scopes, turns
from agentcore.stores.sql.session_peers import SqlSessionPeerReader, SqlSessionPeerStore
from agentcore.stores.sql.stored_texts import said_key
from agentcore.stores.sql.tombstones import SqlTombstoneReader
from agentcore.stores.sql.transaction import COUNTED, Transaction, chunks
from agentcore.stores.sql.turns import SqlTurnReader, SqlTurnStore
from agentcore.stores.sql.withheld import SqlWithheldReader

FOLLOWED: Final = "followed"
"""How the reason begins for which a copy is retired because its origin was."""
AT_ONCE: Final = 250
"""Records that are looked at in one transaction, those of one revision never being parted."""

_TURN, _ENTRY = SourceKind.TURN.value, SourceKind.ENTRY.value


@dataclass(frozen=True, slots=True)
class Followed:
    """What one step of following came to.

    Args:
        more: Whether more is to be followed.
        forgot: Whether texts were forgotten, so that files beside the database are to be cleared.
    """

    more: bool = False
    forgot: bool = False


class SqlFanOutReader:
    """See who observes whom, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    @property
    def sessions(self) -> SqlSessionPeerReader:
        """Who takes part in sessions of the workspace."""
        return SqlSessionPeerReader(self._transaction)

    def observing(self) -> list[Scope]:
        """Return the scopes that follow what the peer of the view's scope says in its own."""
        scope = self._transaction.scope
        if scope.observer != scope.observed:
            return []
        its = (fan_outs.c.workspace == scope.workspace) & (fan_outs.c.observed == scope.observed)
        return _scopes(self._connection, its)

    def behind(self) -> list[Scope]:
        """Return the scopes, of whatever workspace, that have not followed all that was said."""
        speaker = scopes.alias("speaker")
        own = (speaker.c.observer == fan_outs.c.observed) & (speaker.c.observed == fan_outs.c.observed)
        its = own & (speaker.c.workspace == fan_outs.c.workspace) & (speaker.c.revision != fan_outs.c.revision)
        return _scopes(self._connection, exists().where(its))

    def copies(self, kind: SourceKind, among: Collection[str]) -> set[str]:
        """Return those of these ids that are of copies in the view's scope."""
        mine = (fanned_out.c.scope_id == self._transaction.scope_id) & (fanned_out.c.kind == kind.value)
        found: set[str] = set()
        for chunk in chunks(sorted(among)):
            named = select(fanned_out.c.record_id).where(mine, fanned_out.c.record_id.in_(chunk))
            found.update(self._connection.execute(named).scalars())
        return found

    def every_copy(self, kind: SourceKind, *, live_only: bool = False) -> set[str]:
        """Return the ids of all copies; with *live_only* of those whose origin was active when it was last seen."""
        mine = (fanned_out.c.scope_id == self._transaction.scope_id) & (fanned_out.c.kind == kind.value)
        named = select(fanned_out.c.record_id).where(mine)
        return set(self._connection.execute(named.where(fanned_out.c.live) if live_only else named).scalars())


class SqlFanOutStore(SqlFanOutReader):
    """Have scopes follow what peers say."""

    @property
    def sessions(self) -> SqlSessionPeerStore:
        """Who takes part in sessions of the workspace."""
        return SqlSessionPeerStore(self._transaction)

    def expect(self, observers: Iterable[str]) -> None:
        """Have these peers follow the scope from this transaction on; those who do already go on."""
        scope, connection = self._transaction.scope, self._connection
        for observer in observers:
            key = _key_of(connection, Scope(scope.workspace, observer, scope.observed))
            if connection.execute(select(fan_outs.c.scope_id).where(fan_outs.c.scope_id == key)).first() is None:
                row = {
                    "scope_id": key,
                    "workspace": scope.workspace,
                    "observed": scope.observed,
                    "revision": self._transaction.current_revision(),
                    "erasures": SqlErasureReader(self._transaction).count(),
                    "followed_at": to_micros(self._transaction.now),
                }
                connection.execute(insert(fan_outs), row)

    def follow(self) -> Followed:
        """Bring the next of what the observed peer said into the transaction's scope, once; see the module."""
        mine = fan_outs.c.scope_id == self._transaction.scope_id
        row = self._connection.execute(select(fan_outs).where(mine)).one_or_none()
        scope = self._transaction.scope
        if row is None or scope.observer == scope.observed:
            return Followed()
        with self._transaction.beyond_scope():
            return _Step(self._transaction, row).take()


def _scopes(connection: Connection, where: ColumnElement[bool]) -> list[Scope]:
    named = select(scopes.c.workspace, scopes.c.observer, scopes.c.observed)
    joined = named.join(fan_outs, fan_outs.c.scope_id == scopes.c.pk).where(where)
    return [Scope(*row) for row in connection.execute(joined.order_by(scopes.c.pk))]


def _key_of(connection: Connection, scope: Scope) -> int:
    parts = {"workspace": scope.workspace, "observer": scope.observer, "observed": scope.observed}
    found = connection.execute(select(scopes.c.pk).filter_by(**parts)).scalar()
    return found or connection.execute(insert(scopes).values(parts).returning(scopes.c.pk)).scalar_one()


class _Step:
    """One step of following: lives as long as its transaction."""

    def __init__(self, mine: Transaction, row: Row[Any]) -> None:
        own = Scope(mine.scope.workspace, mine.scope.observed, mine.scope.observed)
        key = _key_of(mine.connection, own)
        self._mine, self._row = mine, row
        self._its = Transaction(mine.connection, own, key, mine.now, mine.decay, key=mine.key)
        self._books = SqlFanOutReader(mine)
        self._store = SqlEntryStore(mine)
        self._forgot = False

    def take(self) -> Followed:
        """Take it."""
        erasures = SqlErasureReader(self._its).count()
        if erasures != self._row.erasures:
            self._forget_all()
        self._obey()
        upto, more = self._reach()
        self._copy_turns(upto)
        changed = self._changed(upto)
        added = self._copy_entries(changed)
        self._settle([*changed, *self._replaced_by(added)])
        self._take_back(upto)
        done = {"revision": upto, "erasures": erasures, "followed_at": to_micros(self._mine.now)}
        self._mine.connection.execute(update(fan_outs).where(fan_outs.c.scope_id == self._mine.scope_id).values(done))
        return Followed(more, self._forgot)

    def _reach(self) -> tuple[int, bool]:
        """Return up to which revision this step goes, and whether more lies behind it."""
        past = [
            select(table.c.revision).where(table.c.scope_id == self._its.scope_id, self._is_past(table.c.revision))
            for table in (turns, entries)
        ]
        both = union_all(*past).subquery()
        last = self._mine.connection.execute(
            select(both.c.revision).order_by(both.c.revision).offset(AT_ONCE - 1).limit(1)
        ).scalar()
        now = self._its.current_revision()
        return (now, False) if last is None or last >= now else (int(last), True)

    def _is_past(self, column: ColumnElement[int], upto: int | None = None) -> ColumnElement[bool]:
        later = column > self._row.revision
        return later if upto is None else later & (column <= upto)

    def _forget_all(self) -> None:
        """Forget every copy: the peer's own scope was erased."""
        here = [turn.id for turn in SqlTurnReader(self._mine).get_many(self._books.every_copy(SourceKind.TURN))]
        forget_said(self._mine, tuple(sorted(here)))
        forget_entries(self._mine, self._store.get_many(self._books.every_copy(SourceKind.ENTRY)), ())
        SqlTurnStore(self._mine).delete(here)
        gone = fanned_out.c.scope_id == self._mine.scope_id
        self._mine.connection.execute(delete(fanned_out).where(gone))
        self._forgot = True

    def _obey(self) -> None:
        """Forget what was forgotten in the peer's own scope since it was looked at last, as far as it was copied."""
        since = from_micros(self._row.followed_at)
        stones = SqlTombstoneReader(self._its).all(since=since)
        held = {
            kind: self._books.copies(SourceKind(kind.value), [one.record_id for one in stones if one.kind is kind])
            for kind in (TombstoneKind.ENTRY, TombstoneKind.TURN)
        }
        made = [
            one
            for one in stones
            if one.record_id in held.get(one.kind, ()) and not self._obeyed(one.kind, one.record_id, whole=one.whole)
        ]
        if not made:
            return
        obey(self._mine, made)
        self._forgot = True
        said = {one.record_id for one in made if one.kind is TombstoneKind.TURN}
        for turn in SqlTurnReader(self._its).get_many(said):
            text = {"content": turn.content, "fold_key": said_key(turn.content)}
            redacted = {**text, "version": turns.c.version + 1, "revision": self._mine.change()}
            copy = (turns.c.scope_id == self._mine.scope_id) & (turns.c.id == turn.id)
            self._mine.connection.execute(update(turns).where(copy, turns.c.content != turn.content).values(redacted))

    def _obeyed(self, kind: TombstoneKind, record_id: str, *, whole: bool) -> bool:
        known = SqlTombstoneReader(self._mine).of(kind, [record_id]).get(record_id)
        return known is not None and (known.whole or not whole)

    def _copy_turns(self, upto: int) -> None:
        """Copy what was observed and may be learnt from."""
        own, observer = turns.c.scope_id == self._its.scope_id, self._mine.scope.observer
        said = select(turns.c.id).where(own, self._is_past(turns.c.revision, upto), turns.c.observers != "[]")
        told = set(self._mine.connection.execute(said).scalars())
        ids = told - self._books.copies(SourceKind.TURN, told)
        if not ids:
            return
        erased_at = SqlErasureReader(self._mine).at()
        hidden = SqlWithheldReader(self._its).turns(ids) | {
            one.id for one in SqlTombstoneReader(self._mine).touched(SourceRef(SourceKind.TURN, one) for one in ids)
        }
        copies = [
            replace(turn, scope=self._mine.scope, consumed_at=self._mine.now, observers=(), version=1)
            for turn in SqlTurnReader(replace(self._its, learnable_only=True)).get_many(ids - hidden)
            if observer in turn.observers and (erased_at is None or turn.recorded_at > erased_at)
        ]
        SqlTurnStore(self._mine).add(copies)
        self._note(_TURN, [one.id for one in copies])

    def _changed(self, upto: int) -> list[MemoryEntry]:
        """Return the entries of the peer's own scope that changed, in the order of their ids."""
        own = (entries.c.scope_id == self._its.scope_id) & self._is_past(entries.c.revision, upto)
        ids = self._mine.connection.execute(select(entries.c.id).where(own)).scalars().all()
        return SqlEntryStore(self._its).get_many(ids)

    def _copy_entries(self, changed: Sequence[MemoryEntry]) -> set[str]:
        """Copy facts all of whose turns on some occasion were observed; see facts again on further occasions."""
        said = {one.id: one for one in changed if one.was_said}
        cited = occasions(self._its, list(said))
        gone = SqlTombstoneReader(self._mine).of(TombstoneKind.ENTRY, said)
        copied = self._books.copies(SourceKind.ENTRY, said)
        known = {one.id: one for one in self._store.get_many(said)}
        turns_here = self._observed({turn for met in cited.values() for named in met.values() for turn in named})
        new: list[MemoryEntry] = []
        counted = 0
        for entry in said.values():
            met = {at: named for at, named in cited.get(entry.id, {}).items() if named <= turns_here.keys()}
            if not met or entry.id in gone:
                continue
            fresh = self._copied(entry, met.values(), turns_here)
            if entry.id in copied:
                self._see_again(known.get(entry.id), fresh, met.values())
            elif entry.id not in known:
                new.append(fresh)
                counted += self._is_counted(min(met))
        self._store.add(new)
        self._mine.count_explicit(counted)
        self._note(_ENTRY, [one.id for one in new])
        return {one.id for one in new}

    def _observed(self, cited: Collection[str]) -> dict[str, Turn]:
        """Return those of these turns that are copies and still here."""
        held = self._books.copies(SourceKind.TURN, cited)
        return {turn.id: turn for turn in SqlTurnReader(self._mine).get_many(held)}

    def _copied(
        self, entry: MemoryEntry, met: Collection[frozenset[str]], turns_here: Mapping[str, Turn]
    ) -> MemoryEntry:
        """Return the copy of an entry that rests on these occasions alone."""
        named = frozenset[str]().union(*met)
        said = [turns_here[one].occurred_at for one in named]
        return replace(
            revived(entry),
            scope=self._mine.scope,
            sources=tuple(sorted(SourceRef(SourceKind.TURN, one) for one in named)),
            evidence=tuple(one for one in entry.evidence if one.source.id in named),
            created_at=min(said),
            last_seen_at=max(said),
            recorded_at=self._mine.now,
            updated_at=None,
            own_count=len(met),
            absorbed=(),
            pinned=False,
            version=1,
        )

    def _see_again(self, copy: MemoryEntry | None, fresh: MemoryEntry, met: Collection[frozenset[str]]) -> None:
        """Have a copy count once more for each occasion that it does not rest on yet."""
        if copy is None or not copy.is_active or set(fresh.sources) <= set(copy.sources):
            return
        known = {ref.id for ref in copy.sources}
        seen = replace(
            copy,
            sources=tuple(sorted({*copy.sources, *fresh.sources})),
            evidence=(*copy.evidence, *(one for one in fresh.evidence if one not in copy.evidence)),
            created_at=min(copy.created_at, fresh.created_at),
            last_seen_at=max(copy.last_seen_at, fresh.last_seen_at),
            own_count=copy.own_count + sum(not one <= known for one in met),
        )
        self._store.replace([(copy, seen)])

    def _is_counted(self, revision: int) -> bool:
        """Tell whether an entry counted when it was first said: what dreams find counts toward none."""
        its = (change_feed.c.scope_id == self._its.scope_id) & (change_feed.c.revision == revision)
        origin = self._mine.connection.execute(select(change_feed.c.origin).where(its)).scalar()
        return origin in {one.value for one in COUNTED}

    def _replaced_by(self, added: Collection[str]) -> list[MemoryEntry]:
        """Return what gave way, in the peer's own scope, to entries that were just copied."""
        found: list[str] = []
        for chunk in chunks(sorted(added)):
            gave_way = (entries.c.scope_id == self._its.scope_id) & entries.c.successor.in_(chunk)
            found += self._mine.connection.execute(select(entries.c.id).where(gave_way)).scalars()
        return SqlEntryStore(self._its).get_many(found)

    def _settle(self, origins: Iterable[MemoryEntry]) -> None:
        """Retire copies whose origin gave way to a fact that the observer holds too, and bring back what came back."""
        by_id = {one.id: one for one in origins}
        named = {*by_id, *(one.successor for one in by_id.values() if one.successor is not None)}
        copied = self._books.copies(SourceKind.ENTRY, named)
        pairs: list[tuple[MemoryEntry, MemoryEntry]] = []
        for copy in self._store.get_many(copied & by_id.keys()):
            origin = by_id[copy.id]
            gave_way = origin.status is Status.SUPERSEDED and origin.successor in copied
            if gave_way and copy.is_active:
                pairs.append((copy, _retired_like(copy, origin)))
            elif origin.is_active and _is_followed(copy):
                pairs.append((copy, revived(copy)))
        self._store.replace(pairs)
        for live in (True, False):
            self._mark({one for one in copied & by_id.keys() if by_id[one].is_active is live}, live=live)

    def _take_back(self, upto: int) -> None:
        """Set aside copies of what an undo took back; what retention removed had been retired before."""
        its = (change_feed.c.scope_id == self._its.scope_id) & self._is_past(change_feed.c.revision, upto)
        told = select(func.count()).where(its)
        removed = self._mine.connection.execute(told.where(change_feed.c.removed.is_not(None))).scalar_one()
        if not removed and self._mine.connection.execute(told).scalar_one() == upto - self._row.revision:
            return
        live = self._books.every_copy(SourceKind.ENTRY, live_only=True)
        gone = live - SqlEntryStore(self._its).existing(live)
        pairs = [
            (copy, replace(copy, status=Status.ARCHIVED, status_reason=_UNDONE, status_at=self._mine.now))
            for copy in self._store.get_many(gone)
            if copy.is_active
        ]
        self._store.replace(pairs)

    def _note(self, kind: str, ids: Iterable[str]) -> None:
        scope_id = self._mine.scope_id
        rows = [{"scope_id": scope_id, "kind": kind, "record_id": one, "live": True} for one in ids]
        if rows:
            self._mine.connection.execute(insert(fanned_out), rows)

    def _mark(self, ids: Collection[str], *, live: bool) -> None:
        for chunk in chunks(sorted(ids)):
            named = (fanned_out.c.kind == _ENTRY) & fanned_out.c.record_id.in_(chunk)
            mine = fanned_out.c.scope_id == self._mine.scope_id
            self._mine.connection.execute(update(fanned_out).where(mine, named).values(live=live))


_UNDONE: Final = f"{FOLLOWED}: what the peer's own memory had learnt was taken back"


def _retired_like(copy: MemoryEntry, origin: MemoryEntry) -> MemoryEntry:
    return replace(
        copy,
        status=origin.status,
        status_reason=f"{FOLLOWED}: {origin.status_reason or ''}",
        successor=origin.successor,
        status_at=origin.status_at,
        valid_until=origin.valid_until,
    )


def _is_followed(copy: MemoryEntry) -> bool:
    return not copy.is_active and (copy.status_reason or "").startswith(FOLLOWED)
