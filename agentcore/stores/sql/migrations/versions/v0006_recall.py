"""What recall needs: a feed of turns and skills that are gone, and what needs recalled."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import ACTIVE, columns, create_partial_index, row_key, scope

revision = "0006"
down_revision = "0003"


def upgrade() -> None:
    """Let turns and skills be followed as entries are, and recalls be counted."""
    for column in columns(sa.Text, "removed_turns", "removed_skills", nullable=True):
        op.add_column("change_feed", column)
    create_partial_index("ix_entries_category", "entries", ["scope_id", "category"], ACTIVE)
    create_partial_index("ix_entries_pinned", "entries", ["scope_id", "last_seen_at"], "pinned IS TRUE")
    op.create_index("ix_turns_revision", "turns", ["scope_id", "revision"])
    op.create_table(
        "recall_hits",
        *row_key("recall_hits"),
        scope("recall_hits"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.String(32), "query"),
        *columns(sa.Float, "score"),
        *columns(sa.Integer, "rank"),
        *columns(sa.BigInteger, "recalled_at"),
        *columns(sa.Text, "session_id", nullable=True),
    )
    op.create_index("ix_recall_hits_entry", "recall_hits", ["scope_id", "entry_id", "recalled_at"])
    op.create_index("ix_recall_hits_recalled", "recall_hits", ["scope_id", "recalled_at"])
