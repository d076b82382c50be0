"""What the calls of all scopes cost today is found by indexes."""

from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add the indexes."""
    op.create_index("ix_model_calls_answered", "model_calls", ["answered_at"])
    op.create_index("ix_model_failures_failed", "model_failures", ["failed_at"])
