"""Tables of the workspace: its documents, what is still to be written to their files, what was promoted and told."""

from sqlalchemy import BigInteger, Column, Float, Index, Integer, String, Table, Text, UniqueConstraint

from agentcore.stores.sql.schema.base import instant, metadata, record_id, row_key, scope_key

documents = Table(
    "documents",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("content", Text, nullable=False),
    instant("updated_at"),
    Column("own", Text, nullable=False),
    Column("version", Integer, nullable=False),
    UniqueConstraint("scope_id", "id"),
)

outbox = Table(
    "outbox",
    metadata,
    row_key(),
    scope_key(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("document", Text, nullable=False),
    Column("before", Text, nullable=True),
    Column("after", Text, nullable=True),
    instant("recorded_at"),
    Index("ix_outbox_scope", "scope_id", "document"),
)

promotions = Table(
    "memory_promotions",
    metadata,
    scope_key(primary_key=True),
    Column("entry_id", String(64), primary_key=True),
    Column("score", Float, nullable=False),
    Column("hits", BigInteger, nullable=False),
    Column("run_id", String(64), nullable=False),
    instant("promoted_at"),
)

phase_hits = Table(
    "phase_hits",
    metadata,
    scope_key(primary_key=True),
    Column("entry_id", String(64), primary_key=True),
    Column("phase", String(16), primary_key=True),
    Column("times", Integer, nullable=False),
    instant("last_at"),
)
