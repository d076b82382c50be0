"""Turns that are told to nobody, since a person asked to forget what they say."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, scope

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Let records be withheld by their ids alone."""
    op.create_table(
        "withheld",
        scope("withheld"),
        *columns(sa.String(16), "kind"),
        *columns(sa.String(64), "record_id", "entry_id"),
        *columns(sa.BigInteger, "withheld_at"),
        key("withheld", "scope_id", "kind", "record_id", "entry_id"),
    )
