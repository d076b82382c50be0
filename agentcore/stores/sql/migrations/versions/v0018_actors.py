"""Every write carries who asked for it."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import ID, columns, key, scope

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns and the table; who asked for what is there already is not known."""
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
