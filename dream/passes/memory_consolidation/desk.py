"""What operations are judged by, gathered before any of them is judged."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.memory import MemoryEntry
from agentcore.recall.tokenizer import Tokenizer
from dream.guards.rare_terms import DocumentFrequency
from dream.guards.vocabulary import Vocabulary
from dream.options import DreamOptions
from dream.passes.conflicts import SideEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Everything a judgement needs, so that it is a pure function; lives for one answer.

    Args:
        as_of: The instant the run judges by.
        options: The host's options.
        vocabulary: Which words are ordinary.
        document_frequency: How common the terms of the answer and its sources are.
        new_id: Returns a fresh record id.
        twins: Live entries with the text of an item of the answer, by fold key, oldest first.
        merge_only: Whether nothing may go without being merged.
        tokenizer: Tells which words two texts share.
        speakers: Who said each entry, by its id, as far as turns show it.
    """

    as_of: datetime
    options: DreamOptions
    vocabulary: Vocabulary
    document_frequency: DocumentFrequency
    new_id: Callable[[], str]
    twins: Mapping[str, tuple[MemoryEntry, ...]]
    merge_only: bool
    tokenizer: Tokenizer
    speakers: Mapping[str, frozenset[str]]

    def evidence(self, entries: Sequence[MemoryEntry]) -> SideEvidence:
        """Join what speaks for the entries."""
        return SideEvidence.of(entries, (name for entry in entries for name in self.speakers.get(entry.id, ())))

    def is_protected_category(self, category: str) -> bool:
        """Tell whether no pass changes what stands there."""
        return is_under(category, self.options.protected_categories)

    def is_worth_keeping(self, entry: MemoryEntry) -> bool:
        """Tell whether an entry may be merged, never dropped."""
        terms = self.options.consolidation
        return (
            entry.pinned
            or entry.base >= terms.protect_importance
            or entry.reinforcement_count >= terms.protect_reinforced
        )

    def are_related(self, one: MemoryEntry, other: MemoryEntry) -> bool:
        """Tell whether two entries can be about the same thing: a word of their texts, or a branch of categories."""
        first, second = (set(self.tokenizer.tokens(entry.content)) for entry in (one, other))
        branch = one.category.casefold().partition("/")
        return not first.isdisjoint(second) or (
            bool(branch[2]) and one.category.casefold() == other.category.casefold()
        )


def is_under(category: str, roots: tuple[str, ...]) -> bool:
    """Tell whether a category is one of *roots* or below it, whatever the case.

    Example:
        >>> is_under("Active-Plans/june", ("active-plans",)), is_under("active-plans-old", ("active-plans",))
        (True, False)
    """
    below = f"{category.casefold()}/"
    return any(below.startswith(f"{root.casefold().rstrip('/')}/") for root in roots)
