"""People served elsewhere are of a scope; what comes before timed dreams is found by an index."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, create_partial_index, key

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Make the table of who serves people anew: what it holds counts for half a minute."""
    op.drop_table("busy_holders")
    op.create_table(
        "busy_holders",
        *columns(sa.String(128), "workspace", "observer", "observed"),
        *columns(sa.String(64), "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.Text, "process_started"),
        *columns(sa.BigInteger, "since", "expires_at"),
        key("busy_holders", "workspace", "observer", "observed", "holder"),
    )
    create_partial_index("ix_schedules_requested", "schedules", ["due_at"], "reason = 'manual'")
    create_partial_index("ix_runs_unfinished", "runs", ["scope_id"], "finished IS FALSE")
