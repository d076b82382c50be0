"""Keeps what was said word for word where no shorter text could be shown to be true."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentcore.domain.conversation import Turn
from agentcore.domain.evidence import Evidence, EvidenceVerdict, SourceKind, SourceRef, exact_words
from agentcore.domain.memory import Trust
from dream.domain.proposal import Refusal
from dream.guards.secrets import secret_in
from dream.guards.wording import is_question
from dream.passes.conversation.evidence import EvidenceTimes, adjacent, subject_time_of
from dream.passes.conversation.sentences import holding, sentences_in
from dream.passes.conversation.statement import DEFAULT_BASE, speaker_of, statement
from dream.passes.fact_mining.judging import Fact
from dream.passes.prompts import PromptTurn
from dream.passes.terms import terms_of

MOST_WORDS: Final = 60
"""Words of the text at most."""
_MOST_CHARACTERS: Final = 500
_CLEAR: Final = 2
"""Terms from which a sentence can be understood without the question that it answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbatimFact(Fact):
    """A sentence that was said, in the place of a fact.

    Args:
        instead_of: What the fact said.
        sentence: The sentence alone.
    """

    instead_of: str
    sentence: str

    @property
    def texts(self) -> tuple[str, ...]:
        """What it says, in all words by which a person may have asked to forget it."""
        return (self.content, self.sentence, self.instead_of)


def verbatim_of(fact: Fact, shown: Sequence[PromptTurn], chosen_by: str = "") -> VerbatimFact | None:
    """Return the one sentence of a person that a fact rests on, with the question it answers where it needs that.

    None if there is no such sentence: it answers nothing where an assistant's words are quoted, asks, is too long,
    cannot be understood, holds a secret, or is trusted less than what people state.

    Args:
        fact: What is refuted or denied.
        shown: The turns of the prompt.
        chosen_by: The model whose fact cites it.
    """
    evidence = fact.evidence
    turn = evidence.quoted if evidence.quoted.role == "user" else evidence.heard[-1]
    sentence = next(iter(holding(turn.content, evidence.quote) or sentences_in(turn.content)), "")
    question = _question(turn, sentence, shown)
    told = _told(turn, sentence)
    asked = told if question is None else f'{speaker_of(question[0])}: "{question[1]}" {told}'
    if evidence.quoted.role != "user" and (question is None or question[0].id != evidence.quoted.id):
        return None
    content = statement(asked if _fits(asked) else told, fact.label)
    is_clear = (question is not None and _fits(asked)) or len(set(terms_of(sentence))) >= _CLEAR
    if isinstance(content, Refusal) or not _fits(content) or secret_in(content) is not None:
        return None
    if turn.trust < Trust.STATED or not is_clear or is_question(sentence):
        return None
    kept = replace(
        evidence, turns=(turn,), quoted=turn, quote=sentence, sentences=(_evidence(turn, sentence, chosen_by),)
    )
    return VerbatimFact(
        number=fact.number,
        label=fact.label,
        content=content,
        category=fact.category,
        tags=fact.tags,
        base=min(fact.base, DEFAULT_BASE),
        subject_time=subject_time_of(None, EvidenceTimes.of(kept))[0],
        evidence=kept,
        metadata=fact.metadata,
        notes=("verbatim",),
        instead_of=fact.content,
        sentence=sentence,
    )


def _told(turn: Turn, sentence: str) -> str:
    return f'{speaker_of(turn)}, {turn.occurred_at:%Y-%m-%d}: "{sentence}"'


def _fits(text: str) -> bool:
    return len(text.split()) <= MOST_WORDS and len(text) <= _MOST_CHARACTERS


def _question(turn: Turn, sentence: str, shown: Sequence[PromptTurn]) -> tuple[Turn, str] | None:
    """Return the last question of somebody else right before a turn that begins with the sentence."""
    before = next((one.turn for one, other in adjacent(shown) if other.turn.id == turn.id), None)
    begins = sentences_in(turn.content)[:1] == [sentence]
    if before is None or not begins or (before.role, before.speaker) == (turn.role, turn.speaker):
        return None
    asked = [one for one in sentences_in(before.content) if is_question(one)]
    return (before, asked[-1]) if asked and before.trust > Trust.UNTRUSTED else None


def _evidence(turn: Turn, sentence: str, chosen_by: str) -> Evidence:
    return Evidence(
        source=SourceRef(SourceKind.TURN, turn.id),
        speaker=turn.speaker,
        said_at=turn.occurred_at,
        sentence=exact_words(sentence),
        verdict=EvidenceVerdict.VERBATIM,
        written_by=chosen_by,
        verified_by="host",
    )
