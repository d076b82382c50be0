"""Judges the claims of an answer: each is said in the words of the entry that it cites, with nothing invented."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final

from agentcore.domain.claim import LONGEST_PART, Claim
from agentcore.domain.evidence import SourceKind, SourceRef
from agentcore.domain.memory import MemoryEntry, Trust
from agentcore.domain.predicates import PredicateRule
from agentcore.domain.subject_time import SubjectTime
from agentcore.domain.text import fold_key
from agentcore.errors import InvalidSubjectTimeError
from agentcore.recall.off_limits import named_topic
from dream.domain.claim_gate import rule_of
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.verification import Assertion, EvidenceLine
from dream.passes.claims.prompt import ClaimItem, is_predicate
from dream.passes.conversation.evidence import not_shown
from dream.passes.conversation.quotes import holds_quote, on_one_line
from dream.passes.conversation.statement import secret_told

_LEAST_WORDS: Final = 3
"""Words of a quote at least, or all words of a shorter entry."""
_CONFIDENCE: Final = 0.9
"""Of each claim: the host's word for a claim whose parts stand in its quote; no model says how sure it is."""
_YEARS: Final = re.compile(r"\d{4}(?:\.\.\d{4})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRules:
    """What claims are judged by.

    Args:
        entries: What was shown and is as it was, by handle.
        rows: The rows of predicates.
        off_limits: Topics about which nothing is to be kept.
        taken_at: When they are taken.
        taken_by: The pass that takes them.
    """

    entries: Mapping[str, MemoryEntry]
    rows: Mapping[str, PredicateRule]
    off_limits: Sequence[str]
    taken_at: datetime
    taken_by: str


def judged(item: ClaimItem, rules: ClaimRules, new_id: str) -> Claim | Refusal:
    """Return a claim that stands in the words of its entry, or why it is not taken."""
    entry = rules.entries.get(item.handle)
    if entry is None:
        return not_shown(item.label, item.handle)
    subject, predicate, object_ = map(on_one_line, (item.subject, item.predicate.casefold(), item.object))
    quote = on_one_line(item.quote)
    fault = _misshapen(item, (subject, predicate, object_), rules) or _unsaid(item, entry, (subject, object_, quote))
    if fault is None and named_topic(rules.off_limits, entry.content) is not None:
        fault = Refusal(Refused.OFF_LIMITS, item.label)
    fault = fault or secret_told(item.label, f"entry {entry.id}", subject, object_, quote)
    if fault is not None:
        return fault
    return Claim(
        id=new_id,
        scope=entry.scope,
        subject=subject,
        predicate=predicate,
        object=object_,
        quote=quote,
        sources=(SourceRef(SourceKind.ENTRY, entry.id),),
        asserted_at=rules.taken_at,
        asserted_by=rules.taken_by,
        negated=item.negated,
        subject_time=_when(item.when, entry),
        confidence=_CONFIDENCE,
        trust=min(entry.trust, Trust.STATED),
    )


def _misshapen(item: ClaimItem, parts: Sequence[str], rules: ClaimRules) -> Refusal | None:
    if not all(part and len(part) <= LONGEST_PART for part in parts):
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} has a part that is blank or too long")
    if not is_predicate(parts[1], rules.rows):
        return Refusal(Refused.INVALID_CONTENT, f"{item.label} has a predicate that no row names")
    return None


def _unsaid(item: ClaimItem, entry: MemoryEntry, parts: tuple[str, str, str]) -> Refusal | None:
    subject, object_, quote = parts
    if not holds_quote(entry.content, quote) or len(quote.split()) < min(_LEAST_WORDS, len(entry.content.split())):
        return Refusal(Refused.QUOTE_NOT_FOUND, f"{item.label} quotes what does not stand in {item.handle}")
    if not holds_quote(entry.content, subject) or not holds_quote(quote, object_):
        return Refusal(Refused.INVENTED_DETAIL, f"{item.label} has a subject or an object that its quote does not name")
    return None


def _when(given: str | None, entry: MemoryEntry) -> SubjectTime | None:
    """Return the time of a claim: that of its entry, or years that stand in its words."""
    years = (given or "").strip()
    if entry.subject_time is not None or not _YEARS.fullmatch(years):
        return entry.subject_time
    if not all(holds_quote(entry.content, year) for year in years.split("..")):
        return None
    try:
        return SubjectTime.parse(years)
    except InvalidSubjectTimeError:
        return None


def mark_of(claim: Claim, entry: MemoryEntry) -> str:
    """Return what a person declines who takes a claim of a pass back: what it says of an entry that says just this."""
    told = (entry.id, fold_key(entry.content), *claim.key, fold_key(claim.object), str(claim.negated))
    return blake2b("\x1f".join(("take_claim", *told)).encode(), digest_size=16).hexdigest()


def assertion_of(claim: Claim, entry: MemoryEntry, rows: Mapping[str, PredicateRule]) -> Assertion:
    """Return what a second reader has to check: the claim as a sentence, beside the whole entry."""
    rule = rule_of(claim.predicate, rows)
    says = rule.says[0] if rule is not None and rule.says else claim.predicate.replace("_", " ")
    told = f"{claim.subject} {says} {claim.object}"
    when = f" ({claim.subject_time})" if claim.subject_time is not None else ""
    line = EvidenceLine(
        text=entry.content,
        said_at=entry.created_at,
        source=claim.sources[0],
        about=None if entry.subject_time is None else str(entry.subject_time),
    )
    text = f"It is not so that {told}{when}." if claim.negated else f"{told}{when}."
    return Assertion(text=text, evidence=(line,))
