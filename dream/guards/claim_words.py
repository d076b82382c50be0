"""Finds claims in a person's words by the words of predicates, and holds a claim against its own words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentcore.domain.claim import Claim, Entailment
from agentcore.domain.predicates import PredicateRule
from agentcore.domain.text import normalise
from dream.guards.shown_text import EvidenceText
from dream.guards.verdict import Verdict, judge
from dream.guards.wording import sentences_of

_SUBJECT: Final = r"(?P<subject>[^\W\d_][^,;:.!?()]{0,59}?)"
_OBJECT: Final = r"(?P<object>[^,;:!?()]{1,100}?)"
_MOST_WORDS: Final = 4
"""Words of a subject at most: a longer one is half a sentence."""


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A claim as somebody's words say it."""

    subject: str
    predicate: str
    object: str
    quote: str


def claims_in(text: str, rules: Mapping[str, PredicateRule]) -> Iterator[FoundClaim]:
    """Yield the claims that whole sentences of a text make in the words of a row.

    Example:
        >>> from agentcore.domain.predicates import RULES
        >>> [(one.subject, one.predicate, one.object) for one in claims_in("Right. Ana works at Acme.", RULES)]
        [('Ana', 'works_at', 'Acme')]
    """
    for sentence in sentences_of(text):
        for predicate, rule in rules.items():
            for words in rule.says:
                found = re.fullmatch(rf"{_SUBJECT}\s+{re.escape(words)}\s+{_OBJECT}[.!]?", sentence.strip())
                if found is not None and len(found["subject"].split()) <= _MOST_WORDS:
                    yield FoundClaim(found["subject"], predicate, found["object"].strip(), sentence.strip())


def entailment_of(claim: Claim, rule: PredicateRule | None, texts: Sequence[str]) -> Entailment:
    """Return what the words of a claim say of it, as far as words alone tell.

    Args:
        claim: It.
        rule: The row of its predicate.
        texts: What its sources say: the quote has to stand in one of them.
    """
    if not any(normalise(claim.quote).rstrip(".") in normalise(text) for text in texts):
        return Entailment.INSUFFICIENT
    said = [EvidenceText(text=claim.quote)]
    told = [f"{claim.subject} {words} {claim.object}." for words in (rule.says if rule is not None else ())]
    verdicts = {judge(statement, said).verdict for statement in told}
    if Verdict.PROVEN in verdicts:
        return Entailment.CONTRADICTED if claim.negated else Entailment.ENTAILED
    if verdicts == {Verdict.REFUTED}:
        return Entailment.ENTAILED if claim.negated else Entailment.CONTRADICTED
    return Entailment.INSUFFICIENT
