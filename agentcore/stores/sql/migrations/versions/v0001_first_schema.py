"""The first schema, spelled out: later changes of `agentcore.stores.sql.schema` must not alter history."""

from agentcore.stores.sql.migrations.first_schema.bookkeeping import create_bookkeeping
from agentcore.stores.sql.migrations.first_schema.records import create_records

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table of the first release."""
    create_records()
    create_bookkeeping()
