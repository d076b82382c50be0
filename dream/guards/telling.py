"""Whether a text tells each sentence of its sources.

What a sentence has of names, numbers, dates and negations of its own is compared by `dream.guards.coverage`. A sentence
that shares all of them with another one can still be lost whole: here its plain words count.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentcore.recall.tokenizer import Tokenizer
from dream.guards.folding import fold_word
from dream.guards.languages import FUNCTION_WORDS
from dream.guards.late import late
from dream.guards.specific import Kind, Specific
from dream.guards.specifics import Beside, extract
from dream.guards.vocabulary import Vocabulary

_SENTENCE_END = late(
    r"(?<=[.!?])(?<!\b(?:\p{Lu}|Dr|Mr|Mrs|Ms|Prof|St|Sr|Sra|Jr|Nr|No|vs|max|min|approx|etc)\.)\s+(?=[\p{Lu}\p{Lo}\p{N}\"'])"
    r"|(?<=[。！？])|\n+"
)
_SHARE: Final = 1 / 3
"""Of the words that no other sentence of the sources has, so many at least must stand in the text."""
_REST: Final = 2 / 3
"""Of all its plain words, so many tell a sentence too: then the others say the same in another word."""
_FEW_WORDS: Final = 2
_SAME_MATTER: Final = 3
"""Shared details by which a sentence of few own words retells another one; a value counts as two names."""
_NAMES: Final = frozenset({Kind.NAME, Kind.ACRONYM, Kind.WEEKDAY, Kind.NEGATION})


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    words: frozenset[str]
    details: frozenset[tuple[Kind, Hashable]]

    def retells(self, other: "_Sentence", own: frozenset[str]) -> bool:
        """Tell whether few words and no detail of its own set it apart from *other*."""
        weight = sum(1 if kind in _NAMES else 2 for kind, _ in self.details)
        return len(own) <= _FEW_WORDS and self.details <= other.details and weight >= _SAME_MATTER


def untold(sources: Sequence[str], text: str, vocabulary: Vocabulary, tokenizer: Tokenizer) -> list[str]:
    """Return the sentences of *sources* that *text* does not tell, in their order.

    A sentence is told if a third of the plain words that it alone has stand in the text, or two thirds of all its
    plain words, or if it has but two such words and shares its details, three or more, with another one. One with a
    name, number, date or negation of its own is left to `coverage`, which demands that.

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> sources = ["Omar takes no aspirin.", "Omar works in Malmö.", "Omar plays the flute."]
        >>> untold(sources, "Omar works in Malmö.", builtin(), Tokenizer())
        ['Omar plays the flute.']
    """
    beside = Beside.of([text, *sources])
    told = frozenset(tokenizer.tokens(text))
    sentences = [
        _read(one, extract(one, vocabulary, beside=beside).items, tokenizer)
        for source in dict.fromkeys(sources)
        for one in _sentences(source)
    ]
    words = Counter(word for one in sentences for word in one.words)
    details = Counter(detail for one in sentences for detail in one.details)
    return [
        one.text
        for one in sentences
        if all(details[detail] > 1 for detail in one.details)
        and not _is_told(one, frozenset(word for word in one.words if words[word] == 1), told, sentences)
    ]


def _read(sentence: str, details: Sequence[Specific], tokenizer: Tokenizer) -> _Sentence:
    named = frozenset[str]().union(*(tokenizer.tokens(detail.text) for detail in details))
    words = (word for word in sentence.split() if fold_word(word.strip(".,;:!?'\"()")) not in FUNCTION_WORDS)
    terms = tokenizer.tokens(" ".join(words))
    plain = frozenset(term for term in terms if not any(map(str.isdigit, term))) - named
    return _Sentence(sentence, plain, frozenset((detail.kind, detail.key) for detail in details))


def _is_told(one: _Sentence, own: frozenset[str], told: frozenset[str], sentences: Sequence[_Sentence]) -> bool:
    compared = own or one.words
    return (
        len(compared & told) >= _SHARE * len(compared)
        or (len(one.words) > 1 and len(one.words & told) >= _REST * len(one.words))
        or any(one.retells(other, own) for other in sentences if other is not one)
    )


def _sentences(text: str) -> Iterator[str]:
    return (one.strip() for one in _SENTENCE_END.split(text) if one and one.strip())
