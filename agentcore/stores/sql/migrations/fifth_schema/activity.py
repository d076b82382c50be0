"""Revision 0005: who was active, and what is switched off."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import columns, create_partial_index, key, row_key, unique

_PEERS_SO_FAR = """
INSERT INTO peers (workspace, observed, active_at, changed_since)
SELECT scopes.workspace, scopes.observed, max(change_feed.recorded_at), coalesce(max(change_feed.recorded_at), 0)
FROM scopes LEFT JOIN change_feed ON change_feed.scope_id = scopes.pk AND change_feed.origin IN ('host', 'import')
WHERE scopes.revision > 0 GROUP BY scopes.workspace, scopes.observed ORDER BY scopes.workspace, scopes.observed
"""
_ENTRIES_SO_FAR = """
UPDATE scopes SET explicit_entries = (
SELECT count(*) FROM entries WHERE entries.scope_id = scopes.pk AND entries.level = 'explicit' AND entries.position > 0)
"""


def create_activity() -> None:
    """Create the tables of peers and switches, and take over what the change feed and the entries tell."""
    op.add_column("scopes", sa.Column("explicit_entries", sa.BigInteger, nullable=False, server_default="0"))
    op.create_index("ix_scopes_peer", "scopes", ["workspace", "observed"])
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
    op.execute(_PEERS_SO_FAR)
    op.execute(_ENTRIES_SO_FAR)
