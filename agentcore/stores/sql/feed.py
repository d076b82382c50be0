"""Keeps the change feed, and who was active when: what followers and triggers go by."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import groupby, pairwise
from typing import Any, Final, Generic, TypeVar

import orjson
from sqlalchemy import Column, ColumnElement, Table, and_, bindparam, false, func, insert, or_, select, update

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.conversation import spoken_line
from agentcore.domain.memory import Level, Status
from agentcore.domain.subject_time import PartialDate, SubjectTime
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.domain.validity import day_of, time_held
from agentcore.stores.sql.prepared import Prepared
from agentcore.stores.sql.rows import index_text
from agentcore.stores.sql.schema import change_feed, entries, peers, scopes, skills, turns
from agentcore.stores.sql.transaction import Transaction, chunks, is_active, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD
from agentcore.stores.values import FacetRow, FeedPage, FeedPosition, IndexRow, Peer, SkillRow, TurnRow

Row = TypeVar("Row")

_START: Final = FeedPosition()
_LAST_KEY: Final = 2**63 - 1
_PROMPT: Final = "system"
_PERSON: Final = "user"


@dataclass(frozen=True, slots=True, eq=False)
class FeedKind(Generic[Row]):
    """One kind of record as the feed tells of it.

    Args:
        table: Where it stands; its rows have a key and a revision.
        columns: What a row is made of, after the key and before the revision.
        live: Whether readers may see it, which a follower that starts from nothing asks for alone.
        removed: Where the feed keeps the keys of those that are gone.
        row: Makes what the index needs of key, columns and revision.
    """

    table: Table
    columns: tuple[ColumnElement[Any], ...]
    live: ColumnElement[bool]
    removed: Column[Any]
    row: Callable[[Sequence[Any]], Row]


def _entry_row(row: Sequence[Any]) -> IndexRow:
    key, content, category, tags, base, seen, status, _ = row
    return IndexRow(key, index_text(content, category, tags), base, seen, status == Status.ACTIVE.value)


def _facet_row(row: Sequence[Any]) -> FacetRow:
    key, category, tags, level, pattern, confidence, subject_time, created, seen, status, _ = row
    named = () if tags == "[]" else tuple(orjson.loads(tags))
    is_live = status == Status.ACTIVE.value
    found = FacetRow(key, category, named, Level(level), subject_time, created, seen, is_live)
    return replace(found, pattern=Pattern(pattern), confidence=Confidence(confidence)) if pattern else found


def _held_row(row: Sequence[Any]) -> IndexRow:
    *told, status, until, revision = row
    return replace(_entry_row((*told, status, revision)), live=_is_told_of(status, until))


def _held_facet_row(row: Sequence[Any]) -> FacetRow:
    *told, status, until, since, revision = row
    found = replace(_facet_row((*told, status, revision)), live=_is_told_of(status, until))
    if until is None and since is None:
        return found
    time = None if found.subject_time is None else SubjectTime.parse(found.subject_time)
    first = PartialDate.parse(since) if until is None else day_of(from_micros(found.created_us))
    held = time_held(time, since=first, until=None if until is None else PartialDate.parse(until))
    return replace(found, subject_time=str(held))


def _is_told_of(status: str, until: str | None) -> bool:
    return status == Status.ACTIVE.value or until is not None


def _turn_row(row: Sequence[Any]) -> TurnRow:
    key, session_id, speaker, content, occurred_at, role, generated, is_withheld, _ = row
    is_told = role != _PROMPT and not generated and not is_withheld
    heading = spoken_line(speaker, "", from_micros(occurred_at))
    return TurnRow(key, session_id, content, occurred_at, is_told, heading, role == _PERSON)


def _skill_row(row: Sequence[Any]) -> SkillRow:
    key, name, summary, content, status, _ = row
    return SkillRow(key, name, summary, content, status == Status.ACTIVE.value)


ENTRIES: Final = FeedKind(
    entries,
    (
        entries.c.content,
        entries.c.category,
        entries.c.tags,
        entries.c.base,
        entries.c.last_seen_at,
        entries.c.status,
    ),
    is_active(entries.c.status),
    change_feed.c.removed,
    _entry_row,
)
FACETS: Final = FeedKind(
    entries,
    (
        entries.c.category,
        entries.c.tags,
        entries.c.level,
        entries.c.pattern,
        entries.c.confidence,
        entries.c.subject_time,
        entries.c.created_at,
        entries.c.last_seen_at,
        entries.c.status,
    ),
    is_active(entries.c.status),
    change_feed.c.removed,
    _facet_row,
)
_HAS_ENDED: Final = entries.c.valid_until.is_not(None)
_former = entries.alias("former")
_SINCE: Final = (
    select(func.min(_former.c.valid_until))
    .where(
        _former.c.scope_id == entries.c.scope_id,
        _former.c.successor == entries.c.id,
        _former.c.valid_until.is_not(None),
    )
    .scalar_subquery()
    .label("since")
)
HELD: Final = FeedKind(
    entries,
    (*ENTRIES.columns, entries.c.valid_until),
    or_(ENTRIES.live, _HAS_ENDED),
    change_feed.c.removed,
    _held_row,
)
HELD_FACETS: Final = FeedKind(
    entries,
    (*FACETS.columns, entries.c.valid_until, _SINCE),
    or_(FACETS.live, _HAS_ENDED),
    change_feed.c.removed,
    _held_facet_row,
)
TURNS: Final = FeedKind(
    turns,
    (
        turns.c.session_id,
        turns.c.speaker,
        turns.c.content,
        turns.c.occurred_at,
        turns.c.role,
        turns.c.generated,
        IS_WITHHELD.label("is_withheld"),
    ),
    (turns.c.role != _PROMPT) & (turns.c.generated == false()) & ~IS_WITHHELD,
    change_feed.c.removed_turns,
    _turn_row,
)
SKILLS: Final = FeedKind(
    skills,
    (skills.c.name, skills.c.summary, skills.c.content, skills.c.status),
    is_active(skills.c.status),
    change_feed.c.removed_skills,
    _skill_row,
)

_log = logging.getLogger(__name__)
_BOUNDS: Final = ("", *sorted(one.value for one in Status), "\U0010ffff")
# By ranges, which the index of states answers without a look at the entries in the known ones.
_UNKNOWN: Final = (
    select(entries.c.status, func.count())
    .where(
        of_my_scope(entries),
        or_(*((entries.c.status > low) & (entries.c.status < high) for low, high in pairwise(_BOUNDS))),
    )
    .group_by(entries.c.status)
)


def unknown_states(transaction: Transaction) -> dict[str, int]:
    """Return how many entries are in states that this version does not know: readers pass over them."""
    return {str(state): count for state, count in transaction.execute(_UNKNOWN)}


_OLDEST: Final = Prepared(select(func.min(change_feed.c.revision)).where(of_my_scope(change_feed)))


def read_feed(
    transaction: Transaction, followed: FeedKind[Row], position: FeedPosition, *, limit: int
) -> FeedPage[Row]:
    """Return the next page after *position*, or a page that says to start again."""
    current = transaction.current_revision()
    if followed is ENTRIES and position == _START and (unknown := unknown_states(transaction)):
        _log.warning("entries_passed_over", extra={"count": sum(unknown.values()), "states": sorted(unknown)})
    # Who has read nothing yet holds nothing that could have been removed.
    known = max(position.removals, position.revision) if position.revision else current
    if not _reaches_back_to(transaction, known, current):
        return FeedPage(_START, (), (), more=True, rebuild=True)
    found = _changed(transaction, followed, position, limit)
    more = len(found) == limit
    revision, key = (found[-1][-1], found[-1][0]) if more else (current, _LAST_KEY)
    return FeedPage(
        FeedPosition(revision, key, current),
        [followed.row(row) for row in found],
        _removed(transaction, followed.removed, known) if known < current else (),
        more=more,
        rebuild=False,
    )


def retell(transaction: Transaction, entry_ids: AbstractSet[str | None], revision: int) -> None:
    """Have followers look again at entries that have not changed themselves."""
    for chunk in chunks(sorted(one for one in entry_ids if one)):
        named = of_my_scope(entries) & entries.c.id.in_(chunk)
        transaction.execute(update(entries).where(named).values(revision=revision))


@cache
def _pages(followed: FeedKind[Any], *, from_start: bool) -> tuple[Prepared, Prepared]:
    """Return what asks for the rest of a revision and for later ones."""
    table = followed.table
    rows = select(table.c.pk, *followed.columns, table.c.revision).where(of_my_scope(table)).limit(bindparam("at_most"))
    if from_start:
        rows = rows.where(followed.live)
    rest = rows.where(table.c.revision == bindparam("of_revision"), table.c.pk > bindparam("past_key"))
    later = rows.where(table.c.revision > bindparam("of_revision"))
    return Prepared(rest.order_by(table.c.pk)), Prepared(later.order_by(table.c.revision, table.c.pk))


@cache
def _removals(column: Column[Any]) -> Prepared:
    later = (change_feed.c.revision > bindparam("known")) & column.is_not(None)
    return Prepared(select(column).where(of_my_scope(change_feed), later))


def _changed(
    transaction: Transaction, followed: FeedKind[Any], position: FeedPosition, limit: int
) -> list[tuple[Any, ...]]:
    """Return the rows past *position*: the rest of its revision, then later ones."""
    rest, later = _pages(followed, from_start=position == _START)
    revision = position.revision
    found = list(transaction.rows(rest, of_revision=revision, past_key=position.key, at_most=limit))
    if len(found) < limit:
        found += transaction.rows(later, of_revision=revision, at_most=limit - len(found))
    return found


def _reaches_back_to(transaction: Transaction, known: int, current: int) -> bool:
    """Tell whether every removal since is still in the feed."""
    if known >= current:
        return known == current
    first = transaction.rows(_OLDEST)[0][0]
    return first is not None and first - 1 <= known


def _removed(transaction: Transaction, column: Column[Any], known: int) -> list[int]:
    return [key for (text,) in transaction.rows(_removals(column), known=known) if text for key in orjson.loads(text)]


_IS_NAMED = and_(peers.c.workspace == bindparam("b_workspace"), peers.c.observed == bindparam("b_observed"))
# A moment ahead of the present was written by a clock that has been set back since.
_MOVES = or_(
    peers.c.active_at.is_(None),
    peers.c.active_at <= bindparam("b_active_at"),
    peers.c.active_at > bindparam("b_now"),
)
_TOUCH = (
    update(peers)
    .where(_IS_NAMED, _MOVES)
    .values(
        active_at=bindparam("b_active_at"),
        changed_since=func.coalesce(peers.c.changed_since, bindparam("b_active_at")),
    )
)


class SqlActivityReader:
    """See when the scope's peer was active."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def last(self) -> datetime | None:
        """Return when the peer of the view's scope was last active, whoever observed it; None if it never was."""
        peer = Peer.of(self._transaction.scope)
        mine = (peers.c.workspace == peer.workspace) & (peers.c.observed == peer.observed)
        found = self._connection.execute(select(peers.c.active_at).where(mine)).scalar()
        return None if found is None else from_micros(found)

    def explicit_entries(self) -> int:
        """Return how many explicit entries people and imports have ever added to the scope; it only grows."""
        statement = select(scopes.c.explicit_entries).where(scopes.c.pk == self._transaction.scope_id)
        return self._connection.execute(statement).scalar() or 0


class SqlActivityStore(SqlActivityReader):
    """Record activity that comes without a record.

    A transaction of a host or an import records its own: whoever adds turns, entries or signals, or says an entry
    again, is active at its instant. What dreams write is no activity, nor what belongs to sessions that are off.
    """

    def touch(self, moments: Mapping[Peer, datetime]) -> None:
        """Note that peers, of whatever scope, were active; an earlier moment than the known one changes nothing."""
        with self._transaction.beyond_scope():
            self._touch(moments)

    def _touch(self, moments: Mapping[Peer, datetime]) -> None:
        known = self._known(moments)
        rows = [_moved(self._transaction, peer, moment) for peer, moment in sorted(moments.items()) if peer in known]
        if rows:
            self._connection.execute(_TOUCH, rows)
        new = [_new(peer, to_micros(moment)) for peer, moment in sorted(moments.items()) if peer not in known]
        if new:
            self._connection.execute(insert(peers), new)

    def notify(self) -> None:
        """Have whoever plans dreams look again at those of the scope's peer; it is no activity."""
        mark_changed(self._transaction)

    def _known(self, named: Collection[Peer]) -> set[Peer]:
        found: set[Peer] = set()
        # By workspace: SQLite finds no pair of values by an index.
        for workspace, group in groupby(sorted(named), key=lambda peer: peer.workspace):
            for chunk in chunks(peer.observed for peer in group):
                statement = select(peers.c.observed).where(peers.c.workspace == workspace, peers.c.observed.in_(chunk))
                found.update(Peer(workspace, one) for one in self._connection.execute(statement).scalars())
        return found


def record_activity(transaction: Transaction) -> None:
    """Note that the peer of the transaction's scope was active at its instant."""
    peer = Peer.of(transaction.scope)
    if not transaction.connection.execute(_TOUCH, _moved(transaction, peer, transaction.now)).rowcount:
        SqlActivityStore(transaction).touch({peer: transaction.now})


def mark_changed(transaction: Transaction, *, whole_workspace: bool = False) -> None:
    """Have whoever plans dreams look again at the scope's peer, or at every peer of its workspace."""
    peer = Peer.of(transaction.scope)
    now = to_micros(transaction.now)
    mine = peers.c.workspace == peer.workspace
    named = mine if whole_workspace else mine & (peers.c.observed == peer.observed)
    marking = update(peers).where(named).values(changed_since=func.coalesce(peers.c.changed_since, now))
    if not transaction.connection.execute(marking).rowcount and not whole_workspace:
        transaction.connection.execute(insert(peers).values(_new(peer, None) | {"changed_since": now}))


def _new(peer: Peer, active_at: int | None) -> dict[str, Any]:
    return {
        "workspace": peer.workspace,
        "observed": peer.observed,
        "active_at": active_at,
        "changed_since": active_at,
    }


def _moved(transaction: Transaction, peer: Peer, moment: datetime) -> dict[str, Any]:
    return {
        "b_workspace": peer.workspace,
        "b_observed": peer.observed,
        "b_active_at": to_micros(moment),
        "b_now": to_micros(transaction.now),
    }
