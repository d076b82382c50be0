"""Defines the options of hypotheses and claims."""

from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from agentcore.hosting.options import Options
from dream.options.pass_options import Narrator


class HypothesisOptions(Options):
    """How hypotheses are found, and how long they wait."""

    section: ClassVar[str] = "dreaming.hypotheses"
    """What its fields are called after in errors."""

    max_outputs: int = Field(default=5, ge=1, le=50)
    """Hypotheses that one run proposes at most."""
    narrator: Narrator = Narrator.MODEL
    """Who words them, and weighs what came after them: `model` (one call each a run at most, none without a model) or
    `arithmetic`, which weighs nothing."""
    max_entries: int = Field(default=500, ge=1)
    """New or changed entries looked at in one run; the rest is backlog."""
    least_likeness: float = Field(default=0.18, gt=0.0, le=1.0)
    """Weighted share of terms from which two entries have a thread in common."""
    most_likeness: float = Field(default=0.45, gt=0.0, le=1.0)
    """Weighted share of terms up to which they are more than two wordings of one thing."""
    kept_for: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """How long a hypothesis waits for a decision before it goes stale."""
    stale_after: timedelta = Field(default=timedelta(days=180), gt=timedelta(0))
    """How long after it was last said or confirmed `reflect` lists a fact as stale."""

    @property
    def asks_model(self) -> bool:
        """Whether a model words and weighs where there is one."""
        return self.narrator is Narrator.MODEL

    @property
    def shown(self) -> int:
        """Pairs that a model is shown in one call."""
        return 2 * self.max_outputs


class ClaimOptions(Options):
    """Through which gates claims become facts."""

    section: ClassVar[str] = "dreaming.claims"
    """What its fields are called after in errors."""

    rules: Path | None = None
    """A TOML file with a table per predicate, put over the rows that are shipped."""
    max_entries: int = Field(default=60, ge=1)
    """New or changed entries from which one run of the pass takes claims; the rest is backlog."""
