"""The change feed: what a follower of entries, turns or skills has to take over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

import orjson
from sqlalchemy import Column, ColumnElement, Table, bindparam, false, func, select

from agentcore.domain.conversation import spoken_line
from agentcore.domain.instants import from_micros
from agentcore.domain.memory import Level, Status
from agentcore.stores.sql.prepared import Prepared
from agentcore.stores.sql.rows import index_text
from agentcore.stores.sql.schema import change_feed, entries, skills, turns
from agentcore.stores.sql.transaction import Transaction, is_active, of_my_scope
from agentcore.stores.sql.withheld import IS_WITHHELD
from agentcore.stores.values import FacetRow, FeedPage, FeedPosition, IndexRow, SkillRow, TurnRow

Row = TypeVar("Row")

_START: Final = FeedPosition()
_LAST_KEY: Final = 2**63 - 1
_PROMPT: Final = "system"


@dataclass(frozen=True, slots=True, eq=False)
class Followed(Generic[Row]):
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
    key, category, tags, level, subject_time, created, seen, status, _ = row
    named = () if tags == "[]" else tuple(orjson.loads(tags))
    is_live = status == Status.ACTIVE.value
    return FacetRow(key, category, named, Level(level), subject_time, created, seen, is_live)


def _turn_row(row: Sequence[Any]) -> TurnRow:
    key, session_id, speaker, content, occurred_at, role, generated, is_withheld, _ = row
    is_told = role != _PROMPT and not generated and not is_withheld
    return TurnRow(key, session_id, spoken_line(speaker, content, from_micros(occurred_at)), occurred_at, is_told)


def _skill_row(row: Sequence[Any]) -> SkillRow:
    key, name, summary, content, status, _ = row
    return SkillRow(key, name, summary, content, status == Status.ACTIVE.value)


ENTRIES: Final = Followed(
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
FACETS: Final = Followed(
    entries,
    (
        entries.c.category,
        entries.c.tags,
        entries.c.level,
        entries.c.subject_time,
        entries.c.created_at,
        entries.c.last_seen_at,
        entries.c.status,
    ),
    is_active(entries.c.status),
    change_feed.c.removed,
    _facet_row,
)
TURNS: Final = Followed(
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
SKILLS: Final = Followed(
    skills,
    (skills.c.name, skills.c.summary, skills.c.content, skills.c.status),
    is_active(skills.c.status),
    change_feed.c.removed_skills,
    _skill_row,
)

_OLDEST: Final = Prepared(select(func.min(change_feed.c.revision)).where(of_my_scope(change_feed)))


def read_feed(
    transaction: Transaction, followed: Followed[Row], position: FeedPosition, *, limit: int
) -> FeedPage[Row]:
    """Return the next page after *position*, or a page that says to start again."""
    current = transaction.current_revision()
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


@cache
def _pages(followed: Followed[Any], *, from_start: bool) -> tuple[Prepared, Prepared]:
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
    transaction: Transaction, followed: Followed[Any], position: FeedPosition, limit: int
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
