"""What dreams that ask a model need: failed tries, changes that wait, clusters left as they are, who serves people."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, row_key, scope
from agentcore.stores.sql.migrations.second_schema.busy import create_busy_holders

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables of the second release."""
    estimated = sa.Column("is_estimated", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("model_calls", estimated)
    op.create_table(
        "model_failures",
        *row_key("model_failures"),
        scope("model_failures"),
        *columns(sa.String(64), "run_id", "pass_name", "batch_key"),
        *columns(sa.String(32), "failure"),
        *columns(sa.Text, "model"),
        *columns(sa.Integer, "input_tokens", "output_tokens"),
        *columns(sa.BigInteger, "failed_at"),
    )
    op.create_index("ix_model_failures_run", "model_failures", ["scope_id", "run_id"])
    op.create_table(
        "deferred",
        *row_key("deferred"),
        scope("deferred"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.Text, "changes"),
        *columns(sa.BigInteger, "deferred_at"),
    )
    op.create_table(
        "settled_clusters",
        scope("settled_clusters"),
        *columns(sa.String(64), "pass_name", "fingerprint"),
        *columns(sa.Text, "record_ids"),
        *columns(sa.Integer, "declines"),
        *columns(sa.BigInteger, "declined_at"),
        *columns(sa.String(64), "run_id"),
        key("settled_clusters", "scope_id", "pass_name", "fingerprint"),
    )
    create_busy_holders()
