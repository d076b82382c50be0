"""How long things are kept."""

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class RetentionOptions(Options):
    """How long what is set aside, said and logged is kept."""

    section: ClassVar[str] = "dreaming.retention"
    """What its fields are called after in errors."""

    archived: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Archived and superseded entries are purged this long after they were retired."""
    protect_importance: float = Field(default=0.80, ge=0.0, le=1.0)
    """Retired entries of at least this base importance are never purged."""
    protect_reinforced: int = Field(default=5, ge=1)
    """Retired entries seen at least this often are never purged."""
    turns: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Conversation turns are dropped this long after they were stored."""
    max_turns: int = Field(default=200_000, ge=1)
    """Beyond so many turns the consumed ones go first, then the oldest."""
    signals: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Skill uses, feedback, wisp runs and tool calls are dropped this long after they were stored."""
    max_signals: int = Field(default=50_000, ge=1)
    """So many of each signal are kept at most."""
    history: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Runs, their journal, stored answers and plans are dropped this long after they ended."""
    refused: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Texts that a dream refused are dropped this long after that, or with their run."""
