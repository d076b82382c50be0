"""Vectors of the texts of entries."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from sqlalchemy import delete, func, insert, select

from agentcore.domain.text import content_hash
from agentcore.stores.sql.schema import entries, vectors as table
from agentcore.stores.sql.transaction import Transaction, chunks
from agentcore.stores.values import TextVector

_COLUMNS: Final = table.c


class SqlVectorReader:
    """Read vectors; no records, so neither `records` nor the change feed knows of them."""

    def __init__(self, transaction: Transaction) -> None:
        self._scope_id = transaction.scope_id
        self._connection = transaction.connection
        self._mine = _COLUMNS.scope_id == transaction.scope_id

    def get(self, model: str, content_hashes: Collection[str]) -> dict[str, bytes]:
        """Return the vectors that *model* made, by the hash of their text; those that are not there are left out."""
        found: dict[str, bytes] = {}
        statement = select(_COLUMNS.content_hash, _COLUMNS.vector).where(self._mine, _COLUMNS.model == model)
        for chunk in chunks(sorted(set(content_hashes))):
            rows = self._connection.execute(statement.where(_COLUMNS.content_hash.in_(chunk)))
            found.update((row.content_hash, row.vector) for row in rows)
        return found

    def count(self) -> int:
        """Count vectors."""
        return self._connection.execute(select(func.count()).select_from(table).where(self._mine)).scalar_one()


class SqlVectorStore(SqlVectorReader):
    """Write vectors; a text that no longer stands in an entry it was read from leaves no vector.

    Deleting or forgetting an entry deletes the vectors of its text, and so does another text in its place. Where a
    second entry says the same, the vector is made anew when it is needed.
    """

    def put(self, model: str, vectors: Sequence[TextVector]) -> int:
        """Keep vectors, in place of older ones of the same texts; return how many.

        One whose entry is gone, or says something else by now, is left out.
        """
        present = self._present(one.key for one in vectors)
        kept = {one.content_hash: one for one in vectors if present.get(one.key) == one.content_hash}
        for chunk in chunks(sorted(kept)):
            condition = self._mine & (_COLUMNS.model == model) & _COLUMNS.content_hash.in_(chunk)
            self._connection.execute(delete(table).where(condition))
        rows = [
            {"scope_id": self._scope_id, "model": model, "content_hash": one.content_hash, "vector": one.vector}
            for one in kept.values()
        ]
        if rows:
            self._connection.execute(insert(table), rows)
        return len(rows)

    def _present(self, keys: Iterable[int]) -> dict[int, str]:
        """Return the hashes of what entries say now."""
        found: dict[int, str] = {}
        for chunk in chunks(sorted(set(keys))):
            mine = select(entries.c.pk, entries.c.content).where(entries.c.scope_id == self._scope_id)
            # Locked, so that no other transaction forgets one of them before this one has committed.
            rows = self._connection.execute(mine.where(entries.c.pk.in_(chunk)).with_for_update())
            found.update((row.pk, content_hash(row.content)) for row in rows)
        return found


def drop_vectors(transaction: Transaction, texts: Iterable[str]) -> None:
    """Delete what any model made of *texts*: they no longer stand in the entries they stood in."""
    for chunk in chunks(sorted({content_hash(text) for text in texts})):
        mine = _COLUMNS.scope_id == transaction.scope_id
        transaction.connection.execute(delete(table).where(mine, _COLUMNS.content_hash.in_(chunk)))
