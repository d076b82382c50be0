"""What recall needs: a feed of turns and skills that are gone."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns

revision = "0006"
down_revision = "0002"


def upgrade() -> None:
    """Let turns and skills be followed as entries are."""
    for column in columns(sa.Text, "removed_turns", "removed_skills", nullable=True):
        op.add_column("change_feed", column)
    op.create_index("ix_turns_revision", "turns", ["scope_id", "revision"])
