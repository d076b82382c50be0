"""Refused texts go with what they cite: by retention, and by a person's `forget`."""

from collections.abc import Collection, Mapping

import orjson
from sqlalchemy import delete, select

from agentcore.domain.text import normalise
from agentcore.stores.sql.schema import entries, entry_sources, refused_texts
from agentcore.stores.sql.transaction import Transaction, chunks


def drop_refused_texts(transaction: Transaction, cited: Collection[str], texts: Collection[str] = ()) -> None:
    """Remove the refused texts of one scope that cite one of these records, or hold one of these texts.

    Args:
        transaction: In which the records go.
        cited: Ids of the records.
        texts: What must not be told any more, in whatever case and spacing.
    """
    gone, told = frozenset(cited), [normalise(text) for text in texts]
    # There are few of them, as they are kept for a month at most, so all are looked through.
    kept = select(refused_texts.c.pk, refused_texts.c.text, refused_texts.c.cites)
    rows = transaction.connection.execute(kept.where(refused_texts.c.scope_id == transaction.scope_id))
    doomed = [
        row.pk
        for row in rows
        if not gone.isdisjoint(orjson.loads(row.cites)) or any(text in normalise(row.text) for text in told)
    ]
    for chunk in chunks(doomed):
        transaction.connection.execute(delete(refused_texts).where(refused_texts.c.pk.in_(chunk)))


def forget_refused_texts(transaction: Transaction, gone: Mapping[str, str], turn_ids: Collection[str] = ()) -> None:
    """Remove the refused texts that hold forgotten texts, or cite forgotten entries or what these were made of.

    Args:
        transaction: The forget's own, before the entries are deleted.
        gone: Texts by entry id.
        turn_ids: Turns that are withheld.
    """
    cited = {*gone, *turn_ids}
    for chunk in chunks(sorted(gone)):
        made = select(entry_sources.c.source_id).join(entries, entries.c.pk == entry_sources.c.entry_pk)
        mine = made.where(entries.c.scope_id == transaction.scope_id, entries.c.id.in_(chunk))
        cited.update(transaction.connection.execute(mine).scalars())
    drop_refused_texts(transaction, cited, gone.values())
