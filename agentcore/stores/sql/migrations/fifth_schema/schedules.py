"""Revision 0005: when each scope is to dream next."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, create_partial_index, key, scope


def create_schedules() -> None:
    """Create the table of schedules, found by their due times and by the options they were made with."""
    op.create_table(
        "schedules",
        scope("schedules"),
        *columns(sa.BigInteger, "registered_at"),
        *columns(sa.BigInteger, "due_at", nullable=True),
        *columns(sa.String(32), "reason"),
        *columns(sa.String(64), "options_hash"),
        *columns(sa.Text, "state"),
        key("schedules", "scope_id"),
    )
    create_partial_index("ix_schedules_due", "schedules", ["due_at"], "due_at IS NOT NULL")
    op.create_index("ix_schedules_options", "schedules", ["options_hash"])
