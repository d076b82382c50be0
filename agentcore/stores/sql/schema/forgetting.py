"""Tables of what a person had forgotten, of erased scopes, of files that hold copies, and of keys."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text

from agentcore.stores.sql.schema.records import Key, Name, instant, metadata, row_key, scope_key

tombstones = Table(
    "tombstones",
    metadata,
    scope_key(primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("record_id", Name, primary_key=True),
    Column("whole", Boolean, nullable=False),
    instant("forgotten_at"),
    Index("ix_tombstones_forgotten", "scope_id", "forgotten_at"),
)

erasures = Table(
    "erasures",
    metadata,
    row_key(),
    Column("workspace", String(128), nullable=False),
    Column("observer", String(128), nullable=False),
    Column("observed", String(128), nullable=False),
    instant("erased_at"),
    instant("finished_at", nullable=True),
    Column("removed", Text, nullable=False),
    Index("ix_erasures_scope", "workspace", "observer", "observed"),
)

known_copies = Table(
    "known_copies",
    metadata,
    row_key(),
    # Null for a copy of the whole database.
    Column("scope_id", Key, nullable=True),
    Column("kind", String(16), nullable=False),
    Column("place", Text, nullable=False),
    Column("records", BigInteger, nullable=False),
    instant("made_at"),
)

forget_keys = Table(
    "forget_keys",
    metadata,
    # The last one counts; those before it were lost or replaced.
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("fingerprint", String(64), nullable=False),
    instant("first_used_at"),
)
