"""Who serves people of which scope; a scope need not hold anything for that."""

from sqlalchemy import Column, Integer, String, Table, Text

from agentcore.stores.sql.schema.base import instant, metadata

busy_holders = Table(
    "busy_holders",
    metadata,
    Column("workspace", String(128), primary_key=True),
    Column("observer", String(128), primary_key=True),
    Column("observed", String(128), primary_key=True),
    Column("holder", String(64), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Text, nullable=False),
    instant("since"),
    instant("expires_at"),
)
