"""Judges the facts of an answer: what their turns bear out, and which entries they make or reinforce."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import regex

from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.text import DEFAULT_CATEGORY, clean_category
from dream.domain.proposal import Refusal
from dream.guards.secrets import secret_in
from dream.passes.conversation.evidence import EvidenceTimes, TurnEvidence, subject_time_of
from dream.passes.conversation.quotes import holds_quote
from dream.passes.conversation.reconcile import EntryDraft, Reconciler, Reinforcement
from dream.passes.conversation.statement import (
    StatementRules,
    TurnStatement,
    base_below,
    is_under,
    protected,
    secret_told,
    speaker_of,
    statement,
    usable_tags,
)
from dream.passes.fact_mining.prompt import FactItem
from dream.passes.prompts import PromptTurn
from dream.passes.subjects import SUBJECT, TOPIC, clean_topic

_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")
_LONGEST_SUBJECT: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(TurnStatement):
    """A checked fact."""

    level: ClassVar[Level] = Level.EXPLICIT


def fact_of(
    item: FactItem,
    evidence: TurnEvidence,
    shown: Iterable[PromptTurn],
    terms: StatementRules,
    reserved: Sequence[str] = (),
) -> Fact | Refusal:
    """Return a fact as far as it may be remembered whatever its turns say of it, or why it must not be.

    Args:
        item: The fact as the model gave it.
        evidence: Its turns.
        shown: All turns of the prompt.
        terms: What statements are judged by.
        reserved: Categories that other passes alone write.
    """
    content = statement(item.content, item.label)
    if isinstance(content, Refusal):
        return content
    category, repaired = _category(item.category, reserved)
    refusal = secret_told(item.label, f"turn {evidence.quoted.id}", content, evidence.quote) or protected(
        item.label, category, terms
    )
    if refusal is not None:
        return refusal
    subject_time, dropped = subject_time_of(item.subject_time, EvidenceTimes.of(evidence))
    return Fact(
        number=item.number,
        label=item.label,
        content=content,
        category=category,
        tags=usable_tags(item.tags),
        base=base_below(item.importance, terms.protect_importance),
        subject_time=subject_time,
        evidence=evidence,
        metadata=_about(item, shown),
        notes=(*(["categories_repaired"] if repaired else []), *(["subject_times_dropped"] if dropped else [])),
    )


def _category(given: object, reserved: Sequence[str]) -> tuple[str, bool]:
    """Return a category that can be stored, and whether it is another than the model gave."""
    if given is None or (isinstance(given, str) and not given.strip()):
        return DEFAULT_CATEGORY, False
    cleaned = clean_category(given).lower() if isinstance(given, str) and given.isprintable() else ""
    usable = _CATEGORY.fullmatch(cleaned) is not None and not is_under(cleaned, reserved)
    return (cleaned, cleaned != given) if usable else (DEFAULT_CATEGORY, True)


def _about(item: FactItem, shown: Iterable[PromptTurn]) -> Mapping[str, str]:
    """Return whom and what the fact is about, as far as that can be kept."""
    told = {SUBJECT: _subject(item.subject, shown), TOPIC: clean_topic(item.topic)}
    return {name: text for name, text in told.items() if text}


def _subject(given: object, shown: Iterable[PromptTurn]) -> str:
    """Return a subject that is a speaker's name, or stands in what was said; else nothing."""
    name = " ".join(given.split()) if isinstance(given, str) and given.isprintable() else ""
    if not name or len(name) > _LONGEST_SUBJECT or secret_in(name) is not None:
        return ""
    is_known = any(
        name.casefold() == (one.turn.speaker or "").casefold() or holds_quote(one.turn.content, name) for one in shown
    )
    return name if is_known else ""


MINE: Final = "mine"
"""Operation of a change set that adds a fact."""


class FactReconciler(Reconciler[Fact]):
    """Reconciles facts with all entries."""

    adds: ClassVar[str] = MINE
    found: ClassVar[str] = "facts_found"

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
