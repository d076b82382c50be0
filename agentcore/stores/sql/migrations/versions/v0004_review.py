"""What waits for a person: changes of passes that only propose."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the queue of proposals."""
    op.create_table(
        "proposals",
        *record("proposals"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.String(16), "state"),
        *columns(sa.Text, "changes", nullable=True),
        *columns(sa.Text, "marks", "looks_again"),
        *columns(sa.BigInteger, "proposed_at", "expires_at"),
    )
    op.create_index("ix_proposals_state", "proposals", ["scope_id", "state", "expires_at"])
