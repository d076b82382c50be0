"""Judges the facts of an answer: what their turns bear out, and which entries they make or reinforce."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import regex

from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.subject_time import compatible
from agentcore.domain.text import DEFAULT_CATEGORY, clean_category
from dream.domain.proposal import Refusal
from dream.passes.conversation.evidence import EvidenceTimes, TurnEvidence, subject_time_of
from dream.passes.conversation.reconcile import EntryDraft, Reconciler, Reinforcement, says_the_same
from dream.passes.conversation.statement import (
    StatementRules,
    TurnStatement,
    base_below,
    is_under,
    made_up,
    protected,
    secret_told,
    speaker_of,
    statement,
    usable_tags,
)
from dream.passes.fact_mining.prompt import FactItem
from dream.passes.terms import CUTTER

_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(TurnStatement):
    """A checked fact."""

    level: ClassVar[Level] = Level.EXPLICIT


def fact_of(
    item: FactItem, evidence: TurnEvidence, terms: StatementRules, reserved: Sequence[str] = ()
) -> Fact | Refusal:
    """Check what a fact says against its turns; return it, or why it must not be remembered.

    Args:
        item: The fact as the model gave it.
        evidence: Its turns.
        terms: What statements are judged by.
        reserved: Categories that other passes alone write.
    """
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    category, repaired = _category(item.category, reserved)
    told = EvidenceTimes.of(evidence)
    refusal = (
        secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote)
        or protected(item.label, category, terms)
        or made_up(
            item.label,
            content,
            category,
            evidence=evidence,
            told=told,
            terms=terms,
        )
    )
    if refusal is not None:
        return refusal
    subject_time, dropped = subject_time_of(item.subject_time, told)
    return Fact(
        number=item.number,
        label=item.label,
        content=content,
        category=category,
        tags=usable_tags(item.tags),
        base=base_below(item.importance, terms.protect_importance),
        subject_time=subject_time,
        evidence=evidence,
        notes=(*(["categories_repaired"] if repaired else []), *(["subject_times_dropped"] if dropped else [])),
    )


def _category(given: object, reserved: Sequence[str]) -> tuple[str, bool]:
    """Return a category that can be stored, and whether it is another than the model gave."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return DEFAULT_CATEGORY, False
    cleaned = clean_category(given).lower() if isinstance(given, str) and given.isprintable() else ""
    usable = _CATEGORY.fullmatch(cleaned) is not None and not is_under(cleaned, reserved)
    return (cleaned, cleaned != given) if usable else (DEFAULT_CATEGORY, True)


MINE: Final = "mine"
"""Operation of a change set that adds a fact."""


class FactReconciler(Reconciler[Fact]):
    """Reconciles facts with all entries."""

    adds: ClassVar[str] = MINE
    found: ClassVar[str] = "facts_found"

    def is_same(self, statement: Fact, entry: MemoryEntry, *, is_equal: bool) -> bool:
        """Tell whether an entry of a compatible time says the same."""
        return compatible(entry.subject_time, statement.subject_time) and (
            is_equal or says_the_same(entry.content, statement.content, self.vocabulary, CUTTER)
        )

    def rank(self, statement: Fact, entry: MemoryEntry) -> bool:
        """Reinforce an entry of the fact's own category first."""
        return entry.category != statement.category

    def reason(self, draft: EntryDraft[Fact]) -> str:
        """Return why an entry is added or reinforced, with all who said so."""
        first, *more = draft.statements
        others = sorted({speaker_of(fact.evidence.quoted) for fact in more})
        return first.reason() + (f", and again by {', '.join(others)}" if others else "")

    def marked_text(self, draft: EntryDraft[Fact]) -> str:
        """Return the words of the fact, which an entry that it reinforces may say otherwise."""
        first = draft.statements[0]
        return draft.after.content if isinstance(first, Reinforcement) else first.content
