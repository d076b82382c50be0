"""Reads and writes the conversation log."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, func, or_, select, update

from agentcore.domain.conversation import ConversationSession, Turn
from agentcore.domain.records import RecordKind
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.feed import TURNS, read_feed
from agentcore.stores.sql.prepared import Prepared, PreparedByKey
from agentcore.stores.sql.record_store import SqlRecordReader
from agentcore.stores.sql.rows import RecordRows
from agentcore.stores.sql.schema import turns
from agentcore.stores.sql.settings import ALL_OF_THEM, any_counts, learnable
from agentcore.stores.sql.stored_texts import said_key
from agentcore.stores.sql.transaction import MY_SCOPE, NEVER_MATERIAL, Transaction, chunks, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD, drop_refused_texts, learnable_turns
from agentcore.stores.values import FeedPage, FeedPosition, TurnMaterial, TurnRow

S = TypeVar("S", bound=Select[*tuple[Any, ...]])

_ROWS = RecordRows(Turn, turns)
_USER = "user"
_ALL = 2**31 - 1
"""More turns than a session has."""
_EMPTY = turns.c.consumed_at.is_(None)
_UNREAD = _EMPTY & ~IS_WITHHELD
_MINE = of_my_scope(turns)
_AMONG = turns.c.id.in_(bindparam("among", expanding=True))
_PAST = turns.c.position > bindparam("after")
# The sum keeps SQLite from walking all turns before that position instead of looking up the few that are named.
_REOPENED = (turns.c.position + 0 <= bindparam("after")) & _AMONG
_BY_ID = _ROWS.by_id.where(_AMONG)
# The sum keeps SQLite from walking the whole scope by one of its indexes instead of looking the keys up.
_BY_KEY = PreparedByKey(
    select(*_ROWS.columns, turns.c.pk).where(turns.c.scope_id + 0 == bindparam(MY_SCOPE)), turns.c.pk
)
_KEYS = PreparedByKey(select(turns.c.id, turns.c.pk).where(_MINE), turns.c.id)
_session = _ROWS.mine.where(turns.c.session_id == bindparam("of_session"))
_NEWEST = Prepared(_session.order_by(turns.c.occurred_at.desc(), turns.c.pk.desc()).limit(bindparam("at_most")))
_material = select(turns.c.id, turns.c.position, turns.c.session_id).where(_MINE, _UNREAD)
_MATERIAL = _material.where(_PAST).order_by(turns.c.position).limit(bindparam("at_most"))
_MATERIAL_AGAIN = _material.where(_REOPENED)
_COUNT = select(func.count()).select_from(turns).where(_MINE)
_COUNT_UNREAD = _COUNT.where(_UNREAD)
_COUNT_PAST = _COUNT_UNREAD.where(_PAST)
_COUNT_AGAIN = _COUNT_UNREAD.where(_REOPENED)
_CONSUMED_FIRST: tuple[ColumnElement[Any], ...] = (_UNREAD, turns.c.recorded_at, turns.c.pk)


class SqlTurnReader(SqlRecordReader[Turn]):
    """Read the conversation log."""

    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction, _ROWS)
        self._learnable = self._learnt_from()

    def _learnt_from(self) -> ColumnElement[bool]:
        switched_on, told = learnable(self._transaction, turns), None
        if self._transaction.learnable_only:
            told = learnable_turns(self._transaction)
        return switched_on if told is None else and_(switched_on, told)

    @property
    def _readable(self) -> ColumnElement[bool]:
        return and_(self._mine, self._learnable)

    def get(self, turn_id: str) -> Turn | None:
        """Return the turn, or None."""
        found = self.get_many((turn_id,))
        return found[0] if found else None

    def get_many(self, ids: Collection[str], /) -> list[Turn]:
        """Return those that exist, by id."""
        found: list[Turn] = []
        for chunk in chunks(sorted(set(ids))):
            found += self._read(self._of(_BY_ID), among=chunk)
        return found

    def by_keys(self, keys: Sequence[int]) -> dict[int, Turn]:
        """Return turns by the keys that `changes_since` gave."""
        transaction = self._transaction
        return {row[-1]: _ROWS.read(transaction, row) for row in transaction.by_key(_BY_KEY, keys)}

    def keys_of(self, turn_ids: Collection[str]) -> dict[str, int]:
        """Return the keys of those that exist, by id."""
        return dict(self._transaction.by_key(_KEYS, sorted(set(turn_ids))))

    def changes_since(self, position: FeedPosition, *, limit: int) -> FeedPage[TurnRow]:
        """Return the next page of the feed of turns after *position*; the default position starts from nothing."""
        return read_feed(self._transaction, TURNS, position, limit=limit)

    def session(self, session_id: str, *, limit: int | None = None) -> list[Turn]:
        """Return the newest *limit* turns of a session, in the order they were said."""
        if self._learnable is ALL_OF_THEM:
            at_most = _ALL if limit is None else limit
            rows = self._transaction.rows(_NEWEST, of_session=session_id, at_most=at_most)
            return [_ROWS.read(self._transaction, row) for row in reversed(rows)]
        newest = self._of(_ROWS.mine).where(turns.c.session_id == session_id)
        newest = newest.order_by(turns.c.occurred_at.desc(), turns.c.pk.desc()).limit(limit)
        return self._read(newest)[::-1]

    def sessions(self, *, prefix: str, limit: int) -> list[ConversationSession]:
        """Return the *limit* sessions that were spoken in last, the newest first, whoever spoke.

        Args:
            prefix: Only those whose id begins so, letter by letter; empty for all.
            limit: How many at most.
        """
        last = func.max(turns.c.occurred_at)
        told = select(turns.c.session_id, func.count(), func.min(turns.c.occurred_at), last).where(self._mine)
        if prefix:
            # Not LIKE, which takes capital and small letters for the same in SQLite.
            told = told.where(func.substr(turns.c.session_id, 1, len(prefix)) == prefix)
        newest = told.group_by(turns.c.session_id).order_by(last.desc(), turns.c.session_id).limit(limit)
        return [
            ConversationSession(session_id=name, turns=count, first_at=from_micros(first), last_at=from_micros(end))
            for name, count, first, end in self._connection.execute(newest)
        ]

    def preceding(self, turn_id: str, *, limit: int) -> list[Turn]:
        """Return the last *limit* turns said before a turn in its session, in the order they were said."""
        place = select(turns.c.session_id, turns.c.occurred_at, turns.c.pk).where(self._mine, turns.c.id == turn_id)
        turn = self._connection.execute(place).one_or_none()
        if turn is None:
            return []
        earlier = or_(
            turns.c.occurred_at < turn.occurred_at,
            (turns.c.occurred_at == turn.occurred_at) & (turns.c.pk < turn.pk),
        )
        # The first condition repeats part of the second, so that the index bounds the walk.
        session = self._of(_ROWS.mine).where(
            turns.c.session_id == turn.session_id, turns.c.occurred_at <= turn.occurred_at
        )
        newest = session.where(earlier).order_by(turns.c.occurred_at.desc(), turns.c.pk.desc()).limit(limit)
        return self._read(newest)[::-1]

    def openings(self, *, limit: int) -> list[Turn]:
        """Return the first turn a user said in each of the *limit* sessions begun last, in the order they were said.

        Generated turns are not what a user said; consumed ones still are.
        """
        place = func.row_number().over(partition_by=turns.c.session_id, order_by=(turns.c.occurred_at, turns.c.pk))
        said = select(turns.c.pk, turns.c.occurred_at, place.label("place"))
        ranked = said.where(self._readable, turns.c.role == _USER, turns.c.generated.is_(False)).subquery()
        first = select(ranked.c.pk).where(ranked.c.place == 1)
        newest = first.order_by(ranked.c.occurred_at.desc(), ranked.c.pk.desc()).limit(limit)
        return self._read(self._of(_ROWS.mine).where(turns.c.pk.in_(newest)).order_by(turns.c.occurred_at, turns.c.pk))

    def said_since(self, since: datetime, *, limit: int) -> list[Turn]:
        """Return the newest *limit* turns that users said at or after an instant, in the order they were said.

        Generated turns are not what a user said; consumed ones still are.
        """
        by_users = self._of(_ROWS.mine).where(turns.c.role == _USER, turns.c.generated.is_(False))
        newest = by_users.where(turns.c.occurred_at >= to_micros(since))
        return self._read(newest.order_by(turns.c.occurred_at.desc(), turns.c.pk.desc()).limit(limit))[::-1]

    def silent(self, *, since: datetime, until: datetime, limit: int) -> list[str]:
        """Return sessions whose last turn was said between two instants, the longest silent first.

        Generated turns are not said by anybody, and copies of what was said in another scope are evaluated there.
        """
        last = func.max(turns.c.occurred_at)
        recent = select(turns.c.session_id).where(
            self._readable,
            turns.c.generated.is_(False),
            turns.c.occurred_at >= to_micros(since),
            turns.c.position != NEVER_MATERIAL,
        )
        silent = recent.group_by(turns.c.session_id).having(last <= to_micros(until))
        return list(self._connection.execute(silent.order_by(last, turns.c.session_id).limit(limit)).scalars())

    def material(self, *, after: int, also: Collection[str], limit: int) -> list[TurnMaterial]:
        """Return turns past the position *after*, and turns of *also* before it, in the order of arrival.

        Turns that every enabled reader has consumed are none, nor is what a dream or an undo wrote unless *also* names
        it.
        """
        rows: list[Any] = list(self._transaction.execute(self._of(_MATERIAL), after=after, at_most=limit))
        for chunk in chunks(sorted(also)):
            rows += self._transaction.execute(self._of(_MATERIAL_AGAIN), after=after, among=chunk)
        return sorted((TurnMaterial(*row) for row in rows), key=lambda item: (item.position, item.id))[:limit]

    def count_material(self, *, after: int, also: Collection[str]) -> int:
        """Count what `material` would return without a limit."""
        total: int = self._transaction.execute(self._of(_COUNT_PAST), after=after).scalar_one()
        for chunk in chunks(sorted(also)):
            total += self._transaction.execute(self._of(_COUNT_AGAIN), after=after, among=chunk).scalar_one()
        return total

    def last_position(self) -> int:
        """Return the position of the newest turn, consumed or not; 0 if there is none."""
        return self._connection.execute(select(func.max(turns.c.position)).where(self._mine)).scalar() or 0

    def count(self) -> int:
        """Count turns."""
        return self._transaction.execute(_COUNT).scalar_one()

    def count_unread(self) -> int:
        """Count turns that somebody still has to read."""
        return self._transaction.execute(_COUNT_UNREAD).scalar_one()

    def expired(self, *, recorded_before: datetime, limit: int) -> list[Turn]:
        """Return turns stored before that instant, consumed ones first, then oldest."""
        due = _ROWS.mine.where(turns.c.recorded_at < to_micros(recorded_before))
        return self._read(due.order_by(*_CONSUMED_FIRST).limit(limit))

    def surplus(self, *, keep: int, limit: int) -> list[Turn]:
        """Return the turns to drop so that *keep* remain: consumed ones first, then oldest."""
        excess = self.count() - keep
        return self._read(_ROWS.mine.order_by(*_CONSUMED_FIRST).limit(min(limit, excess))) if excess > 0 else []

    def oldest_recorded(self) -> datetime | None:
        """Return when the oldest turn was stored, or None."""
        oldest = self._connection.execute(select(func.min(turns.c.recorded_at)).where(self._mine)).scalar()
        return None if oldest is None else from_micros(oldest)

    def newest_recorded(self) -> datetime | None:
        """Return when the clock said that a turn was stored, at the latest; None if there is no turn."""
        newest = self._connection.execute(select(func.max(turns.c.recorded_at)).where(self._mine)).scalar()
        return None if newest is None else from_micros(newest)

    def is_set_back(self, *, recorded_before: datetime, by: timedelta) -> bool:
        """Tell whether a turn that says it was stored before an instant came after one that says much later.

        Args:
            recorded_before: The instant.
            by: How much later at least.
        """
        due = select(turns.c.position, turns.c.recorded_at).where(
            self._mine, turns.c.recorded_at < to_micros(recorded_before)
        )
        last = self._connection.execute(due.order_by(turns.c.position.desc()).limit(1)).one_or_none()
        if last is None:
            return False
        later = turns.c.recorded_at > last.recorded_at + by // timedelta(microseconds=1)
        came_first = select(turns.c.pk).where(self._mine, turns.c.position < last.position, later)
        return self._connection.execute(came_first.limit(1)).first() is not None

    def _of(self, statement: S) -> S:
        """Return a statement of constants that sees no more than may be learnt from."""
        return statement if self._learnable is ALL_OF_THEM else statement.where(self._learnable)

    def _read(self, statement: Select[Any], **given: object) -> list[Turn]:
        return [_ROWS.read(self._transaction, row) for row in self._transaction.execute(statement, **given).all()]


class SqlTurnStore(SqlTurnReader):
    """Write the conversation log."""

    def add(self, new: Sequence[Turn]) -> None:
        """Append turns; StaleVersionError if an id is taken, InvalidContentError if one belongs to another scope."""
        if not new:
            return
        revision = self._transaction.change()
        positions = self._transaction.new_positions(len(new))
        rows = [
            _ROWS.write(self._transaction, turn)
            | {"version": 1, "revision": revision, "position": position, "fold_key": said_key(turn.content)}
            for turn, position in zip(new, positions, strict=True)
        ]
        self._transaction.insert_new(turns, "turn", rows)
        self._transaction.inserted += [(RecordKind.TURN, turn.id) for turn in new]
        told = any(turn.learning for turn in new)
        if told or any_counts(self._transaction, {turn.session_id for turn in new}):
            self._transaction.note_activity()

    def apply(self, changes: Sequence[tuple[Turn | None, Turn | None]], /) -> None:
        """Append the turns that are new, remove those that go; of others write when they were consumed, or were not."""
        self.delete([before.id for before, after in changes if before is not None and after is None])
        self.add([after for before, after in changes if before is None and after is not None])
        marked: defaultdict[datetime | None, list[str]] = defaultdict(list)
        for before, after in changes:
            if before is not None and after is not None:
                marked[after.consumed_at].append(after.id)
        for instant, ids in marked.items():
            if instant is None:
                self.mark_unread(ids)
            else:
                self.mark_consumed(ids, instant)

    def mark_consumed(self, turn_ids: Collection[str], at: datetime) -> int:
        """Set `consumed_at` where it is empty; return how many were set."""
        return self._mark(turn_ids, _EMPTY, to_micros(at))

    def mark_unread(self, turn_ids: Collection[str]) -> int:
        """Empty `consumed_at`, which an undo does; return how many were emptied."""
        return self._mark(turn_ids, turns.c.consumed_at.is_not(None), None)

    def delete(self, ids: Collection[str], /) -> int:
        """Remove turns for good; return how many there were."""
        keys = sorted(self.keys_of(ids).values())
        for chunk in chunks(keys):
            self._connection.execute(delete(turns).where(turns.c.pk.in_(chunk)))
        if keys:
            drop_refused_texts(self._transaction, ids)
            self._transaction.removed(keys, RecordKind.TURN, ids, told_in=TURNS.removed)
        return len(keys)

    def _mark(self, turn_ids: Collection[str], where: ColumnElement[bool], consumed_at: int | None) -> int:
        found: list[int] = []
        for chunk in chunks(sorted(set(turn_ids))):
            keys = select(turns.c.pk).where(self._mine, turns.c.id.in_(chunk), where)
            found += self._connection.execute(keys).scalars()
        for chunk in chunks(found):
            values = {
                "consumed_at": consumed_at,
                "version": turns.c.version + 1,
                "revision": self._transaction.change(),
            }
            self._connection.execute(update(turns).where(turns.c.pk.in_(chunk)).values(values))
        return len(found)
