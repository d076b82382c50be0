"""The first schema."""

from alembic import op

from agentcore.stores.sql.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table of the first release."""
    metadata.create_all(op.get_bind())
