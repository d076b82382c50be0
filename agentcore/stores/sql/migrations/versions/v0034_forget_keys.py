"""Databases know the key under which forgotten texts are remembered, by a fingerprint of it."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """Add the table; the key is noted when a text is forgotten next."""
    op.create_table(
        "forget_keys",
        *columns(sa.Integer, "number"),
        *columns(sa.String(64), "fingerprint"),
        *columns(sa.BigInteger, "first_used_at"),
        key("forget_keys", "number"),
    )
