"""Judges a text by the words of its evidence: proven, refuted, or undecided.

Proven is what the evidence says itself, sentence by sentence. Refuted is a hard value, such as a number, a date or a
code, that nothing shown gives or yields, and a flat denial of the very words. All else is undecided: words alone do
not tell a rewording from a falsehood, a second reading does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dream.guards.detail import Detail, DetailKind
from dream.guards.details import measures_of
from dream.guards.names import Vocabulary
from dream.guards.wording import Words, is_question, sentences_of, words_of


class Verdict(StrEnum):
    """What words alone tell of a text."""

    PROVEN = "proven"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceText:
    """A text that was shown.

    Args:
        text: It.
        speaker: Who said it; None of an entry, a skill or a document.
        is_person: Whether a person said it: what an assistant said is context, never proof.
        said_at: When.
    """

    text: str
    speaker: str | None = None
    is_person: bool = True
    said_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict.

    Args:
        verdict: It.
        details: What refutes the text, in words for the model and for people.
    """

    verdict: Verdict
    details: tuple[Detail, ...] = ()


def judge(
    statement: str,
    evidence: Sequence[EvidenceText],
    *,
    beside: Sequence[EvidenceText] = (),
    whole: bool = False,
    vocabulary: Vocabulary | None = None,
) -> Judgement:
    """Judge a text by its evidence; pure, and the same in any order of the evidence.

    Args:
        statement: The text.
        evidence: What it is made from.
        beside: What else was shown: a value that stands there refutes nothing, and proves nothing.
        whole: Whether the text must also tell all that the evidence tells, as a merge and a rewrite must.
        vocabulary: Words that are no names; those of the package if None.

    Example:
        >>> said = [EvidenceText(text="I pay 60 euros.", speaker="Ana")]
        >>> judge("I pay 60 euros", said).verdict.value, judge("Ana pays 61 euros.", said).verdict.value
        ('proven', 'refuted')
    """
    del vocabulary
    if _is_proven(statement, evidence, whole=whole):
        return Judgement(Verdict.PROVEN)
    details = tuple(_refuting(statement, [*evidence, *beside]))
    return Judgement(Verdict.REFUTED if details else Verdict.UNDECIDED, details)


def _is_proven(statement: str, evidence: Sequence[EvidenceText], *, whole: bool) -> bool:
    said = [_said(one) for one in evidence if one.is_person]
    told = [words_of(sentence) for sentence in sentences_of(statement)]
    known = {words for sentences in said for words in sentences}
    if not told or any(words not in known for words in told):
        return False
    return not whole or (len(told) == len(set(told)) and known == set(told))


def _said(one: EvidenceText) -> list[Words]:
    return [words_of(sentence) for sentence in sentences_of(one.text) if not is_question(sentence)]


def _refuting(statement: str, shown: Sequence[EvidenceText]) -> Iterator[Detail]:
    known = {(item.kind, item.key) for one in shown for found in (measures_of(one.text),) for item in found}
    if any(kind is DetailKind.NUMBER for kind, _ in known):
        for item in measures_of(statement):
            if item.kind is DetailKind.NUMBER and (item.kind, item.key) not in known and len(item.text) > len("100"):
                yield item
