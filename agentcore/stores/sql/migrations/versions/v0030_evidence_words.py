"""A forget finds turns of equal text, and evidence that says a text, by indexes."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.evidence_words import kept_words
from agentcore.stores.sql.migrations.first_schema.shapes import ROW_KEY, columns, key, scope
from agentcore.stores.sql.rows import to_evidence
from agentcore.stores.sql.stored_texts import said_key

revision = "0030"
down_revision = "0029"

_AT_ONCE = 500


def upgrade() -> None:
    """Add the indexes, and fill them from what is stored."""
    op.create_table(
        "evidence_words",
        scope("evidence_words"),
        *columns(sa.BigInteger, "word"),
        *columns(ROW_KEY, "entry_pk"),
        key("evidence_words", "scope_id", "word", "entry_pk"),
        sqlite_with_rowid=False,
    )
    op.add_column("turns", sa.Column("fold_key", sa.String(32), nullable=True))
    _fill_turns(op.get_bind())
    op.create_index("ix_turns_fold", "turns", ["scope_id", "fold_key"])
    _fill_words(op.get_bind())


def _fill_turns(connection: sa.Connection) -> None:
    turns = sa.table("turns", sa.column("pk"), sa.column("content"), sa.column("fold_key"))
    write = turns.update().where(turns.c.pk == sa.bindparam("of_row")).values(fold_key=sa.bindparam("given"))
    for rows in _pages(connection, turns.c.pk, turns.c.content):
        connection.execute(write, [{"of_row": pk, "given": said_key(content)} for pk, content in rows])


def _fill_words(connection: sa.Connection) -> None:
    entries = sa.table("entries", sa.column("pk"), sa.column("scope_id"), sa.column("evidence"))
    words = sa.table("evidence_words", sa.column("scope_id"), sa.column("word"), sa.column("entry_pk"))
    for rows in _pages(connection, entries.c.pk, entries.c.scope_id, entries.c.evidence):
        found = [
            {"scope_id": scope_id, "word": word, "entry_pk": pk}
            for pk, scope_id, evidence in rows
            for word in kept_words(to_evidence(evidence))
        ]
        if found:
            connection.execute(words.insert(), found)


def _pages(connection: sa.Connection, pk: sa.ColumnClause[Any], *others: sa.ColumnClause[Any]) -> Any:
    last = -1
    while rows := connection.execute(sa.select(pk, *others).where(pk > last).order_by(pk).limit(_AT_ONCE)).all():
        yield rows
        last = rows[-1][0]
