"""Questions that only a person can answer."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add their table; what earlier runs asked stands in their reports."""
    op.create_table(
        "questions",
        *record("questions"),
        *columns(sa.String(32), "cause"),
        *columns(sa.Text, "members", "text"),
        *columns(sa.BigInteger, "asked_at"),
        *columns(sa.String(128), "asked_by"),
        *columns(sa.Float, "similarity", nullable=True),
        *columns(sa.String(16), "state"),
        *columns(sa.String(16), "verdict", nullable=True),
        *columns(sa.String(128), "result", "answered_by", nullable=True),
        *columns(sa.BigInteger, "answered_at", nullable=True),
        *columns(sa.Text, "reason", nullable=True),
        *columns(sa.Integer, "version"),
    )
    op.create_index("ix_questions_state", "questions", ["scope_id", "state"])
