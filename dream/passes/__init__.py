"""The passes, and the one table of their order."""

from dataclasses import dataclass

from dream.passes.document_consolidation import DocumentConsolidation
from dream.passes.episodes import EpisodeExtraction
from dream.passes.exact_fold import ExactFold
from dream.passes.fact_mining import FactMining
from dream.passes.importance_decay import ImportanceDecay
from dream.passes.log_consumption import LogConsumption
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.passes.near_duplicates import NearDuplicates
from dream.passes.preferences import PreferenceInference
from dream.passes.promotion import PromotionPass
from dream.passes.protocol import DreamContext, DreamPass, ModelContext, ModelPass
from dream.passes.rem import Rem
from dream.passes.retention import Retention
from dream.passes.skill_consolidation import SkillConsolidation
from dream.passes.skill_gaps import SkillGaps
from dream.passes.skill_optimization import SkillOptimization
from dream.passes.wisp_failures import WispFailures


@dataclass(frozen=True, slots=True)
class Place:
    """A pass, and why it stands where it stands."""

    dream_pass: DreamPass | ModelPass
    why: str


ORDER: tuple[Place, ...] = (
    Place(Retention(), "first, so that nobody works on what is about to go"),
    Place(ExactFold(), "before every search and every model, which would pay for each copy again"),
    Place(NearDuplicates(), "after the fold, so that equal texts do not crowd out the similar ones"),
    Place(ImportanceDecay(), "after the fold, whose merged last-seen dates it counts"),
    Place(FactMining(), "before the passes that judge entries, so that what was just said is among them"),
    Place(
        MemoryConsolidation(),
        "after mining, so that it judges what was just said; after the fold, which spares it copies",
    ),
    Place(EpisodeExtraction(), "before anything that consumes the log; after consolidation, which judges facts alone"),
    Place(SkillGaps(), "before the other passes on skills, which look at what it writes"),
    Place(SkillConsolidation(), "after the gaps, so that a new skill that overlaps an old one is merged at once"),
    Place(SkillOptimization(), "after consolidation, so that what fails is improved where it will stay"),
    Place(PreferenceInference(), "after all that writes down what was said, so that it infers only what was not"),
    Place(WispFailures(), "after the passes that rewrite skills, so that it annotates what stays"),
    Place(LogConsumption(), "after every pass that reads the log, so that it sees what each of them has read"),
    Place(PromotionPass(), "after all that changes entries, so that what it writes down is as they now are"),
    Place(Rem(), "after promotion, so that the diary tells the day in its order"),
    Place(DocumentConsolidation(), "last, so that it tidies what was just promoted with the rest"),
)
"""The order of a run; adding a pass is one line here."""

__all__ = ["ORDER", "DreamContext", "DreamPass", "ModelContext", "ModelPass", "Place"]
