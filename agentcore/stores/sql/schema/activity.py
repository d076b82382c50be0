"""Who was active, and what is switched off: of whole workspaces and peers, so not bound to one scope."""

from sqlalchemy import Boolean, Column, Index, String, Table, Text, UniqueConstraint, text

from agentcore.stores.sql.schema.base import WHERE, instant, metadata, row_key

_CHANGED = text("changed_since IS NOT NULL")

peers = Table(
    "peers",
    metadata,
    row_key(),
    Column("workspace", String(128), nullable=False),
    Column("observed", String(128), nullable=False),
    instant("active_at", nullable=True),
    instant("changed_since", nullable=True),
    UniqueConstraint("workspace", "observed"),
    Index("ix_peers_changed", "changed_since", info={WHERE: _CHANGED}),
)

switches = Table(
    "switches",
    metadata,
    Column("workspace", String(128), primary_key=True),
    Column("observer", String(128), primary_key=True),
    Column("observed", String(128), primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("dream", Boolean, nullable=True),
    Column("learning", Boolean, nullable=True),
    instant("learning_since", nullable=True),
)
