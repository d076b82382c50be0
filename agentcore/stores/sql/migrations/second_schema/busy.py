"""Revision 0002: who serves people."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key


def create_busy_holders() -> None:
    """Create the table in which processes tell each other that they serve a person."""
    op.create_table(
        "busy_holders",
        *columns(sa.String(64), "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.Text, "process_started"),
        *columns(sa.BigInteger, "since", "expires_at"),
        key("busy_holders", "holder"),
    )
