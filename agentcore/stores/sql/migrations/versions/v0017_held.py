"""What held once is found by what took its place."""

from agentcore.stores.sql.migrations.first_schema.shapes import create_partial_index

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the index; nothing was superseded with an end before."""
    names = ["scope_id", "successor", "valid_until"]
    create_partial_index("ix_entries_held", "entries", names, "valid_until IS NOT NULL")
