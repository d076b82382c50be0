"""Topics that a person wants nothing kept about."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "off_limits_topics",
        *record("off_limits_topics"),
        *columns(sa.Text, "words"),
        *columns(sa.BigInteger, "created_at"),
        *columns(sa.Integer, "version"),
    )
