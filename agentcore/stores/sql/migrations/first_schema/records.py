"""Revision 0009: the tables of records, of the workspace and of leases."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import (
    ACTIVE,
    NAME,
    RETIRED,
    ROW_KEY,
    columns,
    counters,
    create_partial_index,
    create_signal_indexes,
    key,
    record,
    row_key,
    scope,
    state,
    unique,
)


def create_records() -> None:
    """Create what holds what the agent knows, said and did."""
    _create_scopes()
    _create_entries()
    _create_entry_sources()
    _create_turns()
    _create_skills()
    _create_signals()
    _create_runs_and_calls()
    _create_recall()
    _create_ledgers()
    _create_workspace()
    _create_leases()


def _create_scopes() -> None:
    op.create_table(
        "scopes",
        *row_key("scopes"),
        *columns(sa.String(128), "workspace", "observer", "observed"),
        sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("position", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("explicit_entries", sa.BigInteger, nullable=False, server_default="0"),
        unique("scopes", "workspace", "observer", "observed"),
    )
    op.create_index("ix_scopes_peer", "scopes", ["workspace", "observed"])
    op.create_table(
        "change_feed",
        scope("change_feed"),
        *columns(sa.BigInteger, "revision", "recorded_at"),
        *columns(sa.String(16), "origin"),
        *columns(sa.Text, "removed", "removed_turns", "removed_skills", nullable=True),
        key("change_feed", "scope_id", "revision"),
    )


def _create_entries() -> None:
    op.create_table(
        "entries",
        *record("entries"),
        *columns(sa.Text, "content"),
        *columns(NAME, "category"),
        *columns(sa.Text, "tags"),
        *columns(sa.Float, "base"),
        *columns(sa.BigInteger, "created_at", "recorded_at"),
        *columns(sa.BigInteger, "updated_at", nullable=True),
        *columns(sa.BigInteger, "last_seen_at"),
        *columns(sa.Integer, "own_count"),
        *columns(sa.Text, "absorbed"),
        *columns(sa.Integer, "reinforcement_count"),
        *columns(sa.Text, "subject_time", nullable=True),
        *columns(sa.Text, "metadata"),
        *columns(sa.String(16), "level"),
        *columns(sa.Text, "sources"),
        *columns(sa.Integer, "trust"),
        *columns(sa.Boolean, "pinned"),
        *state(sa.String(64)),
        *counters(),
        *columns(sa.String(32), "fold_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_entries_fold", "entries", ["scope_id", "fold_key", "status"])
    op.create_index("ix_entries_position", "entries", ["scope_id", "position", "status"])
    op.create_index("ix_entries_revision", "entries", ["scope_id", "revision"])
    op.create_index("ix_entries_importance", "entries", ["scope_id", "status", "last_seen_at", "base"])
    create_partial_index("ix_entries_category", "entries", ["scope_id", "category"], ACTIVE)
    create_partial_index("ix_entries_pinned", "entries", ["scope_id", "last_seen_at"], "pinned IS TRUE")
    create_partial_index("ix_entries_retired", "entries", ["scope_id", "status_at"], RETIRED)


def _create_entry_sources() -> None:
    op.create_table(
        "entry_sources",
        scope("entry_sources"),
        *columns(sa.String(16), "kind"),
        *columns(sa.String(64), "source_id"),
        *columns(ROW_KEY, "entry_pk"),
        key("entry_sources", "scope_id", "kind", "source_id", "entry_pk"),
    )
    op.create_index("ix_entry_sources_entry", "entry_sources", ["entry_pk"])


def _create_turns() -> None:
    op.create_table(
        "turns",
        *record("turns"),
        *columns(sa.Text, "session_id"),
        *columns(sa.String(32), "role"),
        *columns(sa.Text, "content"),
        *columns(sa.Text, "speaker", nullable=True),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
        *columns(sa.BigInteger, "consumed_at", nullable=True),
        *columns(sa.Integer, "trust"),
        *columns(sa.Boolean, "generated"),
        *counters(),
    )
    op.create_index("ix_turns_position", "turns", ["scope_id", "position"])
    op.create_index("ix_turns_session", "turns", ["scope_id", "session_id", "occurred_at"])
    op.create_index("ix_turns_recorded", "turns", ["scope_id", "recorded_at"])
    op.create_index("ix_turns_revision", "turns", ["scope_id", "revision"])


def _create_skills() -> None:
    op.create_table(
        "skills",
        *record("skills"),
        *columns(NAME, "name"),
        *columns(sa.Text, "summary", "content"),
        *columns(sa.BigInteger, "created_at"),
        *columns(sa.BigInteger, "updated_at", "last_used_at", nullable=True),
        *columns(sa.Text, "see_also"),
        *columns(sa.Integer, "trust"),
        *state(sa.Text),
        *counters(),
    )
    create_partial_index("ix_skills_name", "skills", ["scope_id", "name"], ACTIVE, unique=True)
    op.create_index("ix_skills_position", "skills", ["scope_id", "position"])


def _create_signals() -> None:
    op.create_table(
        "skill_uses",
        *record("skill_uses"),
        *columns(sa.Text, "skill_name", "session_id"),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
    )
    create_signal_indexes("skill_uses")
    op.create_table(
        "feedback",
        *record("feedback"),
        *columns(sa.Text, "session_id"),
        *columns(sa.String(32), "kind"),
        *columns(sa.Text, "summary"),
        *columns(sa.Text, "detail", nullable=True),
        *columns(sa.String(16), "rating", nullable=True),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
    )
    create_signal_indexes("feedback")


def _create_runs_and_calls() -> None:
    op.create_table(
        "wisp_runs",
        *record("wisp_runs"),
        *columns(sa.Text, "wisp_id", "description", "definition_hash"),
        *columns(sa.Text, "shape_hash", nullable=True),
        *columns(sa.Boolean, "succeeded"),
        *columns(sa.Integer, "step_count", "steps_completed"),
        *columns(sa.Text, "failed_step_id", nullable=True),
        *columns(sa.String(16), "failure_category", nullable=True),
        *columns(sa.Text, "error_message", "failed_tool_name", nullable=True),
        *columns(sa.BigInteger, "duration_ms"),
        *columns(sa.Text, "session_id", nullable=True),
        *columns(sa.String(64), "retry_of", nullable=True),
        *columns(sa.Text, "batch_id", "definition_body", nullable=True),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
    )
    create_signal_indexes("wisp_runs")
    op.create_table(
        "tool_calls",
        *record("tool_calls"),
        *columns(sa.Text, "session_id", "tool_name"),
        *columns(sa.Boolean, "succeeded"),
        *columns(sa.Text, "arguments", "error_message", nullable=True),
        *columns(sa.BigInteger, "duration_ms", nullable=True),
        *columns(sa.BigInteger, "occurred_at", "recorded_at"),
    )
    create_signal_indexes("tool_calls")


def _create_recall() -> None:
    op.create_table(
        "recall_hits",
        *row_key("recall_hits"),
        scope("recall_hits"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.String(32), "query"),
        *columns(sa.Float, "score"),
        *columns(sa.Integer, "rank"),
        *columns(sa.BigInteger, "recalled_at"),
        *columns(sa.Text, "session_id", nullable=True),
    )
    op.create_index("ix_recall_hits_entry", "recall_hits", ["scope_id", "entry_id", "recalled_at", "query", "rank"])
    op.create_index("ix_recall_hits_recalled", "recall_hits", ["scope_id", "recalled_at"])
    op.create_table(
        "vectors",
        scope("vectors"),
        *columns(sa.String(256), "model"),
        *columns(sa.String(32), "content_hash"),
        *columns(sa.LargeBinary, "vector"),
        key("vectors", "scope_id", "model", "content_hash"),
    )


def _create_ledgers() -> None:
    op.create_table(
        "imports",
        scope("imports"),
        *columns(sa.String(64), "source_key"),
        *columns(sa.String(16), "kind"),
        *columns(sa.String(64), "record_id"),
        key("imports", "scope_id", "source_key"),
    )
    op.create_table(
        "forgotten",
        scope("forgotten"),
        *columns(sa.String(64), "fingerprint"),
        *columns(sa.BigInteger, "forgotten_at"),
        key("forgotten", "scope_id", "fingerprint"),
    )
    op.create_table(
        "settings",
        scope("settings"),
        *columns(sa.String(128), "name"),
        *columns(sa.Text, "value"),
        key("settings", "scope_id", "name"),
    )


def _create_workspace() -> None:
    op.create_table(
        "documents",
        *record("documents"),
        *columns(sa.Text, "content"),
        *columns(sa.BigInteger, "updated_at"),
        *columns(sa.Text, "own"),
        *columns(sa.Integer, "version"),
    )
    op.create_table(
        "outbox",
        *row_key("outbox"),
        scope("outbox"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.Text, "document"),
        *columns(sa.Text, "before", "after", nullable=True),
        *columns(sa.BigInteger, "recorded_at"),
    )
    op.create_index("ix_outbox_scope", "outbox", ["scope_id", "document"])
    op.create_table(
        "memory_promotions",
        scope("memory_promotions"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.Float, "score"),
        *columns(sa.BigInteger, "hits"),
        *columns(sa.String(64), "run_id"),
        *columns(sa.BigInteger, "promoted_at"),
        key("memory_promotions", "scope_id", "entry_id"),
    )
    op.create_table(
        "phase_hits",
        scope("phase_hits"),
        *columns(sa.String(64), "entry_id"),
        *columns(sa.String(16), "phase"),
        *columns(sa.Integer, "times"),
        *columns(sa.BigInteger, "last_at"),
        key("phase_hits", "scope_id", "entry_id", "phase"),
    )


def _create_leases() -> None:
    op.create_table(
        "leases",
        scope("leases"),
        *columns(sa.String(64), "name", "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.Text, "process_started"),
        *columns(sa.BigInteger, "token", "acquired_at", "expires_at"),
        key("leases", "scope_id", "name"),
    )
