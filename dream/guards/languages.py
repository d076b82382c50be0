"""Guesses a text's language from its function words, and holds the words by which answers and corrections begin."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import regex

from agentcore.lexicon.language import Language, language, languages, recognised
from dream.guards.number_words import WORDS
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*")
_SAMPLE: Final = 2_000


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
    votes = _VOTES[text[:_SAMPLE]]
    first, second = ([*sorted(votes.values(), reverse=True), 0, 0])[:2]
    return max(votes, key=votes.__getitem__) if first > second else otherwise


def _votes(sample: str) -> Mapping[str, int]:
    return Counter(name for word in _WORD.findall(sample.casefold()) for name in _SPEAKERS.get(word, ()))


_VOTES: Final = TextCache(_votes, room=TEXT_ROOM)


ABBREVIATED = lazy_pattern(
    r"(?:\b(?:dra?|mrs?|ms|mme|mlle|profa?|st|sra?|jr|nr|vs|bzw|ca|approx|(?-i:\p{Lu})|\p{L}\.\s?\p{L})\.|\.{3,}|…"
    # A small letter alone, as in `z. B.`; no unit, as in `4 m.` or `2 m/s.`, and nothing behind an apostrophe.
    r"|(?<![^\s(]|\d\s)\p{L}\.)$",
    regex.IGNORECASE,
)
QUESTION = lazy_pattern(r"[?？؟]\W*$")
UNSPACED = lazy_pattern(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Hangul}]")
OTHER_MARKS = lazy_pattern(
    r"[ąćęłńśźżěščřžůďťňőűğışåøășț]"
    r"|\b(?:mutta|myös|jest|czy|się|och|inte|jag|ikke|jeg|bir|nem|egy|hogy|tidak|saya|yang|sunt|ei|että|minä)\b",
)
CORRECTION = lazy_pattern(
    r"\b(?:actually|correction|wait|i was wrong|i take (?:it|that) back|changed my mind|doch|eigentlich"
    r"|korrektur|en fait"
    r"|finalement|de hecho|en realidad|corrección|na verdade|aliás|afinal|in realtà|anzi|eigenlijk|toch|вообще-то"
    r"|на самом деле|faktiskt|właściwie|aslında)\b|其实|其實|實際|实际|更正|実は|訂正|사실|في الواقع|בעצם",
    regex.IGNORECASE,
)
SUBJECTS: Final = all_words(lambda one: one.subjects)
WITHOUT: Final = all_words(lambda one: one.without)
TAKES_BACK: Final = lazy_pattern(
    r"^\W*(?:(?:oh|ah|ach|äh|uh|um|well|ok|okay|sorry|hmm*|ay|ups|oops|nein|no|non|não|nee|нет)\W+)*"
    r"(?:no|nope|nein|non|não|nee|нет|oops|ups|wait|scratch that|(?:i )?spoke too soon|my (?:mistake|bad)|i (?:meant"
    r"|misspoke)"
    r"|correction|actually|changed|turns out|i was wrong|doch nicht|quatsch|falsch|korrektur|ich meinte|moment|halt"
    r"|pardon|en fait|finalement|je me suis trompée?|je voulais dire|perdón|me equivoqué|quise decir|al final"
    r"|en realidad"
    r"|enganei-me|me enganei|afinal|na verdade|quis dizer|aliás|scusa|anzi|mi sono sbagliat[oa]|mi sbaglio|volevo dire"
    r"|alla fine|toch niet|foutje|ik bedoel(?:de)?|eigenlijk|ошибл?[ао]?с?[ья]?|вернее)(?!\p{L})"
    r"|^\W*(?:不对|不是|更正|其实|搞错|いや|違|訂正|間違|아니|사실|لا|في الواقع|עזוב)",
    regex.IGNORECASE,
)
"""How a text begins that takes back what its speaker said."""


def _any(read: Callable[[Language], Iterable[str]]) -> str:
    """Return a pattern of the patterns that *read* finds in any language, the longest first."""
    found = sorted({pattern for one in languages() for pattern in read(one)}, key=lambda one: (-len(one), one))
    return "|".join(found).replace(" ", r"\s+")


_LEADING: Final = rf"(?:\W*+(?:{_any(lambda one: one.answer_fillers)})\b)*+\W*+"
_END: Final = r"(?=\s*(?:[,.!;:—–…?。，！、؛،]|-\s|$))"
_ENGLISH_NO: Final = r"(?:no|nee|nein|non|não)(?=\s+(?:i|we|he|she|it|they|that|there|ich|wir|das|dat|je|eu|nós)\b)"
_DENYING = lazy_pattern(rf"{_LEADING}(?:(?:{_any(lambda one: one.no)}){_END}|{_ENGLISH_NO})", regex.IGNORECASE)
_AFFIRMING = lazy_pattern(
    rf"{_LEADING}(?:(?:{_any(lambda one: one.yes)})(?!\p{{L}})|(?:{_any(lambda one: one.weak_yes)}){_END}"
    rf"|(?:{_any(lambda one: one.often)})(?!\p{{L}}|.*(?<!\p{{L}})(?:no|not|never|nicht|nie|kein\p{{L}}*|pas|jamais"
    rf"|nunca|non|mai|não|niet|i|we|you|they|ich|wir|je|nous|yo|eu|io|ik|nooit|geen|не|n't)(?!\p{{L}})))",
    regex.IGNORECASE,
)


def answered(sentence: str) -> tuple[bool | None, str]:
    """Return whether a sentence begins with a yes or with a no, None if with neither; and what follows.

    Example:
        >>> answered("Not yet, but I want to."), answered("No milk, please."), answered("Exactly!")
        ((False, ', but I want to.'), (None, 'No milk, please.'), (True, '!'))
    """
    for pattern, reply in ((_DENYING, False), (_AFFIRMING, True)):
        found = pattern.match(sentence)
        if found is not None:
            return reply, sentence[found.end() :]
    return None, sentence
