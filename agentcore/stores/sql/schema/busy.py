"""Who serves people: of no scope, because all scopes of a database share the model and the machine."""

from sqlalchemy import Column, Integer, String, Table, Text

from agentcore.stores.sql.schema.base import instant, metadata

busy_holders = Table(
    "busy_holders",
    metadata,
    Column("holder", String(64), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Text, nullable=False),
    instant("since"),
    instant("expires_at"),
)
