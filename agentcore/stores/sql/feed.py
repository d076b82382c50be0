"""The change feed: what a follower has to take over."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import bindparam, func, select

from agentcore.domain.memory import Status
from agentcore.stores.protocols import FeedPage, FeedPosition, IndexRow
from agentcore.stores.sql.conditions import is_active
from agentcore.stores.sql.entry_rows import index_text
from agentcore.stores.sql.schema import change_feed, entries
from agentcore.stores.sql.transaction import Transaction, of_my_scope

_COLUMNS = (
    entries.c.pk,
    entries.c.content,
    entries.c.category,
    entries.c.tags,
    entries.c.base,
    entries.c.last_seen_at,
    entries.c.status,
    entries.c.revision,
)
_rows = select(*_COLUMNS).where(of_my_scope(entries)).limit(bindparam("at_most"))
_REST = _rows.where(entries.c.revision == bindparam("of_revision"), entries.c.pk > bindparam("past_key")).order_by(
    entries.c.pk
)
_LATER = _rows.where(entries.c.revision > bindparam("of_revision")).order_by(entries.c.revision, entries.c.pk)
_REST_ACTIVE, _LATER_ACTIVE = (statement.where(is_active(entries.c.status)) for statement in (_REST, _LATER))
_START = FeedPosition()
_LAST_KEY = 2**63 - 1


def read_feed(transaction: Transaction, position: FeedPosition, *, limit: int) -> FeedPage:
    """Return the next page after *position*, or a page that says to start again."""
    current = transaction.current_revision()
    # Who has read nothing yet holds nothing that could have been removed.
    known = max(position.removals, position.revision) if position.revision else current
    if not _reaches_back_to(transaction, known, current):
        return FeedPage(_START, (), (), more=True, rebuild=True)
    found = _changed(transaction, position, limit)
    more = len(found) == limit
    revision, key = (found[-1].revision, found[-1].pk) if more else (current, _LAST_KEY)
    rows = [
        IndexRow(pk, index_text(content, category, tags), base, seen, status == Status.ACTIVE.value)
        for pk, content, category, tags, base, seen, status, _ in found
    ]
    return FeedPage(
        FeedPosition(revision, key, current),
        rows,
        _removed(transaction, known) if known < current else (),
        more=more,
        rebuild=False,
    )


def _changed(transaction: Transaction, position: FeedPosition, limit: int) -> Sequence[Any]:
    """Return the rows past *position*: the rest of its revision, then later ones."""
    rest, later = (_REST_ACTIVE, _LATER_ACTIVE) if position == _START else (_REST, _LATER)
    revision = position.revision
    found: list[Any] = list(transaction.execute(rest, of_revision=revision, past_key=position.key, at_most=limit))
    if len(found) < limit:
        found += transaction.execute(later, of_revision=revision, at_most=limit - len(found))
    return found


def _reaches_back_to(transaction: Transaction, known: int, current: int) -> bool:
    """Tell whether every removal since is still in the feed."""
    if known >= current:
        return known == current
    oldest = select(func.min(change_feed.c.revision)).where(change_feed.c.scope_id == transaction.scope_id)
    first = transaction.connection.execute(oldest).scalar()
    return first is not None and first - 1 <= known


def _removed(transaction: Transaction, known: int) -> list[int]:
    statement = select(change_feed.c.removed).where(
        change_feed.c.scope_id == transaction.scope_id,
        change_feed.c.revision > known,
        change_feed.c.removed.is_not(None),
    )
    return [key for text in transaction.connection.execute(statement).scalars() if text for key in orjson.loads(text)]
