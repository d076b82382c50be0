"""Tables of the dream's bookkeeping: runs, steps, journal, cursors, decisions, model calls, plans, schedules."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from agentcore.stores.sql.schema.records import WHERE, instant, metadata, record_id, row_key, scope_key

_PLANNED = text("due_at IS NOT NULL")
_REQUESTED = text("reason = 'manual'")
_ADMISSIBLE = text("due_at IS NOT NULL AND offered_until IS NULL")
_OFFERED = text("offered_until IS NOT NULL")
_UNFINISHED = text("finished IS FALSE")

runs = Table(
    "runs",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("kind", String(16), nullable=False),
    Column("target", Text, nullable=True),
    Column("finished", Boolean, nullable=False),
    Column("outcome", String(16), nullable=True),
    instant("as_of"),
    instant("started_at"),
    instant("finished_at", nullable=True),
    Column("frozen", Text, nullable=False),
    Column("report", Text, nullable=True),
    Column("actor", Text, nullable=True),
    UniqueConstraint("scope_id", "id"),
    Index("ix_runs_started", "scope_id", "started_at"),
    Index("ix_runs_unfinished", "scope_id", info={WHERE: _UNFINISHED}),
)

steps = Table(
    "steps",
    metadata,
    scope_key(primary_key=True),
    Column("run_id", String(64), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("pass_name", String(64), nullable=False),
    Column("batch", Text, nullable=False),
    Column("cursor_before", BigInteger, nullable=True),
    Column("cursor_after", BigInteger, nullable=True),
    Column("reopened_consumed", Text, nullable=False),
    Column("committed_at", BigInteger, nullable=False),
    Column("report", Text, nullable=False),
)

journal = Table(
    "journal",
    metadata,
    row_key(),
    scope_key(),
    Column("run_id", String(64), nullable=False),
    Column("step", Integer, nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("number", Integer, nullable=False),
    Column("operation", String(32), nullable=False),
    Column("record_kind", String(16), nullable=False),
    Column("record_id", String(64), nullable=False),
    Column("before", Text, nullable=True),
    Column("after", Text, nullable=True),
    Column("reason", Text, nullable=False),
    Column("fingerprint", String(64), nullable=True),
    instant("recorded_at"),
    Column("scrubbed", Boolean, nullable=False, server_default=false()),
    Column("actor", Text, nullable=True),
    Index("ix_journal_run", "scope_id", "run_id", "number"),
    Index("ix_journal_record", "scope_id", "record_id"),
)

cursors = Table(
    "cursors",
    metadata,
    scope_key(primary_key=True),
    Column("reader", String(64), primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("reads", String(16), nullable=False, server_default="entries"),
)

reopened = Table(
    "reopened",
    metadata,
    scope_key(primary_key=True),
    Column("reader", String(64), primary_key=True),
    Column("record_id", String(64), primary_key=True),
)

pass_ledger = Table(
    "pass_ledger",
    metadata,
    scope_key(primary_key=True),
    Column("pass_name", String(64), primary_key=True),
    Column("fingerprint", String(64), nullable=True),
    Column("run_id", String(64), nullable=False),
    instant("completed_at"),
)

decisions = Table(
    "decisions",
    metadata,
    scope_key(primary_key=True),
    Column("fingerprint", String(64), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("run_id", String(64), nullable=False),
    instant("decided_at"),
)

model_calls = Table(
    "model_calls",
    metadata,
    row_key(),
    scope_key(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("batch_key", String(64), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("record_ids", Text, nullable=False),
    Column("answer", Text, nullable=True),
    Column("finish_reason", String(32), nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    instant("answered_at"),
    Column("is_estimated", Boolean, nullable=False, server_default=false()),
    # Why the round was asked, and what it showed besides the batch; null in rows of before there were rounds.
    Column("round_kind", String(16), nullable=True),
    Column("shown", Text, nullable=True),
    # Nothing for the parts of an answer that passes share, the first aside.
    Column("calls", Integer, nullable=False, server_default="1"),
    # What was asked, as `agentcore.stores.sql.stored_prompts` packs it; null once a `forget` has emptied it.
    Column("prompt", LargeBinary, nullable=True),
    UniqueConstraint("scope_id", "run_id", "pass_name", "batch_key", "attempt"),
    Index("ix_model_calls_answered", "answered_at"),
)

prompt_texts = Table(
    "prompt_texts",
    metadata,
    scope_key(primary_key=True),
    Column("hash", String(64), primary_key=True),
    Column("text", LargeBinary, nullable=False),
    # When a prompt with it was last stored: it goes when that one does.
    instant("used_at"),
)

model_failures = Table(
    "model_failures",
    metadata,
    row_key(),
    scope_key(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("batch_key", String(64), nullable=False),
    Column("failure", String(32), nullable=False),
    Column("model", Text, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    instant("failed_at"),
    Column("attempt", Integer, nullable=False, server_default="1"),
    Index("ix_model_failures_run", "scope_id", "run_id"),
    Index("ix_model_failures_failed", "failed_at"),
)

waiting_exchanges = Table(
    "waiting_exchanges",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("reason", String(32), nullable=False),
    instant("since"),
    Column("runs", Integer, nullable=False),
    Column("tried_in", String(64), nullable=False),
    # Null where a change set waited before exchanges did.
    Column("batch", Text, nullable=True),
    Column("records", Text, nullable=False),
    # Null once a `forget` has emptied them.
    Column("rounds", Text, nullable=True),
    Column("changes", Text, nullable=False),
    UniqueConstraint("scope_id", "id"),
)

proposals = Table(
    "proposals",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("changes", Text, nullable=True),
    Column("marks", Text, nullable=False),
    Column("looks_again", Text, nullable=False),
    instant("proposed_at"),
    instant("expires_at"),
    UniqueConstraint("scope_id", "id"),
    Index("ix_proposals_state", "scope_id", "state", "expires_at"),
)

refused_texts = Table(
    "refused_texts",
    metadata,
    row_key(),
    scope_key(),
    Column("run_id", String(64), nullable=False),
    Column("pass_name", String(64), nullable=False),
    Column("code", String(32), nullable=False),
    Column("detail", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("cites", Text, nullable=False),
    instant("refused_at"),
    Index("ix_refused_texts_run", "scope_id", "run_id"),
)

settled_clusters = Table(
    "settled_clusters",
    metadata,
    scope_key(primary_key=True),
    Column("pass_name", String(64), primary_key=True),
    Column("fingerprint", String(64), primary_key=True),
    Column("record_ids", Text, nullable=False),
    Column("declines", Integer, nullable=False),
    instant("declined_at"),
    Column("run_id", String(64), nullable=False),
)

plans = Table(
    "plans",
    metadata,
    row_key(),
    scope_key(),
    record_id(),
    instant("created_at"),
    instant("as_of"),
    Column("changes", Text, nullable=False),
    Column("report", Text, nullable=False),
    UniqueConstraint("scope_id", "id"),
)

schedules = Table(
    "schedules",
    metadata,
    scope_key(primary_key=True),
    instant("registered_at"),
    instant("due_at", nullable=True),
    Column("reason", String(32), nullable=False),
    Column("options_hash", String(64), nullable=False),
    Column("state", Text, nullable=False),
    # The tenant, what comes first, and until when a worker of a fleet may take it up; an offer's number only grows.
    Column("workspace", String(128), nullable=False, server_default=""),
    Column("priority", Integer, nullable=False, server_default="0"),
    instant("offered_until", nullable=True),
    Column("offer_no", BigInteger, nullable=False, server_default="0"),
    Index("ix_schedules_due", "due_at", info={WHERE: _PLANNED}),
    Index("ix_schedules_requested", "due_at", info={WHERE: _REQUESTED}),
    Index("ix_schedules_options", "options_hash"),
    Index("ix_schedules_tenant", "workspace", "priority", "due_at", info={WHERE: _ADMISSIBLE}),
    Index("ix_schedules_offered", "offered_until", info={WHERE: _OFFERED}),
)
