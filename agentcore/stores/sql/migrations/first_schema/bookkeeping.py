"""Revision 0009: the tables of the dream's bookkeeping and of its schedule."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import (
    columns,
    create_partial_index,
    key,
    record,
    row_key,
    scope,
    unique,
)


def create_bookkeeping() -> None:
    """Create what holds runs, journal, cursors, answers, what waits, who is active and when scopes dream."""
    _create_runs()
    _create_journal()
    _create_cursors()
    _create_answers()
    _create_waiting()
    _create_activity()
    _create_schedules()


def _create_runs() -> None:
    op.create_table(
        "runs",
        *record("runs"),
        *columns(sa.String(16), "kind"),
        *columns(sa.Text, "target", nullable=True),
        *columns(sa.Boolean, "finished"),
        *columns(sa.String(16), "outcome", nullable=True),
        *columns(sa.BigInteger, "as_of", "started_at"),
        *columns(sa.BigInteger, "finished_at", nullable=True),
        *columns(sa.Text, "frozen"),
        *columns(sa.Text, "report", nullable=True),
    )
    op.create_index("ix_runs_started", "runs", ["scope_id", "started_at"])
    op.create_table(
        "steps",
        scope("steps"),
        *columns(sa.String(64), "run_id"),
        *columns(sa.Integer, "number"),
        *columns(sa.String(64), "pass_name"),
        *columns(sa.Text, "batch"),
        *columns(sa.BigInteger, "cursor_before", "cursor_after", nullable=True),
        *columns(sa.Text, "reopened_consumed"),
        *columns(sa.BigInteger, "committed_at"),
        *columns(sa.Text, "report"),
        key("steps", "scope_id", "run_id", "number"),
    )


def _create_journal() -> None:
    op.create_table(
        "journal",
        *row_key("journal"),
        scope("journal"),
        *columns(sa.String(64), "run_id"),
        *columns(sa.Integer, "step"),
        *columns(sa.String(64), "pass_name"),
        *columns(sa.Integer, "number"),
        *columns(sa.String(32), "operation"),
        *columns(sa.String(16), "record_kind"),
        *columns(sa.String(64), "record_id"),
        *columns(sa.Text, "before", "after", nullable=True),
        *columns(sa.Text, "reason"),
        *columns(sa.String(64), "fingerprint", nullable=True),
        *columns(sa.BigInteger, "recorded_at"),
        sa.Column("scrubbed", sa.Boolean, nullable=False, server_default=sa.false()),
    )
    op.create_index("ix_journal_run", "journal", ["scope_id", "run_id", "number"])
    op.create_index("ix_journal_record", "journal", ["scope_id", "record_id"])


def _create_cursors() -> None:
    op.create_table(
        "cursors",
        scope("cursors"),
        *columns(sa.String(64), "reader"),
        *columns(sa.BigInteger, "position"),
        key("cursors", "scope_id", "reader"),
    )
    op.create_table(
        "reopened",
        scope("reopened"),
        *columns(sa.String(64), "reader", "record_id"),
        key("reopened", "scope_id", "reader", "record_id"),
    )
    op.create_table(
        "pass_ledger",
        scope("pass_ledger"),
        *columns(sa.String(64), "pass_name"),
        *columns(sa.String(64), "fingerprint", nullable=True),
        *columns(sa.String(64), "run_id"),
        *columns(sa.BigInteger, "completed_at"),
        key("pass_ledger", "scope_id", "pass_name"),
    )
    op.create_table(
        "decisions",
        scope("decisions"),
        *columns(sa.String(64), "fingerprint"),
        *columns(sa.String(16), "kind"),
        *columns(sa.String(64), "run_id"),
        *columns(sa.BigInteger, "decided_at"),
        key("decisions", "scope_id", "fingerprint"),
    )


def _create_answers() -> None:
    op.create_table(
        "model_calls",
        *row_key("model_calls"),
        scope("model_calls"),
        *columns(sa.String(64), "run_id", "pass_name", "batch_key"),
        *columns(sa.Integer, "attempt"),
        *columns(sa.Text, "record_ids"),
        *columns(sa.Text, "request", "answer", nullable=True),
        *columns(sa.String(32), "finish_reason"),
        *columns(sa.Text, "model"),
        *columns(sa.Integer, "input_tokens", "output_tokens"),
        *columns(sa.BigInteger, "answered_at"),
        sa.Column("is_estimated", sa.Boolean, nullable=False, server_default=sa.false()),
        unique("model_calls", "scope_id", "run_id", "pass_name", "batch_key", "attempt"),
    )
    op.create_table(
        "model_failures",
        *row_key("model_failures"),
        scope("model_failures"),
        *columns(sa.String(64), "run_id", "pass_name", "batch_key"),
        *columns(sa.String(32), "failure"),
        *columns(sa.Text, "model"),
        *columns(sa.Integer, "input_tokens", "output_tokens"),
        *columns(sa.BigInteger, "failed_at"),
    )
    op.create_index("ix_model_failures_run", "model_failures", ["scope_id", "run_id"])


def _create_waiting() -> None:
    op.create_table(
        "plans",
        *record("plans"),
        *columns(sa.BigInteger, "created_at", "as_of"),
        *columns(sa.Text, "changes", "report"),
    )
    op.create_table(
        "deferred",
        *row_key("deferred"),
        scope("deferred"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.Text, "changes"),
        *columns(sa.BigInteger, "deferred_at"),
    )
    op.create_table(
        "settled_clusters",
        scope("settled_clusters"),
        *columns(sa.String(64), "pass_name", "fingerprint"),
        *columns(sa.Text, "record_ids"),
        *columns(sa.Integer, "declines"),
        *columns(sa.BigInteger, "declined_at"),
        *columns(sa.String(64), "run_id"),
        key("settled_clusters", "scope_id", "pass_name", "fingerprint"),
    )
    op.create_table(
        "proposals",
        *record("proposals"),
        *columns(sa.String(64), "run_id", "pass_name"),
        *columns(sa.String(16), "state"),
        *columns(sa.Text, "changes", nullable=True),
        *columns(sa.Text, "marks", "looks_again"),
        *columns(sa.BigInteger, "proposed_at", "expires_at"),
    )
    op.create_index("ix_proposals_state", "proposals", ["scope_id", "state", "expires_at"])


def _create_activity() -> None:
    op.create_table(
        "peers",
        *row_key("peers"),
        *columns(sa.String(128), "workspace", "observed"),
        *columns(sa.BigInteger, "active_at", "changed_since", nullable=True),
        unique("peers", "workspace", "observed"),
    )
    create_partial_index("ix_peers_changed", "peers", ["changed_since"], "changed_since IS NOT NULL")
    op.create_table(
        "switches",
        *columns(sa.String(128), "workspace", "observer", "observed"),
        *columns(sa.Text, "session_id"),
        *columns(sa.Boolean, "dream", "learning", nullable=True),
        *columns(sa.BigInteger, "learning_since", nullable=True),
        key("switches", "workspace", "observer", "observed", "session_id"),
    )
    op.create_table(
        "busy_holders",
        *columns(sa.String(64), "holder"),
        *columns(sa.Text, "host"),
        *columns(sa.Integer, "pid"),
        *columns(sa.Text, "process_started"),
        *columns(sa.BigInteger, "since", "expires_at"),
        key("busy_holders", "holder"),
    )


def _create_schedules() -> None:
    op.create_table(
        "schedules",
        scope("schedules"),
        *columns(sa.BigInteger, "registered_at"),
        *columns(sa.BigInteger, "due_at", nullable=True),
        *columns(sa.String(32), "reason"),
        *columns(sa.String(64), "options_hash"),
        *columns(sa.Text, "state"),
        key("schedules", "scope_id"),
    )
    create_partial_index("ix_schedules_due", "schedules", ["due_at"], "due_at IS NOT NULL")
    op.create_index("ix_schedules_options", "schedules", ["options_hash"])
