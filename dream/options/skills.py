"""How skills are found, merged and improved."""

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class SkillGapOptions(Options):
    """How recurring requests become skills."""

    section: ClassVar[str] = "dreaming.skill_gaps"
    """What its fields are called after in errors."""

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    sessions: int = Field(default=1_000, ge=2)
    """The sessions begun last whose first messages are compared."""
    terms: int = Field(default=15, ge=0)
    """Recurring terms told to the model at most."""
    earlier: int = Field(default=40, ge=0)
    """First messages of earlier sessions shown beside the new ones at most."""


class SkillConsolidationOptions(Options):
    """How skills are merged, linked and retired."""

    section: ClassVar[str] = "dreaming.skill_consolidation"
    """What its fields are called after in errors."""

    max_skills: int = Field(default=1_000, ge=2)
    """Skills reviewed in one run, about; the rest is backlog."""
    threshold: float = Field(default=0.2, gt=0.0, le=1.0)
    """Weighted Jaccard similarity from which two skills are shown together."""
    use_window: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Uses of this time are counted."""
    co_used: int = Field(default=10, ge=0)
    """Pairs of skills used in the same sessions that are told at most."""
    sparse_below: int = Field(default=200, ge=0)
    """A skill with fewer characters is sparse, once it is older than `sparse_after`."""
    sparse_after: timedelta = Field(default=timedelta(days=7), ge=timedelta(0))
    """How old a short skill must be to count as sparse."""
    review_after: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """A skill that did not change is reviewed again after this."""


class SkillOptimizationOptions(Options):
    """How skills that fail are rewritten, and rewrites that made it worse taken back."""

    section: ClassVar[str] = "dreaming.skill_optimization"
    """What its fields are called after in errors."""

    max_skills: int = Field(default=200, ge=1)
    """Skills reviewed in one run; the rest is backlog."""
    failure_window: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Signals of failure of this time count."""
    max_failures: int = Field(default=10, ge=1)
    """The newest so many signals are shown with a skill."""
    least_uses: int = Field(default=5, ge=1)
    """A rewrite is judged when the skill was used so often before it and after it."""
