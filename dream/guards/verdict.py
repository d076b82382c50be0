"""Judges a text by the words of its evidence: proven, refuted, or undecided.

Proven is what the evidence says itself, sentence by sentence. Refuted is a hard value, such as a number, a date or a
code, that nothing shown gives or yields, and a flat denial of the very words. All else is undecided: words alone do
not tell a rewording from a falsehood, a second reading does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dream.guards.absent_names import absent_names
from dream.guards.denials import denied_by
from dream.guards.detail import Detail, DetailKind, distinct
from dream.guards.names import Vocabulary, builtin_vocabulary
from dream.guards.proof import is_said, is_told
from dream.guards.shown_text import EvidenceText
from dream.guards.shown_values import ShownText, ShownValues, is_weighty, values_in
from dream.guards.wording import plain, sentences_of


class Verdict(StrEnum):
    """What words alone tell of a text."""

    PROVEN = "proven"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


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
    if is_said(statement, evidence, beside, whole=whole):
        return Judgement(Verdict.PROVEN)
    details = distinct(_refuting(statement, evidence, beside, vocabulary or builtin_vocabulary(), whole=whole))
    return Judgement(Verdict.REFUTED if details else Verdict.UNDECIDED, details)


def _refuting(
    statement: str,
    evidence: Sequence[EvidenceText],
    beside: Sequence[EvidenceText],
    vocabulary: Vocabulary,
    *,
    whole: bool,
) -> Iterator[Detail]:
    shown = [_shown(one) for one in (*evidence, *beside)]
    told, given = plain(statement), ShownValues(shown)
    speakers = [plain(one.speaker) for one in (*evidence, *beside) if one.speaker]
    named = {
        (item.kind, item.key) for speaker in speakers for item in values_in(speaker).items if item.kind not in _COUNTED
    }
    yield from (item for item in values_in(told).items if (item.kind, item.key) not in named and not given.gives(item))
    yield from _denials(told, evidence)
    yield from absent_names(told, [*(one.text for one in shown), *speakers], vocabulary)
    if whole:
        days = {one.said_at.date() for one in evidence if one.said_at}
        ours = ShownValues([ShownText(told, day) for day in sorted(days)] or [ShownText(told)])
        items = (item for one in evidence for item in values_in(plain(one.text)).items)
        yield from (item for item in items if is_weighty(item) and not ours.gives(item))


def _shown(one: EvidenceText) -> ShownText:
    return ShownText(plain(one.text), one.said_at.date() if one.said_at else None, one.speaker is not None)


def _denials(told: str, evidence: Sequence[EvidenceText]) -> Iterator[Detail]:
    """Yield the sentences of the evidence that a text flatly denies, or that deny it."""
    for sentence in sentences_of(told):
        against = denied_by(sentence, evidence)
        if against is not None and not is_told(sentence, evidence):
            yield Detail(DetailKind.NEGATION, against[:_LONGEST], against)


_LONGEST = 200
_COUNTED = frozenset({DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME})
"""What a speaker's name gives nobody: of `User 7` it does not follow that anybody has seven cats."""
