"""What goes to MEMORY.md, and how it is kept."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from agentcore.domain.memory import Trust
from agentcore.errors import InvalidOptionsError
from agentcore.hosting.options import Options


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
    least_trust: Trust = Trust.INFERRED
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
    prompt: str | None = Field(default=None, min_length=1)
    """What the model is told instead of the directive `memory-md`; the form of the answer is told in any case."""
