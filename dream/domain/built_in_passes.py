"""Declares the built-in passes, in the order of a run.

It stands below the options, the directives and the passes themselves, which all ask here; adding a pass is one
declaration in this table, and the class that it names.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentcore.domain.capability import Capability
from dream.domain.concluding_passes import CARD_REFRESH, DEDUCTION, INDUCTION
from dream.domain.declaration import Declaration, DeclaredDirective, PassMode, Preset, Reads
from dream.domain.guessing_passes import CLAIMS, HYPOTHESES, RE_EVALUATE, REFLECT
from dream.domain.rounds import RoundKind
from dream.domain.verification import SECOND_READING as _VERIFY

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEMORY: Final = frozenset({Capability.MEMORY})
_TOLD_MEMORY: Final = _MEMORY | {Capability.CONVERSATION, Capability.LLM}
_SKILLS: Final = frozenset({Capability.SKILLS, Capability.LLM})
_DOCUMENTS: Final = _MEMORY | {Capability.WORKSPACE}

_NO_SUMMARIES: Final[Mapping[Preset, PassMode]] = MappingProxyType(
    dict.fromkeys((Preset.PEER, Preset.REVIEWED, Preset.IDLE), PassMode.OFF)
)
"""Of a pass that retells conversations, which systems that keep facts alone have no counterpart of."""
_NOT_FOR_PROMOTION: Final[Mapping[Preset, PassMode]] = MappingProxyType({Preset.PROMOTION: PassMode.OFF})
"""Of a pass without a model that the sweep of nexo-rs has no counterpart of."""

_MEMORY_RULES: Final = DeclaredDirective(
    "memory-rules", "What a memory is and how one is written; it stands before the others."
)

_VERIFIED: Final = (RoundKind.VERIFICATION, RoundKind.REPAIR, RoundKind.VERIFICATION)
"""The rounds of an exchange whose texts are verified."""

RETENTION: Final = Declaration(
    name="retention",
    purges=True,
    never_waits=True,
    options="retention",
    notes=(
        "entries",
        "turns",
        "skill_uses",
        "feedbacks",
        "wisp_runs",
        "tool_calls",
        "history_rows",
        "feed_rows",
        "refused_texts",
        "expired_proposals",
        "unread_turns_dropped",
        "clock_leapt",
    ),
    home="retention:Retention",
    why="first, so that nobody works on what is about to go",
)

EXACT_FOLD: Final = Declaration(
    name="exact-fold",
    requires=_MEMORY,
    presets=_NOT_FOR_PROMOTION,
    notes=("compared", "folded"),
    home="exact_fold:ExactFold",
    why="before every search and every model, which would pay for each copy again",
)

NEAR_DUPLICATES: Final = Declaration(
    name="near-duplicates",
    requires=_MEMORY,
    presets=_NOT_FOR_PROMOTION,
    options="near_duplicates",
    notes=("compared", "clusters"),
    home="near_duplicates:NearDuplicates",
    why="after the fold, so that equal texts do not crowd out the similar ones",
)

IMPORTANCE_DECAY: Final = Declaration(
    name="importance-decay",
    requires=_MEMORY,
    notes=("entries", "faded", "at_floor", "disabled"),
    home="importance_decay:ImportanceDecay",
    why="after the fold, whose merged last-seen dates it counts",
)

FACT_MINING: Final = Declaration(
    name="fact-mining",
    requires=_TOLD_MEMORY,
    reads=Reads.TURNS,
    directives=(
        _MEMORY_RULES,
        DeclaredDirective(
            "memory-mining",
            "Which facts of a conversation are worth keeping, and what proves them.",
            ("content", "sourceTurns"),
        ),
        _VERIFY,
    ),
    options="mining",
    notes=(
        "turns",
        "sessions",
        "facts_found",
        "new",
        "reinforced",
        "known",
        "categories_repaired",
        "subject_times_dropped",
        "verbatim",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    ),
    rounds=_VERIFIED,
    home="fact_mining:FactMining",
    why="before the passes that judge entries, so that what was just said is among them",
)

MEMORY_CONSOLIDATION: Final = Declaration(
    name="memory-consolidation",
    requires=_MEMORY | {Capability.LLM},
    side_readers=MappingProxyType({"feedback": Reads.FEEDBACK}),
    categories=("anti-patterns",),
    directives=(
        _MEMORY_RULES,
        DeclaredDirective(
            "dream",
            "Which memories to merge, supersede, refile, re-weigh and retire, and what to learn from corrections.",
            ("toDelete", "toSave", "sourceIds", "content", "category"),
        ),
        _VERIFY,
    ),
    options="consolidation",
    notes=(
        "reviewed",
        "merged",
        "into",
        "rewritten",
        "superseded",
        "dropped",
        "learned",
        "declined",
        "repairs",
        "repaired",
        "read_again",
        "denied",
        "questions",
    ),
    reviews_entries=True,
    rounds=_VERIFIED,
    home="memory_consolidation:MemoryConsolidation",
    why="after the readers, so that it judges what was just said; after the fold, which spares it copies",
)

EPISODE_EXTRACTION: Final = Declaration(
    name="episodes",
    requires=_TOLD_MEMORY,
    reads=Reads.TURNS,
    categories=("episodes",),
    directives=(
        _MEMORY_RULES,
        DeclaredDirective(
            "episode-dream",
            "Which events of a conversation are worth telling, and when one is met again.",
            ("content", "eventType", "existing", "sourceTurns"),
        ),
        _VERIFY,
    ),
    presets=_NO_SUMMARIES,
    options="episodes",
    notes=(
        "turns",
        "sessions",
        "episodes_found",
        "new",
        "reinforced",
        "known",
        "types_repaired",
        "actors_repaired",
        "subject_times_dropped",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    ),
    rounds=_VERIFIED,
    home="episodes:EpisodeExtraction",
    why="before anything that consumes the log; beside fact mining, with which it shares its question",
)

SKILL_GAPS: Final = Declaration(
    name="skill-gaps",
    requires=_SKILLS | {Capability.CONVERSATION},
    reads=Reads.TURNS,
    directives=(
        DeclaredDirective(
            "skill-gap",
            "When requests that recur call for a new skill, and how it is written.",
            ("name", "summary", "content", "sourceTurns"),
        ),
        _VERIFY,
    ),
    options="skill_gaps",
    notes=("turns", "sessions", "written", "repairs", "repaired"),
    rounds=_VERIFIED,
    home="skills.gaps:SkillGaps",
    why="before the other passes on skills, which look at what it writes",
)

SKILL_CONSOLIDATION: Final = Declaration(
    name="skill-consolidation",
    requires=_SKILLS,
    reads=Reads.SKILLS,
    directives=(
        DeclaredDirective(
            "skill-dream",
            "Which skills to merge, link, guide to and prune, and what must not be lost.",
            ("toDelete", "toSave", "name", "summary", "content", "sourceNames", "seeAlso", "replacedBy"),
        ),
        _VERIFY,
    ),
    options="skill_consolidation",
    notes=("reviewed", "retired", "rewritten", "guides"),
    rounds=_VERIFIED,
    home="skills.consolidation:SkillConsolidation",
    why="after the gaps, so that a new skill that overlaps an old one is merged at once",
)

SKILL_OPTIMIZATION: Final = Declaration(
    name="skill-optimization",
    requires=_SKILLS | {Capability.FEEDBACK},
    reads=Reads.SKILLS,
    directives=(
        DeclaredDirective(
            "skill-optimize",
            "How a skill that fails, or says too little, is improved.",
            ("toSave", "name", "summary", "content", "sourceNames"),
        ),
        _VERIFY,
    ),
    options="skill_optimization",
    notes=("at_risk", "sparse", "rewritten", "reverted"),
    rounds=_VERIFIED,
    home="skills.optimization:SkillOptimization",
    why="after consolidation, so that what fails is improved where it will stay",
)

PREFERENCE_INFERENCE: Final = Declaration(
    name="preferences",
    requires=_TOLD_MEMORY,
    reads=Reads.TURNS,
    categories=("user-preferences/inferred",),
    directives=(
        _MEMORY_RULES,
        DeclaredDirective(
            "pref-dream",
            "What users show that they want, how strongly, and what a new preference contradicts.",
            ("content", "sentiment", "existing", "supersedes", "sourceIds", "quote"),
        ),
        _VERIFY,
    ),
    options="preferences",
    notes=(
        "turns",
        "sessions",
        "preferences_found",
        "new",
        "reinforced",
        "superseded",
        "known",
        "need_permission",
        "questions",
        "repairs",
        "repaired",
        "read_again",
        "denied",
    ),
    rounds=_VERIFIED,
    home="preferences:PreferenceInference",
    why="after all that writes down what was said, so that it infers only what was not",
)

WISP_FAILURES: Final = Declaration(
    name="wisp-failures",
    requires=_SKILLS | {Capability.WISPS},
    directives=(
        DeclaredDirective(
            "wisp-failure-dream",
            "Why wisps keep failing, and what the skills behind them are to be told.",
            ("patterns", "classification", "skillUpdates", "pattern", "skill", "annotation"),
        ),
        _VERIFY,
    ),
    options="wisp_failures",
    # A person approves each skill that would be stored.
    when_proposing=MappingProxyType({"promotion": "store"}),
    notes=("patterns", "annotated", "promotion_candidates"),
    rounds=(),
    home="wisp_failures:WispFailures",
    why="after the passes that rewrite skills, so that it annotates what stays",
)

LOG_CONSUMPTION: Final = Declaration(
    name="log-consumption",
    requires=frozenset({Capability.CONVERSATION}),
    reads=Reads.LOG,
    never_waits=True,
    options="log",
    notes=("consumed", "waiting", "given_up"),
    home="log_consumption:LogConsumption",
    why="after every pass that reads the log, so that it sees what each of them has read",
)

PROMOTION: Final = Declaration(
    name="promotion",
    requires=_DOCUMENTS,
    options="promotion",
    notes=("scanned", "promoted", "already_said", "skipped", "score_range", "documents", "commit"),
    home="promotion:PromotionPass",
    why="after all that changes entries, so that what it writes down is as they now are",
)

REM: Final = Declaration(
    name="rem",
    requires=_DOCUMENTS,
    reads=Reads.NOTHING,
    directives=(
        DeclaredDirective(
            "rem",
            "What entries that were recalled lately have in common, for the diary.",
            ("themes", "text", "sourceIds"),
        ),
    ),
    presets=_NOT_FOR_PROMOTION,
    options="rem",
    notes=("recalled", "themes", "truths", "left_out", "documents", "commit"),
    rounds=(),
    home="rem:Rem",
    why="after promotion, so that the diary tells the day in its order",
)

DOCUMENT_CONSOLIDATION: Final = Declaration(
    name="document-consolidation",
    requires=_DOCUMENTS | {Capability.LLM},
    directives=(
        DeclaredDirective(
            "memory-md",
            "Which items of MEMORY.md to merge, reword, archive, move and bring together.",
            ("edits", "op", "items", "text", "target"),
        ),
        _VERIFY,
    ),
    # The system of that preset lives in MEMORY.md: a dream tidies what stands there.
    presets=MappingProxyType({Preset.IDLE: PassMode.APPLY}),
    options="documents",
    notes=(
        "items",
        "kept",
        "unmentioned",
        "merged",
        "into",
        "rewritten",
        "archived",
        "moved",
        "added",
        "left_alone",
        "documents",
        "commit",
    ),
    rounds=_VERIFIED,
    home="document_consolidation:DocumentConsolidation",
    why="last, so that it tidies what was just promoted with the rest",
)

BUILT_IN: Final = (
    RETENTION,
    EXACT_FOLD,
    NEAR_DUPLICATES,
    IMPORTANCE_DECAY,
    FACT_MINING,
    EPISODE_EXTRACTION,
    SKILL_GAPS,
    PREFERENCE_INFERENCE,
    MEMORY_CONSOLIDATION,
    DEDUCTION,
    INDUCTION,
    CLAIMS,
    SKILL_CONSOLIDATION,
    SKILL_OPTIMIZATION,
    WISP_FAILURES,
    LOG_CONSUMPTION,
    REFLECT,
    RE_EVALUATE,
    HYPOTHESES,
    PROMOTION,
    REM,
    DOCUMENT_CONSOLIDATION,
)
"""The passes in the order of a run."""

SESSION_EVALUATION: Final = Declaration(
    name="session-evaluator",
    requires=frozenset({Capability.CONVERSATION, Capability.FEEDBACK, Capability.LLM}),
    directives=(
        DeclaredDirective(
            "session-evaluator",
            "How a conversation that has come to rest is summed up and rated.",
            ("rating", "summary"),
        ),
    ),
    presets=_NO_SUMMARIES,
    options="sessions",
)
"""The service that sums conversations up: no pass of a run, but options switch it off and replace its directive."""

VERIFICATION: Final = Declaration(
    name="entry-verification",
    requires=_MEMORY,
    reads=Reads.NOTHING,
    directives=(_VERIFY,),
    notes=("entries", "without_evidence", "proven", "verified", "archived", "unread", "listed"),
    rounds=(RoundKind.VERIFICATION,),
    home="verification:Verification",
    why="alone, when a person asks for it",
)
"""The pass that `verify_existing` runs: no part of a dream."""

ON_REQUEST: Final = (VERIFICATION, CARD_REFRESH)
"""Passes that are no part of a dream: a run of its own, of which no preset says anything."""

DECLARED: Final = MappingProxyType({one.name: one for one in (*BUILT_IN, SESSION_EVALUATION, *ON_REQUEST)})
"""All of them by name."""
