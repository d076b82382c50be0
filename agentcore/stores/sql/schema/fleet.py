"""Tables of a fleet: its workers, by which options due times are planned, and what its models may be asked."""

from sqlalchemy import BigInteger, Column, Integer, String, Table, Text

from agentcore.stores.sql.schema.records import instant, metadata

fleet_workers = Table(
    "fleet_workers",
    metadata,
    Column("holder", String(64), primary_key=True),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    instant("started_at"),
    instant("seen_at"),
    instant("stopping_at", nullable=True),
    Column("at_once", Integer, nullable=False),
    Column("under_way", Integer, nullable=False),
    Column("handled", BigInteger, nullable=False),
    Column("options_hash", String(64), nullable=False),
)

schedule_terms = Table(
    "schedule_terms",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("options_hash", String(64), nullable=False),
    instant("since"),
)

model_rates = Table(
    "model_rates",
    metadata,
    Column("model", Text, primary_key=True),
    instant("window_at"),
    Column("tokens", BigInteger, nullable=False),
    instant("paused_until", nullable=True),
)
