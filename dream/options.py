"""What a host may tune of its dreams."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from agentcore.errors import InvalidOptionsError
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


class ModelOptions(Options):
    """What dreams may ask of the model."""

    section: ClassVar[str] = "dreaming.model"
    """What its fields are called after in errors."""

    calls_in_flight: int = Field(default=8, ge=1, le=64)
    """Calls made at once."""
    prompt_tokens: int = Field(default=6_000, ge=500)
    """The longest prompt, directives aside; what is more goes into another call."""
    answer_tokens: int = Field(default=4_000, ge=100)
    """The longest answer asked for."""
    tokens_per_run: int | None = Field(default=500_000, ge=0)
    """Tokens one run may cost, failed calls included; it ends as partial before it would cost more. None: no bound."""
    tokens_per_day: int | None = Field(default=2_000_000, ge=0)
    """Tokens all runs of a scope may cost in a day (UTC), failed calls included. None: no bound."""


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


class SessionOptions(Options):
    """How conversations at rest are evaluated."""

    section: ClassVar[str] = "dreaming.sessions"
    """What its fields are called after in errors."""

    idle: timedelta = Field(default=timedelta(minutes=30), gt=timedelta(0))
    """A conversation is at rest when nothing was said for so long."""
    every: timedelta = Field(default=timedelta(minutes=5), gt=timedelta(0))
    """How often it is looked for such conversations."""
    look_back: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Conversations that ended before that are left alone, imported ones too."""


class ConsumptionPolicy(StrEnum):
    """When a turn counts as consumed."""

    WHEN_CONSUMED = "when_consumed"
    """Once every enabled reader has read it."""
    AFTER_CYCLE = "after_cycle"
    """After the cycle in which any reader came to it, whatever became of that."""


class LogOptions(Options):
    """When turns of the conversation log are consumed."""

    section: ClassVar[str] = "dreaming.log"
    """What its fields are called after in errors."""

    policy: ConsumptionPolicy = ConsumptionPolicy.WHEN_CONSUMED
    """When a turn counts as consumed: `when_consumed` or `after_cycle`."""
    attempts: int = Field(default=5, ge=1)
    """A turn on which a reader failed in so many runs is consumed without it, and the report says so."""


class PromotionPolicy(StrEnum):
    """What becomes of wisps that keep succeeding."""

    LIST = "list"
    """The report names them."""
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
    model: ModelOptions = Field(default_factory=ModelOptions)
    """What dreams may ask of the model."""
    mining: MiningOptions = Field(default_factory=MiningOptions)
    """How facts are mined from conversations."""
    consolidation: ConsolidationOptions = Field(default_factory=ConsolidationOptions)
    """How the model merges and retires entries."""
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
