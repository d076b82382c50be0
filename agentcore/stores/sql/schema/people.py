"""Tables of people: who is active, who is served, what is switched off or off limits, and their cards."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table, Text, UniqueConstraint, text

from agentcore.stores.sql.schema.records import WHERE, instant, metadata, record_id, row_key, scope_key

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

session_peers = Table(
    "session_peers",
    metadata,
    Column("workspace", String(128), primary_key=True),
    Column("session_id", Text, primary_key=True),
    Column("peer", String(128), primary_key=True),
    Column("observe_me", Boolean, nullable=True),
    Column("observe_others", Boolean, nullable=False),
)

fan_outs = Table(
    "fan_outs",
    metadata,
    scope_key(primary_key=True),
    Column("workspace", String(128), nullable=False),
    Column("observed", String(128), nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("erasures", Integer, nullable=False),
    instant("followed_at"),
    Index("ix_fan_outs_observed", "workspace", "observed"),
)

fanned_out = Table(
    "fanned_out",
    metadata,
    scope_key(primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("record_id", String(64), primary_key=True),
    Column("live", Boolean, nullable=False),
)

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

hosts = Table(
    "hosts",
    metadata,
    Column("holder", String(64), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Text, nullable=False),
    instant("started_at"),
    instant("stopped_at", nullable=True),
    Column("options", Text, nullable=False),
)

off_limits_topics = Table(
    "off_limits_topics",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("words", Text, nullable=False),
    instant("created_at"),
    Column("version", Integer, nullable=False),
    UniqueConstraint("scope_id", "id"),
)

card_lines = Table(
    "card_lines",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("section", String(16), nullable=False),
    Column("content", Text, nullable=False),
    instant("set_at"),
    Column("set_by", String(128), nullable=False),
    Column("reason", Text, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("sources", Text, nullable=False),
    Column("premises", Text, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text, nullable=True),
    Column("successor", String(64), nullable=True),
    instant("status_at", nullable=True),
    Column("version", Integer, nullable=False),
    UniqueConstraint("scope_id", "id"),
    Index("ix_card_lines_status", "scope_id", "status"),
)
