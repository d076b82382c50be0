"""Finds flat denials: two sentences of the very same words, of which one is denied."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from agentcore.lexicon.language import recognised
from dream.guards.languages import WITHOUT, all_words, answered, language_of
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern
from dream.guards.shown_text import EvidenceText
from dream.guards.speakers import Voices, expanded, is_resolved, third_person
from dream.guards.wording import Words, is_question, plain, sentences_of, words_of

_AUXILIARIES: Final = frozenset({"do", "does", "did"})
_NEGATIONS: Final = all_words(lambda one: one.negations)
_OWN_NEGATIONS: Final = {code: frozenset(one.own_negations) for code, one in recognised().items()}
_ANY_NEGATION: Final = frozenset[str]().union(*_OWN_NEGATIONS.values())
_CONTRACTED = lazy_pattern(r"\p{L}+n't|n'\p{L}+")
_HAN = lazy_pattern(r"\p{Han}")
_HAN_DENIAL = lazy_pattern(r"没有|沒有|[不没沒未](?=\p{Han})")


class _Polarity(NamedTuple):
    """The words of a sentence but those that deny, and how many of these there are."""

    words: Words
    denials: int
    code: str


def denied_by(sentence: str, shown: Sequence[EvidenceText]) -> str | None:
    """Return the sentence of a person that flatly denies another, or that the other denies; None if none does.

    Example:
        >>> denied_by("Ana eats meat.", [EvidenceText(text="I don't eat meat.", speaker="Ana")])
        "I don't eat meat."
    """
    told = _POLARITIES[sentence]
    for one in shown if told.words else ():
        for said in sentences_of(one.text) if one.is_person else ():
            other = _POLARITIES[said]
            if (
                abs(told.denials - other.denials) == 1
                and _are_alike(told.words, other, Voices.of(one, shown))
                and not is_question(said)
            ):
                return said
    return None


def has_denial(sentence: str) -> bool:
    """Tell whether a word of a sentence denies.

    Example:
        >>> has_denial("I do not."), has_denial("Maybe.")
        (True, False)
    """
    return _POLARITIES[sentence].denials > 0


def is_negation(word: str, language: str) -> bool:
    """Tell whether a word, `don't` and `n'aime` among them, negates in a language; where that is blank, in any.

    Example:
        >>> is_negation("no", "en"), is_negation("no", "pt"), is_negation("isn't", "")
        (True, False, True)
    """
    folded = word.casefold()
    return (
        folded in _NEGATIONS
        or folded in (_OWN_NEGATIONS[language] if language else _ANY_NEGATION)
        or ("'" in folded and _CONTRACTED.fullmatch(folded) is not None)
    )


def _are_alike(words: Words, said: _Polarity, voices: Voices) -> bool:
    if len(words) == len(said.words) and all(map(_is_form, words, said.words)):
        return True
    return bool(voices.own) and is_resolved(words, said.words, voices, said.code)


def _is_form(one: str, other: str) -> bool:
    return one == other or third_person(one) == other or third_person(other) == one


def _polarity(sentence: str) -> _Polarity:
    text = plain(sentence)
    code = language_of(text, "")
    # A no in front denies what was said before, not what follows it.
    _, text = answered(text)
    denials = 0
    if _HAN.search(text):
        denials = len(_HAN_DENIAL.findall(text))
        text = _HAN_DENIAL.sub("", text)
    words = expanded(words_of(text))
    kept = tuple(word for word in words if word in WITHOUT or not is_negation(word, code))
    denials += len(words) - len(kept)
    if code in {"", "en"}:
        kept = tuple(word for word in kept if word not in _AUXILIARIES)
    return _Polarity(kept, denials, code)


_POLARITIES: Final = TextCache(_polarity, room=TEXT_ROOM)
