"""What a host may tune of its dreams."""

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
    """Skill uses, feedback and wisp runs are dropped this long after they were stored."""
    max_signals: int = Field(default=50_000, ge=1)
    """So many of each signal are kept at most."""
    history: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Runs, their journal, stored answers and plans are dropped this long after they ended."""


class NearDuplicateOptions(Options):
    """How the search for near-duplicates is bounded."""

    section: ClassVar[str] = "dreaming.near_duplicates"
    """What its fields are called after in errors."""

    max_entries: int = Field(default=2_000, ge=1)
    """New or changed entries looked at in one run; the rest is backlog."""
    threshold: float = Field(default=0.5, gt=0.0, le=1.0)
    """Weighted Jaccard similarity of the stems from which two entries are candidates."""
    neighbours: int = Field(default=10, ge=1, le=100)
    """Candidates kept per entry."""


class DreamOptions(Options):
    """Everything a host may tune of its dreams; frozen, validated when the host is built.

    Example:
        >>> DreamOptions(near_duplicates=NearDuplicateOptions(threshold=0.6)).near_duplicates.threshold
        0.6
    """

    section: ClassVar[str] = "dreaming"
    """What its fields are called after in errors."""

    disabled: frozenset[str] = frozenset()
    """Names of passes that are switched off."""
    protected_categories: tuple[str, ...] = ("active-plans",)
    """Categories (with everything below) that no pass changes."""
    retention: RetentionOptions = Field(default_factory=RetentionOptions)
    """How long things are kept."""
    near_duplicates: NearDuplicateOptions = Field(default_factory=NearDuplicateOptions)
    """How the search for near-duplicates is bounded."""
    step_size: int = Field(default=250, ge=2, le=500)
    """Deterministic changes per transaction at most; a fold takes two."""
    resume_within: timedelta = Field(default=timedelta(hours=24), gt=timedelta(0))
    """An interrupted run younger than this is resumed; an older one is closed as partial."""
    lease: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(seconds=3))
    """How long a silent holder keeps the right to dream; it is renewed six times as often."""
