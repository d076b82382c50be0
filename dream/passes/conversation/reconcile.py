"""Compares new statements with the memory: which say the same, which were forgotten, which turns count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from agentcore.domain.conversation import Turn
from agentcore.domain.memory import MemoryEntry, SourceKind
from agentcore.domain.text import fold_key, normalise
from agentcore.recall.tokenizer import Tokenizer
from dream.domain.change import ChangeSet
from dream.domain.proposal import Refusal
from dream.guards.merge_coverage import coverage
from dream.guards.vocabulary import Vocabulary
from dream.passes.terms import terms_of


def says_the_same(one: str, other: str, vocabulary: Vocabulary, tokenizer: Tokenizer) -> bool:
    """Tell whether two statements of the same turns differ in nothing but little words.

    Example:
        >>> from dream.guards.vocabulary import builtin_vocabulary
        >>> says_the_same("Ana moved to Lisbon.", "Ana has moved to Lisbon", builtin_vocabulary(), Tokenizer())
        True
        >>> says_the_same("Ana moved to Lisbon.", "Ana has not moved to Lisbon", builtin_vocabulary(), Tokenizer())
        False
    """
    if normalise(one) == normalise(other):
        return True
    return tokenizer.tokens(one) == tokenizer.tokens(other) and coverage([one], other, vocabulary).faithful


def retells(new: str, old: str, vocabulary: Vocabulary) -> bool:
    """Tell whether *new* says nothing that *old* does not say, of the same turns: nothing is lost without it.

    Example:
        >>> from dream.guards.vocabulary import builtin_vocabulary
        >>> retells("The printer at Norte was broken.", "Ana found the printer at Norte broken.", builtin_vocabulary())
        True
        >>> retells("Ana wants polite answers.", "Ana wants short answers.", builtin_vocabulary())
        False
    """
    says_no_more = set(terms_of(new)) <= set(terms_of(old))
    return says_no_more and not coverage([old], new, vocabulary).invented


def is_forgotten(content: str, quoted: Turn, since: Mapping[str, datetime]) -> bool:
    """Tell whether a person asked to forget a text, and the turn that shows it is none in which it was said anew.

    Args:
        content: The text.
        quoted: The turn.
        since: When texts were forgotten, by fold key.
    """
    at = since.get(fold_key(content))
    return at is not None and quoted.recorded_at <= at


def fresh_turns(entry: MemoryEntry, heard: Iterable[Turn]) -> list[Turn]:
    """Return the turns of people that *entry* has not counted yet; one trusted less than it reinforces nothing."""
    known = {source.id for source in entry.sources if source.kind is SourceKind.TURN}
    return [turn for turn in heard if turn.id not in known and turn.trust >= entry.trust]


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What becomes of some statements: changes, refusals, and counts for the report by name."""

    change_sets: tuple[ChangeSet, ...]
    refused: tuple[Refusal, ...]
    counts: Mapping[str, int]
