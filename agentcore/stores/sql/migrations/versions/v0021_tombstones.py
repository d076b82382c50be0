"""What was forgotten is remembered by its id, copies by what they hold, erased scopes by their names."""

import sqlalchemy as sa
from alembic import op

from agentcore.stores.sql.migrations.first_schema.shapes import NAME, ROW_KEY, columns, key, row_key, scope

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the tables; turns that are withheld for a forgotten entry become tombstones."""
    op.create_table(
        "tombstones",
        scope("tombstones"),
        *columns(sa.String(16), "kind"),
        *columns(NAME, "record_id"),
        *columns(sa.Boolean, "whole"),
        *columns(sa.BigInteger, "forgotten_at"),
        key("tombstones", "scope_id", "kind", "record_id"),
    )
    op.create_index("ix_tombstones_forgotten", "tombstones", ["scope_id", "forgotten_at"])
    op.create_table(
        "record_links",
        scope("record_links"),
        *columns(sa.String(64), "record_id"),
        *columns(sa.String(16), "holder"),
        *columns(NAME, "holder_id"),
        key("record_links", "scope_id", "record_id", "holder", "holder_id"),
    )
    op.create_index("ix_record_links_holder", "record_links", ["scope_id", "holder", "holder_id"])
    op.create_table(
        "erasures",
        *row_key("erasures"),
        *columns(sa.String(128), "workspace", "observer", "observed"),
        *columns(sa.BigInteger, "erased_at"),
        *columns(sa.BigInteger, "finished_at", nullable=True),
        *columns(sa.Text, "removed"),
    )
    op.create_index("ix_erasures_scope", "erasures", ["workspace", "observer", "observed"])
    op.create_table(
        "known_copies",
        *row_key("known_copies"),
        *columns(ROW_KEY, "scope_id", nullable=True),
        *columns(sa.String(16), "kind"),
        *columns(sa.Text, "place"),
        *columns(sa.BigInteger, "records"),
        *columns(sa.BigInteger, "made_at"),
    )
    op.create_index("ix_imports_record", "imports", ["scope_id", "record_id"])
    _take_over_withheld()


def _take_over_withheld() -> None:
    """Take what was withheld for an entry that was forgotten, not one that an agent set aside."""
    aside = "SELECT 1 FROM withheld a WHERE a.scope_id = w.scope_id AND a.kind = 'entry' AND a.record_id = w.entry_id"
    op.execute(
        "INSERT INTO tombstones (scope_id, kind, record_id, whole, forgotten_at)"  # noqa: S608 - constants
        " SELECT w.scope_id, 'turn', w.record_id, MAX(CASE WHEN w.entry_id = w.record_id THEN 1 ELSE 0 END) = 1,"
        f" MAX(w.withheld_at) FROM withheld w WHERE w.kind = 'turn' AND NOT EXISTS ({aside})"
        " GROUP BY w.scope_id, w.record_id"
    )
    op.execute(
        "INSERT INTO tombstones (scope_id, kind, record_id, whole, forgotten_at)"  # noqa: S608 - constants
        " SELECT w.scope_id, 'entry', w.entry_id, MAX(1) = 1, MAX(w.withheld_at) FROM withheld w"
        f" WHERE w.kind = 'turn' AND w.entry_id <> w.record_id AND NOT EXISTS ({aside})"
        " GROUP BY w.scope_id, w.entry_id"
    )
