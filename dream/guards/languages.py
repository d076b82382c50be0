"""Guesses a text's language from its function words."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from agentcore.lexicon.language import Language, language, languages, recognised
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.number_words import WORDS
from dream.guards.text_cache import TEXT_ROOM, TextCache

_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*")
_SAMPLE: Final = 2_000

UNKNOWN: Final = ""
"""Stands for a language whose words are those of the known ones, as far as anybody can tell."""
UNTABLED: Final = "other"
"""Stands for a language that no table of the guards knows."""


def all_words(read: Callable[[Language], Iterable[str]]) -> frozenset[str]:
    """Return the words that *read* finds in any language."""
    return frozenset(word for one in languages() for word in read(one))


def _telling() -> dict[str, tuple[str, ...]]:
    """Return the languages of each word that tells one: little words, and numbers that no other language has."""
    counted = Counter(word for words in WORDS.values() for word in words)
    markers = {code: frozenset(one.markers) for code, one in recognised().items()}
    little = frozenset[str]().union(FUNCTION_WORDS, all_words(lambda one: one.shared_numbers), *markers.values())
    own = {
        code: frozenset(word for word in words if counted[word] == 1 and word not in little)
        for code, words in WORDS.items()
    }
    tables = {code: words | own.get(code, frozenset()) for code, words in markers.items()}
    return {
        word: tuple(code for code, table in tables.items() if word in table)
        for word in frozenset[str]().union(*tables.values())
    }


FUNCTION_WORDS: Final = frozenset(language("en").stop_words) | all_words(lambda one: one.function_words)
"""Words that say how a sentence is built, in the languages that are recognised."""
_SPEAKERS: Final = _telling()


def language_of(text: str, otherwise: str = "en") -> str:
    """Return the language whose little words stand most often in the first 2,000 characters.

    Args:
        text: Any string.
        otherwise: The answer where no language leads.

    Example:
        >>> language_of("A Inês mora no Porto desde o verão"), language_of("Carmen no trabaja los viernes con el jefe")
        ('pt', 'es')
    """
    return _leader([text[:_SAMPLE]]) or otherwise


def language_of_all(texts: Sequence[str], otherwise: str = "en") -> str:
    """Return the language of texts that are read one after the other, as of one text with a line for each.

    Example:
        >>> language_of_all(["Tea.", "Der Hund ist nicht da."])
        'de'
    """
    fits = sum(map(len, texts)) + len(texts) - 1 <= _SAMPLE
    return _leader(texts if fits else ["\n".join(texts)[:_SAMPLE]]) or otherwise


def _leader(samples: Iterable[str]) -> str | None:
    votes: dict[str, int] = {}
    for sample in samples:
        for name, count in _VOTES[sample].items():
            votes[name] = votes.get(name, 0) + count
    first, second = ([*sorted(votes.values(), reverse=True), 0, 0])[:2]
    return max(votes, key=votes.__getitem__) if first > second else None


def _votes(sample: str) -> Mapping[str, int]:
    return Counter(name for word in _WORD.findall(sample.casefold()) for name in _SPEAKERS.get(word, ()))


_VOTES: Final = TextCache(_votes, room=TEXT_ROOM)
