"""Every write carries who asked for it; tokens of clients, receipts of their requests, entries by when they came."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import ID, columns, key, row_key, scope, unique

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add columns, tables and the index; who asked for what is there already is not known."""
    for table in ("change_feed", "journal", "runs"):
        op.add_column(table, sa.Column("actor", sa.Text, nullable=True))
    op.create_table(
        "record_writes",
        scope("record_writes"),
        *columns(sa.String(16), "kind"),
        *columns(ID, "record_id"),
        *columns(sa.Text, "actor"),
        *columns(sa.String(16), "action"),
        *columns(sa.BigInteger, "first_at", "last_at"),
        *columns(sa.Integer, "times"),
        key("record_writes", "scope_id", "kind", "record_id", "actor", "action"),
    )
    op.create_table(
        "access_tokens",
        *row_key("access_tokens"),
        *columns(sa.String(128), "name"),
        *columns(sa.String(64), "digest"),
        *columns(sa.Text, "scopes", "rights"),
        *columns(sa.BigInteger, "created_at"),
        *columns(sa.BigInteger, "expires_at", "revoked_at", nullable=True),
        unique("access_tokens", "digest"),
    )
    op.create_table(
        "receipts",
        scope("receipts"),
        *columns(sa.String(64), "request_key", "digest", "attempt"),
        *columns(sa.Text, "records"),
        *columns(sa.BigInteger, "recorded_at"),
        key("receipts", "scope_id", "request_key"),
    )
    op.create_index("ix_entries_recorded", "entries", ["scope_id", "recorded_at", "id"])
