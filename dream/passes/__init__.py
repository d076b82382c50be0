"""The passes, and the one table of their order."""

from importlib import import_module

from agentcore.domain.capability import Capability
from dream.passes.protocol import DreamContext, DreamPass, ModelContext, ModelPass


class Place:
    """A pass, and why it stands where it stands.

    Args:
        dream_pass: The pass.
        why: Why it stands there.
    """

    name: str
    requires: frozenset[Capability]
    why: str

    def __init__(self, dream_pass: DreamPass | ModelPass, why: str) -> None:
        self.name, self.requires, self.why = dream_pass.name, dream_pass.requires, why
        self._pass = dream_pass

    @property
    def dream_pass(self) -> DreamPass | ModelPass:
        """The pass."""
        return self._pass

    @property
    def is_imported(self) -> bool:
        """Whether to ask for the pass imports nothing, so that it may be done on an event loop."""
        return True


class _BuiltIn(Place):
    """The place of a pass of this package, which is imported when it first has to do something.

    With its guards and libraries an import takes up to a tenth of a second: first ask for the pass on a thread. Its
    name and what it requires stand in the table as well, so that a host that only looks imports no pass.

    Args:
        home: Its module, below this package, and its class.
        name: Its name.
        requires: The capabilities that it requires, separated by spaces.
        why: Why it stands there.
    """

    def __init__(self, home: str, name: str, requires: str, why: str) -> None:
        self.name, self.requires, self.why = name, frozenset(map(Capability, requires.split())), why
        self._home = home
        self._made: DreamPass | ModelPass | None = None

    @property
    def dream_pass(self) -> DreamPass | ModelPass:
        """The pass."""
        made = self._made
        if made is None:
            module, _, kind = self._home.partition(":")
            made = self._made = getattr(import_module(f"{__name__}.{module}"), kind)()
        return made

    @property
    def is_imported(self) -> bool:
        """Whether to ask for the pass imports nothing, so that it may be done on an event loop."""
        return self._made is not None


ORDER: tuple[Place, ...] = (
    _BuiltIn("retention:Retention", "retention", "", "first, so that nobody works on what is about to go"),
    _BuiltIn(
        "exact_fold:ExactFold",
        "exact-fold",
        "memory",
        "before every search and every model, which would pay for each copy again",
    ),
    _BuiltIn(
        "near_duplicates:NearDuplicates",
        "near-duplicates",
        "memory",
        "after the fold, so that equal texts do not crowd out the similar ones",
    ),
    _BuiltIn(
        "importance_decay:ImportanceDecay",
        "importance-decay",
        "memory",
        "after the fold, whose merged last-seen dates it counts",
    ),
    _BuiltIn(
        "fact_mining:FactMining",
        "fact-mining",
        "conversation llm memory",
        "before the passes that judge entries, so that what was just said is among them",
    ),
    _BuiltIn(
        "memory_consolidation:MemoryConsolidation",
        "memory-consolidation",
        "llm memory",
        "after mining, so that it judges what was just said; after the fold, which spares it copies",
    ),
    _BuiltIn(
        "episodes:EpisodeExtraction",
        "episodes",
        "conversation llm memory",
        "before anything that consumes the log; after consolidation, which judges facts alone",
    ),
    _BuiltIn(
        "skills.gaps:SkillGaps",
        "skill-gaps",
        "conversation llm skills",
        "before the other passes on skills, which look at what it writes",
    ),
    _BuiltIn(
        "skills.consolidation:SkillConsolidation",
        "skill-consolidation",
        "llm skills",
        "after the gaps, so that a new skill that overlaps an old one is merged at once",
    ),
    _BuiltIn(
        "skills.optimization:SkillOptimization",
        "skill-optimization",
        "feedback llm skills",
        "after consolidation, so that what fails is improved where it will stay",
    ),
    _BuiltIn(
        "preferences:PreferenceInference",
        "preferences",
        "conversation llm memory",
        "after all that writes down what was said, so that it infers only what was not",
    ),
    _BuiltIn(
        "wisp_failures:WispFailures",
        "wisp-failures",
        "llm skills wisps",
        "after the passes that rewrite skills, so that it annotates what stays",
    ),
    _BuiltIn(
        "log_consumption:LogConsumption",
        "log-consumption",
        "conversation",
        "after every pass that reads the log, so that it sees what each of them has read",
    ),
    _BuiltIn(
        "promotion:PromotionPass",
        "promotion",
        "memory workspace",
        "after all that changes entries, so that what it writes down is as they now are",
    ),
    _BuiltIn("rem:Rem", "rem", "memory workspace", "after promotion, so that the diary tells the day in its order"),
    _BuiltIn(
        "document_consolidation:DocumentConsolidation",
        "document-consolidation",
        "llm memory workspace",
        "last, so that it tidies what was just promoted with the rest",
    ),
)
"""The order of a run; adding a pass is one line here."""

__all__ = ["ORDER", "DreamContext", "DreamPass", "ModelContext", "ModelPass", "Place"]
