"""The change feed: what a follower has to take over."""

import orjson
from sqlalchemy import func, select

from agentcore.domain.memory import Status
from agentcore.stores.protocols import FeedPage, FeedPosition, IndexRow
from agentcore.stores.sql.entry_rows import index_text
from agentcore.stores.sql.schema import change_feed, entries
from agentcore.stores.sql.transaction import Transaction

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


def read_feed(transaction: Transaction, position: FeedPosition, *, limit: int) -> FeedPage:
    """Return the next page after *position*, or a page that says to start again."""
    current = transaction.current_revision()
    if position.revision > current or not _reaches_back_to(transaction, position.revision):
        return FeedPage(FeedPosition(), (), (), more=True, rebuild=True)
    mine = select(*_COLUMNS).where(entries.c.scope_id == transaction.scope_id)
    if position == FeedPosition():
        mine = mine.where(entries.c.status == Status.ACTIVE.value)
    rest = mine.where(entries.c.revision == position.revision, entries.c.pk > position.key).order_by(entries.c.pk)
    found = list(transaction.connection.execute(rest.limit(limit)))
    later = mine.where(entries.c.revision > position.revision).order_by(entries.c.revision, entries.c.pk)
    found += transaction.connection.execute(later.limit(limit - len(found)))
    more = len(found) == limit
    reached = FeedPosition(found[-1].revision, found[-1].pk) if more else FeedPosition(current, 2**63 - 1)
    rows = [
        IndexRow(pk, index_text(content, category, tags), base, seen, status == Status.ACTIVE.value)
        for pk, content, category, tags, base, seen, status, _ in found
    ]
    return FeedPage(reached, rows, _removed(transaction, position.revision), more=more, rebuild=False)


def _reaches_back_to(transaction: Transaction, revision: int) -> bool:
    oldest = select(func.min(change_feed.c.revision)).where(change_feed.c.scope_id == transaction.scope_id)
    first = transaction.connection.execute(oldest).scalar()
    return revision == 0 or first is None or revision >= first - 1


def _removed(transaction: Transaction, revision: int) -> list[int]:
    if revision == 0:
        return []
    statement = select(change_feed.c.removed).where(
        change_feed.c.scope_id == transaction.scope_id,
        change_feed.c.revision >= revision,
        change_feed.c.removed.is_not(None),
    )
    return [key for text in transaction.connection.execute(statement).scalars() if text for key in orjson.loads(text)]
