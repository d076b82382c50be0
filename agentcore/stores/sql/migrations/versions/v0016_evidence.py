"""An entry keeps the sentences it rests on, and the day until which it held."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the columns; of entries of before neither is known."""
    op.add_column("entries", sa.Column("evidence", sa.Text, nullable=True))
    op.add_column("entries", sa.Column("valid_until", sa.String(16), nullable=True))
