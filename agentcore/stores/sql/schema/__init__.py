"""The one schema, for SQLite and PostgreSQL.

Records and the dream's bookkeeping share it, because a person's `forget` must reach every copy of a text (journal
images, stored answers, plans) in one transaction. Instants are integer microseconds since 1970 in UTC: exact and alike
on both databases. Structured columns are JSON text written by orjson. A change here is also a migration in
`agentcore.stores.sql.migrations.versions`, which spells its tables out.
"""

from agentcore.stores.sql.schema.access import access_tokens, receipts, record_writes
from agentcore.stores.sql.schema.dreams import (
    cursors,
    decisions,
    journal,
    model_calls,
    model_failures,
    pass_ledger,
    plans,
    prompt_texts,
    proposals,
    refused_texts,
    reopened,
    runs,
    schedules,
    settled_clusters,
    steps,
    waiting_exchanges,
)
from agentcore.stores.sql.schema.fleet import fleet_workers, model_rates, schedule_terms
from agentcore.stores.sql.schema.forgetting import erasures, forget_keys, known_copies, tombstones
from agentcore.stores.sql.schema.hypotheses import claims, hypotheses
from agentcore.stores.sql.schema.people import (
    busy_holders,
    card_lines,
    fan_outs,
    fanned_out,
    hosts,
    off_limits_topics,
    peers,
    session_peers,
    switches,
)
from agentcore.stores.sql.schema.records import (
    WHERE,
    change_feed,
    documents,
    entries,
    entry_sources,
    evidence_words,
    feedback,
    forgotten,
    imports,
    leases,
    metadata,
    outbox,
    phase_hits,
    promotions,
    questions,
    recall_hits,
    scopes,
    settings,
    skill_uses,
    skills,
    tool_calls,
    turns,
    vectors,
    wisp_runs,
    withheld,
)

REVISION = "0034"
"""The Alembic revision this code reads and writes."""

KNOWN_REVISIONS = tuple(f"{number:04d}" for number in range(9, int(REVISION) + 1))
"""Every revision that a database can have to be opened, oldest first."""

RETIRED_REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
"""Revisions of the time before the first release, whose migrations are gone."""

__all__ = [
    "KNOWN_REVISIONS",
    "RETIRED_REVISIONS",
    "REVISION",
    "WHERE",
    "access_tokens",
    "busy_holders",
    "card_lines",
    "change_feed",
    "claims",
    "cursors",
    "decisions",
    "documents",
    "entries",
    "entry_sources",
    "erasures",
    "evidence_words",
    "fan_outs",
    "fanned_out",
    "feedback",
    "fleet_workers",
    "forget_keys",
    "forgotten",
    "hosts",
    "hypotheses",
    "imports",
    "journal",
    "known_copies",
    "leases",
    "metadata",
    "model_calls",
    "model_failures",
    "model_rates",
    "off_limits_topics",
    "outbox",
    "pass_ledger",
    "peers",
    "phase_hits",
    "plans",
    "promotions",
    "prompt_texts",
    "proposals",
    "questions",
    "recall_hits",
    "receipts",
    "record_writes",
    "refused_texts",
    "reopened",
    "runs",
    "schedule_terms",
    "schedules",
    "scopes",
    "session_peers",
    "settings",
    "settled_clusters",
    "skill_uses",
    "skills",
    "steps",
    "switches",
    "tombstones",
    "tool_calls",
    "turns",
    "vectors",
    "waiting_exchanges",
    "wisp_runs",
    "withheld",
]
