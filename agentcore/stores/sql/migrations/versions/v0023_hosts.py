"""Hosts leave what their code says of options to commands and other hosts of the database."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Make the table; what earlier hosts said nobody knows."""
    op.create_table(
        "hosts",
        *columns(sa.String(64), "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.Text, "process_started"),
        *columns(sa.BigInteger, "started_at"),
        *columns(sa.BigInteger, "stopped_at", nullable=True),
        *columns(sa.Text, "options"),
        key("hosts", "holder"),
    )
