"""Tables of those who ask: which of them wrote a record."""

from sqlalchemy import Column, Integer, String, Table, Text

from agentcore.stores.sql.schema.records import RecordId, instant, metadata, scope_key

record_writes = Table(
    "record_writes",
    metadata,
    scope_key(primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("record_id", RecordId, primary_key=True),
    Column("actor", Text, primary_key=True),
    Column("action", String(16), primary_key=True),
    instant("first_at"),
    instant("last_at"),
    Column("times", Integer, nullable=False),
)
