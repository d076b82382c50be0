"""Which entries the phases of dreams met."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, scope

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Let sweeps and thematic summaries be counted by entry."""
    op.create_table(
        "phase_hits",
        scope("phase_hits"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.String(16), "phase"),
        *columns(sa.Integer, "times"),
        *columns(sa.BigInteger, "last_at"),
        key("phase_hits", "scope_id", "entry_id", "phase"),
    )
