"""How failed wisps teach skills."""

from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options


class PromotionPolicy(StrEnum):
    """What becomes of wisps that keep succeeding."""

    LIST = "list"
    """The report names them; where the pass only proposes, skills are proposed, too."""
    STORE = "store"
    """They become skills, too."""


class WispFailureOptions(Options):
    """How failed wisps teach the skills that produced them."""

    section: ClassVar[str] = "dreaming.wisp_failures"
    """What its fields are called after in errors."""

    window: timedelta = Field(default=timedelta(days=14), gt=timedelta(0))
    """Wisp runs of this time count."""
    max_runs: int = Field(default=5_000, ge=1)
    """The newest so many of them."""
    least_failures: int = Field(default=3, ge=1)
    """Failures from which there is a pattern."""
    samples: int = Field(default=5, ge=1)
    """The newest failures of a pattern shown to the model."""
    max_patterns: int = Field(default=100, ge=1)
    """Patterns asked about in one run; the rest is backlog."""
    review_after: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """A pattern that did not fail again is looked at again after this."""
    least_successes: int = Field(default=5, ge=1)
    """Successes from which a wisp may be promoted."""
    success_share: float = Field(default=0.8, ge=0.0, lt=1.0)
    """It must succeed in more than this share of its runs."""
    promotion: PromotionPolicy = PromotionPolicy.LIST
    """What becomes of it: `list` or `store`."""
