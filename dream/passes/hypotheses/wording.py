"""Words a hypothesis about a pair, and makes the change that proposes it."""

import re
from dataclasses import dataclass
from typing import Final

from agentcore.domain.conclusion import Premise
from agentcore.domain.hypothesis import PLAUSIBLE, Hypothesis, rank_of
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.text import fold_key
from dream.domain.change import Change, ChangeSet
from dream.passes.hypotheses.pairs import Pair
from dream.passes.protocol import ModelContext
from dream.passes.terms import terms_of

PROPOSE: Final = "propose_hypothesis"
_CLIPPED: Final = 160
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The words of a hypothesis about a pair.

    Args:
        pair: It.
        hypothesis: What might be true.
        what_if: The question that it asks.
        possible_outcome: What would change.
        question: What to ask somebody to settle it.
        quotes: What of each of the two it rests on.
        generator: What worded it.
    """

    pair: Pair
    hypothesis: str
    what_if: str
    possible_outcome: str
    question: str
    quotes: tuple[str, ...]
    generator: str


def worded(pair: Pair) -> Guess:
    """Return the words of a guess that nobody but the host made."""
    one, other = map(clipped, pair.texts)
    if pair.claims:
        first, second = pair.claims
        return Guess(
            pair=pair,
            hypothesis=f"{first.subject} may have to do with {second.object}, by way of {first.object}.",
            what_if=f"What if {second.object} matters to {first.subject}, since {first.object} stands between them?",
            possible_outcome=f"What is planned for {first.subject} would have to take {second.object} into account.",
            question=f"Does {first.subject} have anything to do with {second.object}?",
            quotes=(one, other),
            generator="chain",
        )
    said = said_as(pair)
    return Guess(
        pair=pair,
        hypothesis=f'"{one}" and "{other}" may belong together: both speak of {said}.',
        what_if=f"What if one of them is the reason for the other, or both are about the same {said}?",
        possible_outcome="Whoever decides about one of them would look at the other first.",
        question=f'Has "{one}" anything to do with "{other}"?',
        quotes=(one, other),
        generator="shared-terms",
    )


def said_as(pair: Pair) -> str:
    """Return the rare terms of a pair as its first record spells them."""
    spelt: dict[str, str] = {}
    for word in _WORD.findall(pair.texts[0]):
        for term in terms_of(word):
            spelt.setdefault(term, word.lower())
    return ", ".join(dict.fromkeys(spelt.get(term, term) for term in pair.terms[:3]))


def clipped(text: str) -> str:
    """Return a text on one line, as much of it as a hypothesis quotes, ended at a word."""
    line = " ".join(text.split()).strip()
    if len(line) <= _CLIPPED:
        return line.rstrip(".")
    return line[:_CLIPPED].rsplit(" ", 1)[0]


def proposed(context: ModelContext, guess: Guess) -> ChangeSet:
    """Return the change that stores a guess; whoever takes it back is not told it again."""
    pair = guess.pair
    likely = [one for one in pair.factors if one.name in PLAUSIBLE]
    founded = [one for one in pair.factors if one.name not in PLAUSIBLE]
    made = Hypothesis(
        id=pair.id,
        scope=context.scope,
        hypothesis=guess.hypothesis,
        what_if=guess.what_if,
        possible_outcome=guess.possible_outcome,
        rationale=_rationale(pair),
        question=guess.question,
        likelihood=rank_of(likely),
        confidence=rank_of(founded),
        source_refs=pair.refs,
        created_at=context.as_of,
        created_by=context.pass_name,
        expires_at=context.as_of + context.options.hypotheses.kept_for,
        factors=pair.factors,
        premises=tuple(sorted(premise_of(entry) for entry in pair.entries)),
        quotes=guess.quotes,
        generator=guess.generator,
        trust=pair.trust,
        state_at=context.as_of,
    )
    change = Change(before=None, after=made, reason=made.rationale)
    return ChangeSet(operation=PROPOSE, changes=(change,), fingerprints={made.id: pair.id})


def premise_of(entry: MemoryEntry) -> Premise:
    """Return a source of a hypothesis as it is."""
    return Premise(entry.id, fold_key(entry.content), entry.created_at)


def _rationale(pair: Pair) -> str:
    if pair.claims:
        first, second = pair.claims
        return f"One claim ends where another begins: {first}; {second}."
    one, other = pair.entries
    days = abs(one.created_at - other.created_at).days
    apart = f"{days} days apart" if days != 1 else "a day apart"
    return f"They share {said_as(pair)}, which few records hold, and were said {apart}; nothing says how they relate."
