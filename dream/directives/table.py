"""Which directives there are: one line here and one file in `directives/` for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

FILE_SUFFIX: Final = ".md"


@dataclass(frozen=True, slots=True)
class Known:
    """A directive that passes send.

    Args:
        purpose: What it tells the model, for people who look for the right one.
        passes: Names of the passes that send it.
        relies_on: Words of the answer that those passes read; a text without them explains the answer badly.
        text: What a pass of the host's own brings; None where the text comes with dream.
    """

    purpose: str
    passes: tuple[str, ...]
    relies_on: tuple[str, ...] = ()
    text: str | None = None


KNOWN: Final[Mapping[str, Known]] = MappingProxyType(
    {
        "memory-rules": Known(
            "What a memory is and how one is written; it stands before the others.",
            ("fact-mining", "memory-consolidation", "episodes", "preferences"),
        ),
        "memory-mining": Known(
            "Which facts of a conversation are worth keeping, and what proves them.",
            ("fact-mining",),
            ("facts", "content", "category", "sourceTurns", "quote"),
        ),
        "dream": Known(
            "Which memories to merge, supersede, refile, re-weigh and retire, and what to learn from corrections.",
            ("memory-consolidation",),
            ("toDelete", "toSave", "sourceIds", "content", "category"),
        ),
        "skill-gap": Known(
            "When requests that recur call for a new skill, and how it is written.",
            ("skill-gaps",),
            ("toSave", "name", "summary", "content", "sourceTurns"),
        ),
        "skill-dream": Known(
            "Which skills to merge, link, guide to and prune, and what must not be lost.",
            ("skill-consolidation",),
            ("toDelete", "toSave", "name", "summary", "content", "sourceNames", "seeAlso", "replacedBy"),
        ),
        "skill-optimize": Known(
            "How a skill that fails, or says too little, is improved.",
            ("skill-optimization",),
            ("toSave", "name", "summary", "content", "sourceNames"),
        ),
        "episode-dream": Known(
            "Which events of a conversation are worth telling, and when one is met again.",
            ("episodes",),
            ("toSave", "content", "eventType", "existing", "sourceTurns", "quote"),
        ),
        "pref-dream": Known(
            "What users show that they want, how strongly, and what a new preference contradicts.",
            ("preferences",),
            ("toSave", "content", "sentiment", "existing", "supersedes", "sourceIds", "quote"),
        ),
        "wisp-failure-dream": Known(
            "Why wisps keep failing, and what the skills behind them are to be told.",
            ("wisp-failures",),
            ("patterns", "classification", "skillUpdates", "pattern", "skill", "annotation"),
        ),
        "rem": Known(
            "What entries that were recalled lately have in common, for the diary.",
            ("rem",),
            ("themes", "text", "sourceIds"),
        ),
        "memory-md": Known(
            "Which items of MEMORY.md to merge, reword, archive, move and bring together.",
            ("document-consolidation",),
            ("edits", "op", "items", "text", "target"),
        ),
        "session-evaluator": Known(
            "How a conversation that has come to rest is summed up and rated.",
            ("session-evaluator",),
            ("rating", "summary"),
        ),
    },
)
"""Every directive by name, in the order of the passes that send it."""
