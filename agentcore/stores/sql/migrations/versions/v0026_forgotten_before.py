"""What was forgotten before there were tombstones gets its own where the journal names it; an unused table goes."""

from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Set tombstones for entries whose images a forget took out of the journal, and drop the table of links.

    An entry that no dream ever wrote about is named nowhere; its text is still recognised by its hash.
    """
    op.drop_table("record_links")
    op.execute(
        "INSERT INTO tombstones (scope_id, kind, record_id, whole, forgotten_at)"
        " SELECT j.scope_id, 'entry', j.record_id, MAX(1) = 1, MAX(j.recorded_at) FROM journal j"
        " WHERE j.scrubbed AND j.record_kind = 'entry'"
        " AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.scope_id = j.scope_id AND e.id = j.record_id)"
        " AND NOT EXISTS (SELECT 1 FROM tombstones t WHERE t.scope_id = j.scope_id AND t.kind = 'entry'"
        " AND t.record_id = j.record_id) GROUP BY j.scope_id, j.record_id"
    )
