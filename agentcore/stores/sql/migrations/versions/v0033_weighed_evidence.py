"""Hypotheses keep what came after them and was held against them."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """Add the column; nothing was weighed before."""
    op.add_column("hypotheses", sa.Column("weighed", sa.Text, nullable=False, server_default="[]"))
