"""Which language a text is in, as far as its little words tell."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from agentcore.recall.stopwords import ENGLISH_STOP_WORDS
from dream.guards.folding import words_in
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.number_words import WORDS
from dream.guards.text_cache import TEXT_ROOM, TextCache

_WORD = lazy_pattern(r"\p{L}[\p{L}\p{M}]*")
_SAMPLE: Final = 2_000

MARKERS: Final[dict[str, frozenset[str]]] = {
    "en": words_in(
        "the is are was were and of to with for from has have her his she he they it not at by on in or but be an "
        "this must may can my you your our their does did would should about what who which weeks days months years"
    ),
    "pt": words_in(
        "o os do da dos das e em no na nos nas um uma não com é ao à às por que mas foi são meu minha eu você tem "
        "muito também então ele ela seu"
    ),
    "es": words_in(
        "el los la las del de y en un una no con es por que pero se su al lo fue son está yo muy tiene también ella él "
        "cuando hace"
    ),
    "fr": words_in(
        "le les la des du de et en un une ne pas avec est au aux qui que mais à elle il sont dans je mon nous vous ont "
        "suis très depuis sa ses cette"
    ),
    "de": words_in(
        "der die das den dem des und ist in ein eine nicht mit von zu bei seit sie er für im am um ich mein meine wir "
        "hat habe sich auf als auch wird zum zur einen einem einer aus nach oder kein keine"
    ),
    "it": words_in(
        "il lo gli la le di del della e un una non con è che ma sono nel alla ho mio mia io anche molto dal dalla dei "
        "delle degli nella"
    ),
    "nl": words_in(
        "de het een en is niet met van te bij zijn voor op aan ook maar ik mijn wij hij heeft heb dat deze wordt naar "
        "sinds om tot"
    ),
}
"""Words that a language cannot do without and that its neighbours lack or use seldom."""

_LINKS: Final = """
o a os as um uma uns umas de do da dos das em no na nos nas ao aos à às por para com que se seu sua seus suas ele ela
eles elas é são foi ser está estão mas e ou el la los las un una unos unas del al en y o u con por para que se su sus
lo le les él ella es son fue está están pero como le la les des du de et ou en un une au aux dans avec par pour qui
que il elle ils elles est sont son sa ses ce cette se mais l d s j c qu der die das den dem des ein eine einen einem
einer eines und oder in im am um zu zum zur mit von vom bei beim seit für auf aus an ist sind war hat sie er es ihr
sein seine aber wird werden il gli di della nel alla per che het een te van op aan zijn
"""
FUNCTION_WORDS: Final[frozenset[str]] = ENGLISH_STOP_WORDS | frozenset(_LINKS.split())
"""Words that say how a sentence is built, in the languages of `MARKERS`."""


def _telling() -> dict[str, tuple[str, ...]]:
    """Return the languages of each word that tells one: little words, and numbers that no other language has."""
    counted = Counter(word for words in WORDS.values() for word in words)
    little = frozenset[str]().union(FUNCTION_WORDS, _NO_NUMBERS, *MARKERS.values())
    own = {
        language: frozenset(word for word in words if counted[word] == 1 and word not in little)
        for language, words in WORDS.items()
    }
    tables = {language: markers | own[language] for language, markers in MARKERS.items()}
    return {
        word: tuple(language for language, table in tables.items() if word in table)
        for word in frozenset[str]().union(*tables.values())
    }


_NO_NUMBERS: Final = words_in("due sept")
"""Numbers of one language that are everyday words of another."""
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
