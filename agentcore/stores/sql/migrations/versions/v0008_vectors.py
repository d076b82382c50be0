"""What embedding models made of the texts of entries."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, scope

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Let vectors be kept, once for each model and text."""
    op.create_table(
        "vectors",
        scope("vectors"),
        *columns(sa.String(256), "model"),
        *columns(sa.String(32), "content_hash"),
        *columns(sa.LargeBinary, "vector"),
        key("vectors", "scope_id", "model", "content_hash"),
    )
