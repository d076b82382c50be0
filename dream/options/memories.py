"""How memories are mined, compared, consolidated and inferred."""

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


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


class MiningOptions(Options):
    """How facts are mined from conversations."""

    section: ClassVar[str] = "dreaming.mining"
    """What its fields are called after in errors."""

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    overlap_turns: int = Field(default=4, ge=0, le=50)
    """Turns before the new ones that are shown again, for what they refer to."""


class ConsolidationOptions(Options):
    """How the model merges and retires entries."""

    section: ClassVar[str] = "dreaming.consolidation"
    """What its fields are called after in errors."""

    max_entries: int = Field(default=1_000, ge=2)
    """New or changed entries reviewed in one run; the rest is backlog."""
    neighbours: int = Field(default=4, ge=0, le=20)
    """Lexical neighbours shown beside each of them."""
    threshold: float = Field(default=0.2, gt=0.0, le=1.0)
    """Weighted Jaccard similarity from which an entry is a neighbour."""
    batch_entries: int = Field(default=40, ge=2, le=200)
    """Entries in one call at most."""
    repairs: int = Field(default=10, ge=0)
    """Repair calls in one run at most, for merges that lost or invented something."""
    share_cap: float = Field(default=0.2, ge=0.0, le=1.0)
    """Share of the active entries that may be retired in any 24 hours."""
    share_cap_least: int = Field(default=10, ge=0)
    """So many may be retired in any 24 hours even if the share is less."""
    protect_importance: float = Field(default=0.80, ge=0.0, le=1.0)
    """Entries of at least this base importance are merged, never dropped."""
    protect_reinforced: int = Field(default=5, ge=1)
    """Entries seen at least this often are merged, never dropped."""
    reopen_after: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """A cluster that was left as it is, is looked at again after this; the wait doubles each time."""
    reopen_within: timedelta = Field(default=timedelta(days=56), gt=timedelta(0))
    """The longest such wait."""
    reopen_clusters: int = Field(default=10, ge=0)
    """Such clusters looked at again in one run."""
    feedback_window: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Feedback of this time is mined for anti-patterns."""
    max_feedback: int = Field(default=50, ge=0)
    """The newest so many of it."""


class EpisodeOptions(Options):
    """How episodes are found in conversations."""

    section: ClassVar[str] = "dreaming.episodes"
    """What its fields are called after in errors."""

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    overlap_turns: int = Field(default=4, ge=0, le=50)
    """Turns before the new ones that are shown again, for what they refer to."""
    window: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Known episodes last met within this time may be shown beside new turns."""
    beside: int = Field(default=12, ge=0, le=100)
    """So many of them at most, the nearest first."""


class PreferenceOptions(Options):
    """How preferences are inferred."""

    section: ClassVar[str] = "dreaming.preferences"
    """What its fields are called after in errors."""

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    overlap_turns: int = Field(default=4, ge=0, le=50)
    """Turns before the new ones that are shown again, for what they refer to."""
    window: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Earlier turns and feedback of this time count as occasions, and feedback since the oldest turn that is shown."""
    max_feedback: int = Field(default=50, ge=0)
    """The newest so many signals of it are shown."""
    beside: int = Field(default=12, ge=0, le=100)
    """Known preferences and earlier turns like the new ones shown beside them, so many of each at most.

    The newest earlier turns fill what room is left, unless this is 0.
    """
    when_irritated: int = Field(default=1, ge=1)
    """Occasions that a preference takes which was voiced with great irritation."""
    when_frustrated: int = Field(default=2, ge=1)
    """Occasions that one takes which was voiced with mild frustration."""
    when_casual: int = Field(default=3, ge=1)
    """Occasions that any other one takes."""
