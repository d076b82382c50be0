"""A call that several passes share counts once."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the column; each answer of before was counted as a call."""
    op.add_column("model_calls", sa.Column("calls", sa.Integer, nullable=False, server_default="1"))
