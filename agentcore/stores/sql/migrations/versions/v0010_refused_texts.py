"""Texts that were refused."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, row_key, scope

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Keep for a while what a model wrote and a dream did not take."""
    op.create_table(
        "refused_texts",
        *row_key("refused_texts"),
        scope("refused_texts"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.String(32), "code"),
        *columns(sa.Text, "detail", "text", "cites"),
        *columns(sa.BigInteger, "refused_at"),
    )
    op.create_index("ix_refused_texts_run", "refused_texts", ["scope_id", "run_id"])
