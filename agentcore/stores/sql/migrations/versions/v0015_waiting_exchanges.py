"""Exchanges with the model wait with their answers; change sets that wait for room are among them."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Make the table, and take over what waits for room: the exchange that it came from is not known any more."""
    op.create_table(
        "waiting_exchanges",
        *record("waiting_exchanges"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.String(32), "reason"),
        *columns(sa.BigInteger, "since"),
        *columns(sa.Integer, "runs"),
        *columns(sa.String(64), "tried_in"),
        *columns(sa.Text, "batch", nullable=True),
        *columns(sa.Text, "records"),
        *columns(sa.Text, "rounds", nullable=True),
        *columns(sa.Text, "changes"),
    )
    op.execute(
        "INSERT INTO waiting_exchanges"
        " (scope_id, id, run_id, pass_name, reason, since, runs, tried_in, records, rounds, changes)"
        " SELECT scope_id, 'deferred-' || CAST(pk AS VARCHAR(20)), run_id, pass_name, 'share_cap', deferred_at, 0, '',"
        " '[]', '[]', '[' || changes || ']' FROM deferred ORDER BY pk"
    )
    op.drop_table("deferred")
