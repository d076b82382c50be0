"""What a host may tune of its dreams."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options
from dream.options.asking import ModelOptions
from dream.options.failures import PromotionPolicy, WispFailureOptions
from dream.options.keeping import RetentionOptions
from dream.options.log import ConsumptionPolicy, LogOptions, SessionOptions
from dream.options.memories import (
    ConsolidationOptions,
    EpisodeOptions,
    MiningOptions,
    NearDuplicateOptions,
    PreferenceOptions,
)
from dream.options.promotion import DocumentOptions, PromotionOptions, ScorerName
from dream.options.skills import SkillConsolidationOptions, SkillGapOptions, SkillOptimizationOptions

__all__ = [
    "ConsolidationOptions",
    "ConsumptionPolicy",
    "DocumentOptions",
    "DreamOptions",
    "EpisodeOptions",
    "LogOptions",
    "MiningOptions",
    "ModelOptions",
    "NearDuplicateOptions",
    "PreferenceOptions",
    "PromotionOptions",
    "PromotionPolicy",
    "RetentionOptions",
    "ScorerName",
    "SessionOptions",
    "SkillConsolidationOptions",
    "SkillGapOptions",
    "SkillOptimizationOptions",
    "WispFailureOptions",
]


class DreamOptions(Options):
    """Everything a host may tune of its dreams; frozen, validated when the host is built.

    Example:
        >>> DreamOptions(near_duplicates=NearDuplicateOptions(threshold=0.6)).near_duplicates.threshold
        0.6
    """

    section: ClassVar[str] = "dreaming"
    """What its fields are called after in errors."""

    disabled: frozenset[str] = frozenset()
    """Names of passes that are switched off; `session-evaluator` is the service that sums conversations up."""
    protected_categories: tuple[str, ...] = ("active-plans",)
    """Categories (with everything below) that no pass changes."""
    retention: RetentionOptions = Field(default_factory=RetentionOptions)
    """How long things are kept."""
    near_duplicates: NearDuplicateOptions = Field(default_factory=NearDuplicateOptions)
    """How the search for near-duplicates is bounded."""
    model: ModelOptions = Field(default_factory=ModelOptions)
    """What dreams may ask of the model."""
    mining: MiningOptions = Field(default_factory=MiningOptions)
    """How facts are mined from conversations."""
    consolidation: ConsolidationOptions = Field(default_factory=ConsolidationOptions)
    """How the model merges and retires entries."""
    episodes: EpisodeOptions = Field(default_factory=EpisodeOptions)
    """How episodes are found in conversations."""
    preferences: PreferenceOptions = Field(default_factory=PreferenceOptions)
    """How preferences are inferred."""
    skill_gaps: SkillGapOptions = Field(default_factory=SkillGapOptions)
    """How recurring requests become skills."""
    skill_consolidation: SkillConsolidationOptions = Field(default_factory=SkillConsolidationOptions)
    """How skills are merged, linked and retired."""
    skill_optimization: SkillOptimizationOptions = Field(default_factory=SkillOptimizationOptions)
    """How skills that fail are rewritten."""
    wisp_failures: WispFailureOptions = Field(default_factory=WispFailureOptions)
    """How failed wisps teach skills."""
    sessions: SessionOptions = Field(default_factory=SessionOptions)
    """How conversations at rest are evaluated."""
    log: LogOptions = Field(default_factory=LogOptions)
    """When turns are consumed."""
    promotion: PromotionOptions = Field(default_factory=PromotionOptions)
    """Which entries go to MEMORY.md."""
    documents: DocumentOptions = Field(default_factory=DocumentOptions)
    """How the documents of the workspace are kept."""
    directives: Mapping[str, str] = Field(default_factory=dict)
    """Paths of directives by name, relative to the data directory; `directives/NAME.md` by default."""
    alarm_after: int = Field(default=3, ge=1)
    """Runs in a row that failed or, with work waiting, changed nothing, after which the host is told."""
    step_size: int = Field(default=250, ge=2, le=500)
    """Deterministic changes per transaction at most; a fold takes two."""
    resume_within: timedelta = Field(default=timedelta(hours=24), gt=timedelta(0))
    """An interrupted run younger than this is resumed; an older one is closed as partial."""
    lease: timedelta = Field(default=timedelta(seconds=60), ge=timedelta(seconds=3))
    """How long a silent holder keeps the right to dream; it is renewed six times as often."""

    @field_validator("directives")
    @classmethod
    def _stay_in_the_data_directory(cls, paths: Mapping[str, str]) -> Mapping[str, str]:
        for name, path in paths.items():
            parts = Path(path).parts
            if not parts or Path(path).anchor or ".." in parts or not path.isprintable():
                remedy = f"name a file inside the data directory, such as directives/{name}.md"
                raise InvalidOptionsError(field=f"{cls.section}.directives[{name!r}]", value=path, allowed=remedy)
        return paths
