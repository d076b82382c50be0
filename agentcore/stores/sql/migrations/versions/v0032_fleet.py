"""Fleets: the tenant of each due time, what is offered to workers, who they are, and what models may be asked."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, create_partial_index, key

revision = "0032"
down_revision = "0031"

_TENANTS = (
    "UPDATE schedules SET workspace = (SELECT scopes.workspace FROM scopes WHERE scopes.pk = schedules.scope_id), "
    "priority = CASE WHEN reason = 'manual' THEN 100 ELSE 0 END"
)


def upgrade() -> None:
    """Add their tables and columns; due times of before are offered as new ones are."""
    op.add_column("schedules", sa.Column("workspace", sa.String(128), nullable=False, server_default=""))
    op.add_column("schedules", sa.Column("priority", sa.Integer, nullable=False, server_default="0"))
    op.add_column("schedules", sa.Column("offered_until", sa.BigInteger, nullable=True))
    op.add_column("schedules", sa.Column("offer_no", sa.BigInteger, nullable=False, server_default="0"))
    op.execute(_TENANTS)
    create_partial_index(
        "ix_schedules_tenant",
        "schedules",
        ["workspace", "priority", "due_at"],
        "due_at IS NOT NULL AND offered_until IS NULL",
    )
    create_partial_index("ix_schedules_offered", "schedules", ["offered_until"], "offered_until IS NOT NULL")
    op.create_table(
        "fleet_workers",
        *columns(sa.String(64), "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.BigInteger, "started_at", "seen_at"),
        *columns(sa.BigInteger, "stopping_at", nullable=True),
        *columns(sa.Integer, "at_once", "under_way"),
        *columns(sa.BigInteger, "handled"),
        *columns(sa.String(64), "options_hash"),
        key("fleet_workers", "holder"),
    )
    op.create_table(
        "schedule_terms",
        *columns(sa.String(16), "name"),
        *columns(sa.String(64), "options_hash"),
        *columns(sa.BigInteger, "since"),
        key("schedule_terms", "name"),
    )
    op.create_table(
        "model_rates",
        *columns(sa.Text, "model"),
        *columns(sa.BigInteger, "window_at", "tokens"),
        *columns(sa.BigInteger, "paused_until", nullable=True),
        key("model_rates", "model"),
    )
