"""What models were asked is kept compressed, and directives once."""

import zlib

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, key, scope

revision = "0025"
down_revision = "0024"

_AT_ONCE = 200


def upgrade() -> None:
    """Compress what there is; directives in it stay where they are until retention takes the prompt."""
    op.create_table(
        "prompt_texts",
        scope("prompt_texts"),
        *columns(sa.String(64), "hash"),
        *columns(sa.LargeBinary, "text"),
        *columns(sa.BigInteger, "used_at"),
        key("prompt_texts", "scope_id", "hash"),
    )
    op.add_column("model_calls", sa.Column("prompt", sa.LargeBinary, nullable=True))
    calls = sa.table(
        "model_calls", sa.column("pk", sa.Integer), sa.column("request", sa.Text), sa.column("prompt", sa.LargeBinary)
    )
    connection, last = op.get_bind(), -1
    asked = sa.select(calls.c.pk, calls.c.request).where(calls.c.request.is_not(None)).order_by(calls.c.pk)
    while rows := connection.execute(asked.where(calls.c.pk > last).limit(_AT_ONCE)).all():
        for last, request in rows:
            packed = zlib.compress(request.encode(), 9)
            connection.execute(calls.update().where(calls.c.pk == last).values(prompt=packed))
    op.drop_column("model_calls", "request")
