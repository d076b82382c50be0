"""What scheduling needs: who was active when, what is switched off, and when each scope is to dream next."""

from agentcore.stores.sql.migrations.fifth_schema.activity import create_activity
from agentcore.stores.sql.migrations.fifth_schema.schedules import create_schedules

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the tables of scheduling."""
    create_activity()
    create_schedules()
