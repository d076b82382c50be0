"""A conclusion keeps what it rests on, and a pattern how sure it is."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns; no entry of before is a conclusion."""
    op.add_column("entries", sa.Column("pattern", sa.String(16), nullable=True))
    op.add_column("entries", sa.Column("confidence", sa.String(8), nullable=True))
    op.add_column("entries", sa.Column("premises", sa.Text, nullable=True))
