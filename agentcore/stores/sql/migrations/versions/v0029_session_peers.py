"""Sessions of several peers: who takes part, who observed a turn, and what was copied to observers."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, scope

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Add their tables and columns; what an entry cited before counts as cited at once."""
    op.add_column("turns", sa.Column("observers", sa.Text, nullable=True))
    op.add_column("turns", sa.Column("learning", sa.Boolean, nullable=True))
    learnt = sa.text("learning IS TRUE")
    op.create_index("ix_turns_learning", "turns", ["scope_id"], sqlite_where=learnt, postgresql_where=learnt)
    op.add_column("entry_sources", sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "session_peers",
        *columns(sa.String(128), "workspace"),
        *columns(sa.Text, "session_id"),
        *columns(sa.String(128), "peer"),
        *columns(sa.Boolean, "observe_me", nullable=True),
        *columns(sa.Boolean, "observe_others"),
        key("session_peers", "workspace", "session_id", "peer"),
    )
    op.create_table(
        "fan_outs",
        scope("fan_outs"),
        *columns(sa.String(128), "workspace", "observed"),
        *columns(sa.BigInteger, "revision"),
        *columns(sa.Integer, "erasures"),
        *columns(sa.BigInteger, "followed_at"),
        key("fan_outs", "scope_id"),
    )
    op.create_index("ix_fan_outs_observed", "fan_outs", ["workspace", "observed"])
    op.create_table(
        "fanned_out",
        scope("fanned_out"),
        *columns(sa.String(16), "kind"),
        *columns(sa.String(64), "record_id"),
        *columns(sa.Boolean, "live"),
        key("fanned_out", "scope_id", "kind", "record_id"),
    )
