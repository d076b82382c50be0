"""The workspace: documents as they were last seen, what is still to be written to files, and what was promoted."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, record, row_key, scope

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create their tables, and let recalls be summed by entry without a look at their rows."""
    op.drop_index("ix_recall_hits_entry", "recall_hits")
    summed = ["scope_id", "entry_id", "recalled_at", "query", "rank"]
    op.create_index("ix_recall_hits_entry", "recall_hits", summed)
    op.create_table(
        "documents",
        *record("documents"),
        *columns(sa.Text, "content"),
        *columns(sa.BigInteger, "updated_at"),
        *columns(sa.Text, "own"),
        *columns(sa.Integer, "version"),
    )
    op.create_table(
        "outbox",
        *row_key("outbox"),
        scope("outbox"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.Text, "document"),
        *columns(sa.Text, "before", "after", nullable=True),
        *columns(sa.BigInteger, "recorded_at"),
    )
    op.create_index("ix_outbox_scope", "outbox", ["scope_id", "document"])
    op.create_table(
        "memory_promotions",
        scope("memory_promotions"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.Float, "score"),
        *columns(sa.BigInteger, "hits"),
        *columns(sa.String(64), "run_id"),
        *columns(sa.BigInteger, "promoted_at"),
        key("memory_promotions", "scope_id", "entry_id"),
    )
