"""Defines the options of the built-in passes."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from agentcore.domain.memory import Trust
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
    """Skill uses, feedback, wisp runs and tool calls are dropped this long after they were stored."""
    max_signals: int = Field(default=50_000, ge=1)
    """So many of each signal are kept at most."""
    history: timedelta = Field(default=timedelta(days=90), gt=timedelta(0))
    """Runs, their journal, stored answers and plans are dropped this long after they ended."""
    refused: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Texts that a dream refused are dropped this long after that, or with their run."""
    leap: timedelta = Field(default=timedelta(days=45), gt=timedelta(0))
    """A dream that comes longer than this after the one before removes nothing: its clock may have leapt."""


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


class NearDuplicateOptions(Options):
    """How the search for near-duplicates is bounded."""

    section: ClassVar[str] = "dreaming.near_duplicates"
    """What its fields are called after in errors."""

    max_entries: int = Field(default=20_000, ge=1)
    """New or changed entries looked at in one run, the rest is backlog; in a scope of more than 100,000 entries as many
    times fewer as it has more."""
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


class ReadingOptions(Options):
    """How the passes that read conversations share their questions."""

    section: ClassVar[str] = "dreaming.reading"
    """What its fields are called after in errors."""

    together: bool = True
    """Whether facts, episodes, preferences and missing skills of the same new turns are asked for in one question."""
    batch_turns: int = Field(default=120, ge=1, le=500)
    """New turns in such a question at most; fewer where an answer would not have room for what they hold."""
    whole_turns: bool = False
    """Whether an assistant's long turns stand in it whole, instead of the parts that people may refer to."""
    wait_turns: int = Field(default=0, ge=0, le=10_000)
    """Dreams that start by themselves leave new turns unread until so many are there; 0 to read whatever is new."""
    wait_within: timedelta = Field(default=timedelta(hours=24), gt=timedelta(0))
    """Turns are left unread for so long at most after the oldest of them was stored."""


class ConsolidationOptions(Options):
    """How the model merges and retires entries."""

    section: ClassVar[str] = "dreaming.consolidation"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"share_cap_least": "share_cap_min"}

    max_entries: int = Field(default=1_000, ge=2)
    """New or changed entries reviewed in one run; the rest is backlog."""
    neighbours: int = Field(default=4, ge=0, le=20)
    """Lexical neighbours shown beside each of them."""
    threshold: float = Field(default=0.2, gt=0.0, le=1.0)
    """Weighted Jaccard similarity from which an entry is a neighbour."""
    batch_entries: int = Field(default=150, ge=2, le=200)
    """Entries in one call at most."""
    repairs: int = Field(default=10, ge=0)
    """Repair calls in one run at most, for merges that lost or invented something."""
    share_cap: float = Field(default=0.2, ge=0.0, le=1.0)
    """Share of the active entries that may be retired in any 24 hours."""
    share_cap_min: int = Field(default=10, ge=0)
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


class InferenceOptions(Options):
    """How conclusions are drawn from what is known."""

    section: ClassVar[str] = "dreaming.inference"
    """What its fields are called after in errors."""

    max_entries: int = Field(default=200, ge=2)
    """New entries looked at in one run by each of the two passes; the rest is backlog."""
    batch_entries: int = Field(default=60, ge=2, le=200)
    """New entries in one question at most."""
    neighbours: int = Field(default=3, ge=0, le=20)
    """Entries like a new one that are shown beside it."""
    threshold: float = Field(default=0.15, gt=0.0, le=1.0)
    """Weighted Jaccard similarity from which an entry is one of these."""
    card: bool = True
    """Whether the deduction edits the peer card."""
    card_rebuild: bool = False
    """Whether a refresh of the card writes it anew from what was said, instead of looking at it again."""


class EpisodeOptions(Options):
    """How episodes are found in conversations."""

    section: ClassVar[str] = "dreaming.episodes"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"beside": "context_entries"}

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    overlap_turns: int = Field(default=4, ge=0, le=50)
    """Turns before the new ones that are shown again, for what they refer to."""
    window: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Known episodes last met within this time may be shown beside new turns."""
    context_entries: int = Field(default=12, ge=0, le=100)
    """So many of them at most, the nearest first."""


class PreferenceOptions(Options):
    """How preferences are inferred."""

    section: ClassVar[str] = "dreaming.preferences"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"beside": "context_entries"}

    max_turns: int = Field(default=2_000, ge=1)
    """New turns read in one run; the rest is backlog."""
    overlap_turns: int = Field(default=4, ge=0, le=50)
    """Turns before the new ones that are shown again, for what they refer to."""
    window: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Earlier turns and feedback of this time count as occasions, and feedback since the oldest turn that is shown."""
    max_feedback: int = Field(default=50, ge=0)
    """The newest so many signals of it are shown."""
    context_entries: int = Field(default=12, ge=0, le=100)
    """Known preferences and earlier turns like the new ones shown beside them, so many of each at most.

    The newest earlier turns fill what room is left, unless this is 0.
    """
    when_irritated: int = Field(default=1, ge=1)
    """Occasions that a preference takes which was voiced with great irritation."""
    when_frustrated: int = Field(default=2, ge=1)
    """Occasions that one takes which was voiced with mild frustration."""
    when_casual: int = Field(default=3, ge=1)
    """Occasions that any other one takes."""


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
    renamed: ClassVar[Mapping[str, str]] = {"least_uses": "min_uses"}

    max_skills: int = Field(default=200, ge=1)
    """Skills reviewed in one run; the rest is backlog."""
    failure_window: timedelta = Field(default=timedelta(days=30), gt=timedelta(0))
    """Signals of failure of this time count."""
    max_failures: int = Field(default=10, ge=1)
    """The newest so many signals are shown with a skill."""
    min_uses: int = Field(default=5, ge=1)
    """A rewrite is judged when the skill was used so often before it and after it."""


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
    renamed: ClassVar[Mapping[str, str]] = {"least_failures": "min_failures", "least_successes": "min_successes"}

    window: timedelta = Field(default=timedelta(days=14), gt=timedelta(0))
    """Wisp runs of this time count."""
    max_runs: int = Field(default=5_000, ge=1)
    """The newest so many of them."""
    min_failures: int = Field(default=3, ge=1)
    """Failures from which there is a pattern."""
    samples: int = Field(default=5, ge=1)
    """The newest failures of a pattern shown to the model."""
    max_patterns: int = Field(default=100, ge=1)
    """Patterns asked about in one run; the rest is backlog."""
    review_after: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """A pattern that did not fail again is looked at again after this."""
    min_successes: int = Field(default=5, ge=1)
    """Successes from which a wisp may be promoted."""
    success_share: float = Field(default=0.8, ge=0.0, lt=1.0)
    """It must succeed in more than this share of its runs."""
    promotion: PromotionPolicy = PromotionPolicy.LIST
    """What becomes of it: `list` or `store`."""


class ScorerName(StrEnum):
    """Who says how much an entry was needed."""

    NEXO = "nexo"
    """Five components; frequency is full at 6 hits."""
    OPENCLAW = "openclaw"
    """Six components; frequency is full at 10 hits."""


_COMPONENTS = frozenset({"frequency", "relevance", "recency", "diversity", "consolidation", "concepts"})


class PromotionOptions(Options):
    """Which entries go to MEMORY.md: those that recall proved useful."""

    section: ClassVar[str] = "dreaming.promotion"
    """What its fields are called after in errors."""
    renamed: ClassVar[Mapping[str, str]] = {"least_trust": "min_trust"}

    scorer: ScorerName = ScorerName.NEXO
    """How signals become a score: `nexo` or `openclaw`."""
    weights: Mapping[str, float] = Field(default_factory=dict)
    """What components count, by name, where that is not as the scorer says."""
    min_score: float = Field(default=0.35, ge=0.0, le=1.0)
    """An entry must score so much."""
    min_recall_count: int = Field(default=3, ge=1)
    """It must have been recalled so often."""
    min_unique_queries: int = Field(default=2, ge=1)
    """By so many different queries, compared but for case, spacing and their end."""
    min_unique_days: int = Field(default=1, ge=1)
    """On so many days."""
    max_per_sweep: int = Field(default=20, ge=0)
    """So many are promoted in one sweep, the best first; 0 promotes none."""
    interval: timedelta = Field(default=timedelta(hours=24), ge=timedelta(0))
    """Runs within so long of a promotion belong to its sweep: they add to it only what it left of its number."""
    half_life: timedelta = Field(default=timedelta(days=90))
    """Time in which recency halves; zero or less lets it count nothing (`nexo` alone)."""
    min_trust: Trust = Trust.INFERRED
    """Entries trusted less are never promoted."""
    never: tuple[str, ...] = ("reports", "dreams")
    """Categories, with everything below, that are never promoted: what dreams and jobs reported."""
    likeness: float = Field(default=0.8, gt=0.0, le=1.0)
    """An entry that shares so much of its words with an item of MEMORY.md, and says no more, stands there already."""
    zone: str = "UTC"
    """Whose days count, and whose time stands in headings: a name of the IANA time zone database."""
    glossary: tuple[str, ...] = ()
    """Terms that count before all others among an entry's concepts, of one word or more (`openclaw` and `rem`)."""

    @field_validator("weights")
    @classmethod
    def _name_components(cls, weights: Mapping[str, float]) -> Mapping[str, float]:
        for name, weight in weights.items():
            if name not in _COMPONENTS or not 0.0 <= weight <= 1.0:
                allowed = f"give numbers from 0 to 1 for any of {', '.join(sorted(_COMPONENTS))}"
                raise InvalidOptionsError(field=f"{cls.section}.weights[{name!r}]", value=weight, allowed=allowed)
        return weights

    @model_validator(mode="after")
    def _weigh_what_the_scorer_has(self) -> Self:
        if self.scorer is ScorerName.NEXO and "concepts" in self.weights:
            allowed = "nexo counts no concepts; leave that weight out, or take the scorer openclaw"
            raise InvalidOptionsError(field=f"{self.section}.weights", value=dict(self.weights), allowed=allowed)
        return self

    @field_validator("zone")
    @classmethod
    def _exist(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            allowed = "name a time zone such as Europe/Lisbon"
            raise InvalidOptionsError(field=f"{cls.section}.zone", value=name, allowed=allowed) from None
        return name


class DocumentOptions(Options):
    """How the documents of the workspace are kept."""

    section: ClassVar[str] = "dreaming.documents"
    """What its fields are called after in errors."""

    size_cap: int = Field(default=20_000, ge=1_000)
    """Characters of MEMORY.md beyond which the oldest items that dreams wrote move to memory-archive.md."""
    protect_user_text: bool = True
    """Whether items of MEMORY.md that people wrote are changed only where changes wait for approval."""
    protected_headings: tuple[str, ...] = ("keep", "pinned")
    """Headings of MEMORY.md, in whatever case, below which no model changes anything."""
    loss_limit: float = Field(default=0.25, ge=0.0, le=1.0)
    """Share of the items shown that an answer may archive; one that would archive more is refused whole."""
    change_limit: float = Field(default=0.5, ge=0.0, le=1.0)
    """Share of them that it may archive, merge away or reword together; one that would change more is refused whole."""
    share_cap: float = Field(default=0.25, ge=0.0, le=1.0)
    """Share of the items of MEMORY.md that dreams may archive, merge, reword or add in any 24 hours."""
    share_cap_min: int = Field(default=3, ge=0)
    """So many items they may change in any case, however short the page is."""
    prompt: str | None = Field(default=None, min_length=1)
    """What the model is told instead of the directive `memory-md`; the form of the answer is told in any case."""


class Narrator(StrEnum):
    """Who finds the themes of a thematic summary."""

    MODEL = "model"
    """The model, in one call a day at most; arithmetic where there is no model."""
    ARITHMETIC = "arithmetic"
    """Arithmetic alone: concepts that many of the recalled entries share."""


class RemOptions(Options):
    """How the diary tells what recall keeps coming back to."""

    section: ClassVar[str] = "dreaming.rem"
    """What its fields are called after in errors."""

    narrator: Narrator = Narrator.MODEL
    """Who finds the themes: `model` (one call a day at most, none without a model) or `arithmetic`."""
    lookback: timedelta = Field(default=timedelta(days=7), gt=timedelta(0))
    """Entries recalled within so long are looked at."""
    limit: int = Field(default=10, ge=0)
    """So many themes are told at most; 0 tells nothing, and asks nobody."""
    min_pattern_strength: float = Field(default=0.75, ge=0.0, le=1.0)
    """Twice the share of entries that a concept must have to be a theme (arithmetic alone)."""
    max_entries: int = Field(default=60, ge=2, le=500)
    """So many entries are looked at or shown to the model, first those that no summary told, then the most recalled."""
