"""Lines of the peer card."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record, state

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add their table."""
    op.create_table(
        "card_lines",
        *record("card_lines"),
        *columns(sa.String(16), "section"),
        *columns(sa.Text, "content"),
        *columns(sa.BigInteger, "set_at"),
        *columns(sa.String(128), "set_by"),
        *columns(sa.Text, "reason"),
        *columns(sa.Boolean, "pinned"),
        *columns(sa.Text, "sources", "premises"),
        *state(sa.String(64)),
        *columns(sa.Integer, "version"),
    )
    op.create_index("ix_card_lines_status", "card_lines", ["scope_id", "status"])
