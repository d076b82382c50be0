"""A call tells which round of its exchange it is, why that was asked, and what it showed besides its batch."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; calls of before were a question or its one repair, as their attempt says."""
    op.add_column("model_calls", sa.Column("round_kind", sa.String(16), nullable=True))
    op.add_column("model_calls", sa.Column("shown", sa.Text, nullable=True))
    op.add_column("model_failures", sa.Column("attempt", sa.Integer, nullable=False, server_default="1"))
