"""A cursor tells what its reader reads."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"

_READ_BEFORE = {
    "turns": ("fact-mining", "episodes", "skill-gaps", "preferences"),
    "skills": ("skill-consolidation", "skill-optimization"),
    "feedback": ("memory-consolidation/feedback",),
    "log": ("log-consumption",),
    "nothing": ("rem",),
}
"""What the readers of then read, as far as it was not entries."""


def upgrade() -> None:
    """Add what is read, and fill it in for the readers that read something else than entries."""
    op.add_column("cursors", sa.Column("reads", sa.String(16), nullable=False, server_default="entries"))
    cursors = sa.table("cursors", sa.column("reader"), sa.column("reads"))
    for reads, readers in _READ_BEFORE.items():
        op.execute(sa.update(cursors).where(cursors.c.reader.in_(readers)).values(reads=reads))
