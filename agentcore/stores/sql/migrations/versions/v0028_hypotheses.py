"""Hypotheses, and claims with the gates to becoming a fact."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, record

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Add their tables."""
    _create_hypotheses()
    _create_claims()


def _create_hypotheses() -> None:
    op.create_table(
        "hypotheses",
        *record("hypotheses"),
        *columns(sa.Text, "hypothesis", "what_if", "possible_outcome", "rationale", "question"),
        *columns(sa.Float, "likelihood", "confidence"),
        *columns(sa.Text, "source_refs"),
        *columns(sa.BigInteger, "created_at"),
        *columns(sa.String(128), "created_by"),
        *columns(sa.BigInteger, "expires_at"),
        *columns(sa.String(32), "content_hash"),
        *columns(sa.Text, "factors", "premises", "quotes"),
        *columns(sa.String(256), "generator"),
        *columns(sa.Integer, "support"),
        *columns(sa.Text, "touching"),
        *columns(sa.Integer, "trust"),
        *columns(sa.String(16), "state"),
        *columns(sa.Text, "state_reason", nullable=True),
        *columns(sa.BigInteger, "state_at", "evaluated_at", nullable=True),
        *columns(sa.Text, "decisions"),
        *columns(sa.String(64), "fragment", nullable=True),
        *columns(sa.Integer, "version"),
        *columns(sa.BigInteger, "revision"),
    )
    op.create_index("ix_hypotheses_state", "hypotheses", ["scope_id", "state", "created_at"])
    op.create_index("ix_hypotheses_revision", "hypotheses", ["scope_id", "revision"])


def _create_claims() -> None:
    op.create_table(
        "claims",
        *record("claims"),
        *columns(sa.Text, "subject", "predicate", "object", "quote", "sources"),
        *columns(sa.BigInteger, "asserted_at"),
        *columns(sa.String(128), "asserted_by"),
        *columns(sa.Boolean, "negated"),
        *columns(sa.Text, "subject_time", nullable=True),
        *columns(sa.Float, "confidence"),
        *columns(sa.Integer, "trust"),
        *columns(sa.String(16), "entailment", nullable=True),
        *columns(sa.String(128), "verified_by", nullable=True),
        *columns(sa.String(16), "state"),
        *columns(sa.Text, "state_reason", nullable=True),
        *columns(sa.BigInteger, "state_at", nullable=True),
        *columns(sa.String(64), "fact", nullable=True),
        *columns(sa.Integer, "version"),
        *columns(sa.String(32), "claim_key"),
    )
    op.create_index("ix_claims_key", "claims", ["scope_id", "claim_key"])
    op.create_index("ix_claims_fact", "claims", ["scope_id", "fact"])
