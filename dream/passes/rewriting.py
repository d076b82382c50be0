"""Judges a text that takes the place of others by their words: what it loses, what it makes up, and their order."""

from collections.abc import Sequence
from dataclasses import dataclass

from dream.domain.verification import Assertion
from dream.guards.detail import Detail
from dream.guards.names import Vocabulary
from dream.guards.verdict import Verdict, judge
from dream.guards.wording import sentences_of, words_of
from dream.passes.second_reading import evidence_text


@dataclass(frozen=True, slots=True)
class WordsOfRewrite:
    """What words tell of a text.

    Args:
        is_proven: Whether it says what its evidence says, sentence by sentence, in that order.
        invented: What nothing shown gives.
        lost: What the evidence tells and it does not, where it must tell the whole.
    """

    is_proven: bool
    invented: tuple[Detail, ...] = ()
    lost: tuple[Detail, ...] = ()


def judged_by_words(assertion: Assertion, vocabulary: Vocabulary) -> WordsOfRewrite:
    r"""Judge a text by its evidence.

    Example:
        >>> from dream.domain.verification import EvidenceLine
        >>> from dream.guards.names import builtin_vocabulary
        >>> line = EvidenceLine(text="- Stop the app.\n- Back it up.", role="skill")
        >>> turned = Assertion(text="- Back it up.\n- Stop the app.", evidence=(line,), whole=True)
        >>> judged_by_words(turned, builtin_vocabulary()).is_proven
        False
    """
    evidence = [evidence_text(line) for line in assertion.evidence if not line.is_beside]
    beside = [evidence_text(line) for line in assertion.evidence if line.is_beside]
    invented = judge(assertion.text, evidence, beside=beside, vocabulary=vocabulary).details
    found = judge(assertion.text, evidence, beside=beside, whole=assertion.whole, vocabulary=vocabulary)
    if found.verdict is Verdict.PROVEN:
        return WordsOfRewrite(_in_order(assertion.text, [one.text for one in evidence]))
    lost = tuple(one for one in found.details if one not in invented)
    return WordsOfRewrite(is_proven=False, invented=invented, lost=lost)


def _in_order(text: str, sources: Sequence[str]) -> bool:
    """Tell whether the sentences of each source stand in their order."""
    places = {words_of(sentence): place for place, sentence in enumerate(sentences_of(text))}
    for source in sources:
        found = [places[words] for one in sentences_of(source) if (words := words_of(one)) in places]
        if found != sorted(found):
            return False
    return True
