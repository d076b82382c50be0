"""The first schema that is still opened, spelled out: later changes of the tables must not alter history."""

from agentcore.stores.sql.migrations.first_schema.bookkeeping import create_bookkeeping
from agentcore.stores.sql.migrations.first_schema.records import create_records

revision = "0009"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    create_records()
    create_bookkeeping()
