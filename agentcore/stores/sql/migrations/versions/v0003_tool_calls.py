"""Calls of tools, the signal that says what an agent did."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, create_signal_indexes, record

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create their table."""
    op.create_table(
        "tool_calls",
        *record("tool_calls"),
        *columns(sa.Text, "session_id", "tool_name"),
        *columns(sa.Boolean, "succeeded"),
        *columns(sa.Text, "arguments", "error_message", nullable=True),
        *columns(sa.BigInteger, "duration_ms", nullable=True),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
    )
    create_signal_indexes("tool_calls")
