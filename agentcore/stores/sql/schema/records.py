"""Defines the tables of records and of the workspace, and the column shapes that recur.

What the agent knows, said and did, and its documents.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)

WHERE = "where"
"""In an index's info, the rows it covers: told to a dialect when tables are made, for naming one imports it whole."""

Key = BigInteger().with_variant(Integer, "sqlite")
"""SQLite makes only an INTEGER primary key the row id."""

RecordId = String(64).with_variant(String(64, collation="C"), "postgresql")
"""Ids sort by their bytes on every database."""

Name = Text().with_variant(Text(collation="C"), "postgresql")
"""A text that sorts by its bytes on every database."""


def row_key() -> Column[int]:
    """Return the surrogate key that indexes in memory refer to."""
    return Column("pk", Key, primary_key=True, autoincrement=True)


def scope_key(*, primary_key: bool = False) -> Column[int]:
    """Return the reference to the owning scope."""
    return Column("scope_id", Key, ForeignKey("scopes.pk"), nullable=False, primary_key=primary_key)


def record_id() -> Column[str]:
    """Return the public id."""
    return Column("id", RecordId, nullable=False)


def instant(name: str, *, nullable: bool = False) -> Column[int]:
    """Return an instant in microseconds since 1970, UTC."""
    return Column(name, BigInteger, nullable=nullable)


_ACTIVE = text("status = 'active'")
_PINNED = text("pinned IS TRUE")
_RETIRED = text("status <> 'active'")
_HELD = text("valid_until IS NOT NULL")
_LEARNT = text("learning IS TRUE")

scopes = Table(
    "scopes",
    metadata,
    row_key(),
    Column("workspace", String(128), nullable=False),
    Column("observer", String(128), nullable=False),
    Column("observed", String(128), nullable=False),
    Column("revision", BigInteger, nullable=False, server_default="0"),
    Column("position", BigInteger, nullable=False, server_default="0"),
    Column("explicit_entries", BigInteger, nullable=False, server_default="0"),
    UniqueConstraint("workspace", "observer", "observed"),
    Index("ix_scopes_peer", "workspace", "observed"),
)

change_feed = Table(
    "change_feed",
    metadata,
    scope_key(primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    instant("recorded_at"),
    Column("origin", String(16), nullable=False),
    Column("removed", Text, nullable=True),
    Column("removed_turns", Text, nullable=True),
    Column("removed_skills", Text, nullable=True),
    Column("actor", Text, nullable=True),
)

entries = Table(
    "entries",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("content", Text, nullable=False),
    Column("category", Name, nullable=False),
    Column("tags", Text, nullable=False),
    Column("base", Float, nullable=False),
    instant("created_at"),
    instant("recorded_at"),
    instant("updated_at", nullable=True),
    instant("last_seen_at"),
    Column("own_count", Integer, nullable=False),
    Column("absorbed", Text, nullable=False),
    Column("reinforcement_count", Integer, nullable=False),
    Column("subject_time", Text, nullable=True),
    Column("metadata", Text, nullable=False),
    Column("level", String(16), nullable=False),
    Column("sources", Text, nullable=False),
    Column("trust", Integer, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text, nullable=True),
    Column("successor", String(64), nullable=True),
    instant("status_at", nullable=True),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("fold_key", String(32), nullable=False),
    Column("evidence", Text, nullable=True),
    Column("valid_until", String(16), nullable=True),
    Column("pattern", String(16), nullable=True),
    Column("confidence", String(8), nullable=True),
    Column("premises", Text, nullable=True),
    UniqueConstraint("scope_id", "id"),
    Index("ix_entries_fold", "scope_id", "fold_key", "status"),
    Index("ix_entries_position", "scope_id", "position", "status"),
    Index("ix_entries_revision", "scope_id", "revision"),
    Index("ix_entries_importance", "scope_id", "status", "last_seen_at", "base"),
    Index("ix_entries_category", "scope_id", "category", info={WHERE: _ACTIVE}),
    Index("ix_entries_pinned", "scope_id", "last_seen_at", info={WHERE: _PINNED}),
    Index("ix_entries_held", "scope_id", "successor", "valid_until", info={WHERE: _HELD}),
    Index("ix_entries_retired", "scope_id", "status_at", info={WHERE: _RETIRED}),
    # The change feed names entries by this key; without it SQLite gives the key of a deleted row to the next one.
    sqlite_autoincrement=True,
)

entry_sources = Table(
    "entry_sources",
    metadata,
    scope_key(primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("source_id", String(64), primary_key=True),
    Column("entry_pk", Key, primary_key=True),
    Column("revision", BigInteger, nullable=False, server_default="0"),
    Index("ix_entry_sources_entry", "entry_pk"),
)

evidence_words = Table(
    "evidence_words",
    metadata,
    scope_key(primary_key=True),
    Column("word", BigInteger, primary_key=True, autoincrement=False),
    Column("entry_pk", Key, primary_key=True),
    sqlite_with_rowid=False,
)

turns = Table(
    "turns",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("session_id", Text, nullable=False),
    Column("role", String(32), nullable=False),
    Column("content", Text, nullable=False),
    Column("speaker", Text, nullable=True),
    instant("occurred_at"),
    instant("recorded_at"),
    instant("consumed_at", nullable=True),
    Column("trust", Integer, nullable=False),
    Column("generated", Boolean, nullable=False),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("observers", Text, nullable=True),
    Column("learning", Boolean, nullable=True),
    Column("fold_key", String(32), nullable=True),
    UniqueConstraint("scope_id", "id"),
    Index("ix_turns_fold", "scope_id", "fold_key"),
    Index("ix_turns_learning", "scope_id", info={WHERE: _LEARNT}),
    Index("ix_turns_position", "scope_id", "position"),
    Index("ix_turns_session", "scope_id", "session_id", "occurred_at"),
    Index("ix_turns_recorded", "scope_id", "recorded_at"),
    Index("ix_turns_revision", "scope_id", "revision"),
)

skills = Table(
    "skills",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("name", Name, nullable=False),
    Column("summary", Text, nullable=False),
    Column("content", Text, nullable=False),
    instant("created_at"),
    instant("updated_at", nullable=True),
    instant("last_used_at", nullable=True),
    Column("see_also", Text, nullable=False),
    Column("trust", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("status_reason", Text, nullable=True),
    Column("successor", Text, nullable=True),
    instant("status_at", nullable=True),
    Column("version", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("position", BigInteger, nullable=False),
    UniqueConstraint("scope_id", "id"),
    Index("ix_skills_name", "scope_id", "name", unique=True, info={WHERE: _ACTIVE}),
    Index("ix_skills_position", "scope_id", "position"),
)

skill_uses = Table(
    "skill_uses",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("skill_name", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    instant("occurred_at"),
    instant("recorded_at"),
    UniqueConstraint("scope_id", "id"),
    Index("ix_skill_uses_occurred", "scope_id", "occurred_at"),
    Index("ix_skill_uses_recorded", "scope_id", "recorded_at"),
)

feedback = Table(
    "feedback",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("session_id", Text, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("summary", Text, nullable=False),
    Column("detail", Text, nullable=True),
    Column("rating", String(16), nullable=True),
    instant("occurred_at"),
    instant("recorded_at"),
    UniqueConstraint("scope_id", "id"),
    Index("ix_feedback_occurred", "scope_id", "occurred_at"),
    Index("ix_feedback_recorded", "scope_id", "recorded_at"),
)

wisp_runs = Table(
    "wisp_runs",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("wisp_id", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("definition_hash", Text, nullable=False),
    Column("shape_hash", Text, nullable=True),
    Column("succeeded", Boolean, nullable=False),
    Column("step_count", Integer, nullable=False),
    Column("steps_completed", Integer, nullable=False),
    Column("failed_step_id", Text, nullable=True),
    Column("failure_category", String(16), nullable=True),
    Column("error_message", Text, nullable=True),
    Column("failed_tool_name", Text, nullable=True),
    Column("duration_ms", BigInteger, nullable=False),
    Column("session_id", Text, nullable=True),
    Column("retry_of", String(64), nullable=True),
    Column("batch_id", Text, nullable=True),
    Column("definition_body", Text, nullable=True),
    instant("occurred_at"),
    instant("recorded_at"),
    UniqueConstraint("scope_id", "id"),
    Index("ix_wisp_runs_occurred", "scope_id", "occurred_at"),
    Index("ix_wisp_runs_recorded", "scope_id", "recorded_at"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("session_id", Text, nullable=False),
    Column("tool_name", Text, nullable=False),
    Column("succeeded", Boolean, nullable=False),
    Column("arguments", Text, nullable=True),
    Column("error_message", Text, nullable=True),
    Column("duration_ms", BigInteger, nullable=True),
    instant("occurred_at"),
    instant("recorded_at"),
    UniqueConstraint("scope_id", "id"),
    Index("ix_tool_calls_occurred", "scope_id", "occurred_at"),
    Index("ix_tool_calls_recorded", "scope_id", "recorded_at"),
)

recall_hits = Table(
    "recall_hits",
    metadata,
    row_key(),
    scope_key(),
    Column("entry_id", String(64), nullable=False),
    Column("query", String(32), nullable=False),
    Column("score", Float, nullable=False),
    Column("rank", Integer, nullable=False),
    instant("recalled_at"),
    Column("session_id", Text, nullable=True),
    # Covers all that is summed by entry: a million hits are then read in their order, without their rows.
    Index("ix_recall_hits_entry", "scope_id", "entry_id", "recalled_at", "query", "rank"),
    Index("ix_recall_hits_recalled", "scope_id", "recalled_at"),
)

vectors = Table(
    "vectors",
    metadata,
    scope_key(primary_key=True),
    Column("model", String(256), primary_key=True),
    Column("content_hash", String(32), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

imports = Table(
    "imports",
    metadata,
    scope_key(primary_key=True),
    Column("source_key", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("record_id", String(64), nullable=False),
    Index("ix_imports_record", "scope_id", "record_id"),
)

forgotten = Table(
    "forgotten",
    metadata,
    scope_key(primary_key=True),
    Column("fingerprint", String(64), primary_key=True),
    instant("forgotten_at"),
)

withheld = Table(
    "withheld",
    metadata,
    scope_key(primary_key=True),
    Column("kind", String(16), primary_key=True),
    Column("record_id", String(64), primary_key=True),
    Column("entry_id", String(64), primary_key=True),
    instant("withheld_at"),
)

settings = Table(
    "settings",
    metadata,
    scope_key(primary_key=True),
    Column("name", String(128), primary_key=True),
    Column("value", Text, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    scope_key(primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    instant("acquired_at"),
    instant("expires_at"),
)


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

questions = Table(
    "questions",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("cause", String(32), nullable=False),
    Column("members", Text, nullable=False),
    Column("text", Text, nullable=False),
    instant("asked_at"),
    Column("asked_by", String(128), nullable=False),
    Column("similarity", Float, nullable=True),
    Column("state", String(16), nullable=False),
    Column("verdict", String(16), nullable=True),
    Column("result", String(128), nullable=True),
    Column("answered_by", String(128), nullable=True),
    instant("answered_at", nullable=True),
    Column("reason", Text, nullable=True),
    Column("version", Integer, nullable=False),
    UniqueConstraint("scope_id", "id"),
    Index("ix_questions_state", "scope_id", "state"),
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
