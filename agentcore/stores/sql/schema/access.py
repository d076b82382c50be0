"""Tables of those who ask: which of them wrote a record, what tokens they have, what requests were carried out."""

from sqlalchemy import Column, Index, Integer, String, Table, Text, UniqueConstraint

from agentcore.stores.sql.schema.records import RecordId, entries, instant, metadata, row_key, scope_key

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

Index("ix_entries_recorded", entries.c.scope_id, entries.c.recorded_at, entries.c.id)

access_tokens = Table(
    "access_tokens",
    metadata,
    row_key(),
    Column("name", String(128), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("rights", Text, nullable=False),
    instant("created_at"),
    instant("expires_at", nullable=True),
    instant("revoked_at", nullable=True),
    UniqueConstraint("digest"),
)

receipts = Table(
    "receipts",
    metadata,
    scope_key(primary_key=True),
    Column("request_key", String(64), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("attempt", String(64), nullable=False),
    Column("records", Text, nullable=False),
    instant("recorded_at"),
)
