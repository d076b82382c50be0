"""Tells whether two sentences are the same once the I and the you of those who speak are resolved.

English verbs agree with the name that stands for I. Of other languages only the pronoun is resolved, so that a sentence
whose verb would change with it is another one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from agentcore.lexicon.language import language, languages
from dream.guards.languages import language_of
from dream.guards.patterns import lazy_pattern
from dream.guards.shown_text import EvidenceText
from dream.guards.wording import Words, plain, words_of

_ENGLISH: Final = language("en")
_SHORT_FORMS: Final = {"'m": "am", "'re": "are", "'ve": "have", "'ll": "will"}
_IRREGULAR_DENIALS: Final = {"can't": "can", "cannot": "can", "won't": "will", "shan't": "shall"}
_THIRD: Final = {word: form for form, words in _ENGLISH.third_person.items() for word in words}
_HISSING: Final = ("s", "x", "z", "ch", "sh", "o")
_FIRST_BY_LANGUAGE: Final = {one.code: frozenset(one.first_person) for one in languages()}
_ANY_FIRST: Final = frozenset[str]().union(*_FIRST_BY_LANGUAGE.values())
_INSIDE: Final = tuple(lazy_pattern(pattern) for one in languages() for pattern in one.first_person_inside)


@dataclass(frozen=True, slots=True)
class Voices:
    """Who says I in a text, and who is you there: each by the words of the names that stand for them."""

    own: tuple[Words, ...] = ()
    other: tuple[Words, ...] = ()

    @classmethod
    def of(cls, one: EvidenceText, shown: Iterable[EvidenceText]) -> "Voices":
        """Return the voices of a text among all that were shown; there is a you only where exactly two speak."""
        if one.speaker is None:
            return cls()
        others = {other.speaker for other in shown if other.speaker is not None} - {one.speaker}
        own = _names(one.speaker, others)
        return cls(own, _names(others.pop(), {one.speaker}) if len(others) == 1 else ())


def _names(speaker: str, others: Iterable[str]) -> tuple[Words, ...]:
    """Return a speaker's whole name, and the first word of it if nobody else has that too."""
    name = words_of(speaker)
    taken = {word for other in others for word in words_of(other)}
    return tuple(dict.fromkeys(part for part in (name, name[:1]) if part and (part == name or part[0] not in taken)))


class _Grammar(NamedTuple):
    """The pronouns of a language."""

    first: frozenset[str]
    is_english: bool

    @classmethod
    def of(cls, code: str) -> "_Grammar":
        return cls(_FIRST_BY_LANGUAGE.get(code, frozenset()) if code else _ANY_FIRST, code in {"", "en"})

    def names_for(self, word: str, voices: Voices) -> Sequence[Words]:
        """Return what may stand in the third person for a pronoun of the first or second."""
        if word in self.first:
            return voices.own
        if not self.is_english:
            return ()
        if word in _ENGLISH.first_person_object:
            return voices.own
        if word in _ENGLISH.second_person:
            return voices.other
        owners = {**dict.fromkeys(_ENGLISH.first_person_owner, voices.own)}
        owners |= dict.fromkeys(_ENGLISH.second_person_owner, voices.other)
        return [(*name[:-1], name[-1] + ending) for name in owners.get(word, ()) for ending in ("'s", "'")]

    def stands_for(self, now: str, word: str) -> bool:
        """Tell whether a pronoun stands in the third person for one of the first, where the speaker was named."""
        return self.is_english and (
            (word in _ENGLISH.first_person_owner and now in _ENGLISH.third_person_owner)
            or (word in _ENGLISH.first_person_object and now in _ENGLISH.third_person_self)
        )


class _Place(NamedTuple):
    """How far a sentence is read: the place, whether the speaker was named, whether a verb follows that agrees."""

    at: int = 0
    is_named: bool = False
    agrees: bool = False


def are_same(told: str, said: str, voices: Voices) -> bool:
    """Tell whether a sentence says in the third person what another says in the first.

    Example:
        >>> ana = Voices((("ana",),), (("bo",),))
        >>> are_same("Ana really likes her job, Bo.", "I really like my job, you.", ana)
        True
        >>> are_same("Ana has cats.", "I have a cat.", ana), are_same("Anna was here.", "I was here.", ana)
        (False, False)
    """
    words, given = words_of(told), words_of(said)
    if words == given:
        return True
    if not voices.own:
        return False
    if any(pattern.search(said) for pattern in _INSIDE):
        return any(words == words_of(_renamed(said, "".join(name))) for name in voices.own)
    return is_resolved(expanded(words), expanded(given), voices, language_of(plain(said), ""))


def _renamed(said: str, name: str) -> str:
    for pattern in _INSIDE:
        said = pattern.sub(lambda _: name, said)
    return said


def is_resolved(told: Words, said: Words, voices: Voices, code: str) -> bool:
    """Tell whether words in the first person become other words in the third.

    Args:
        told: The words in the third person.
        said: Those in the first.
        voices: Who says I and who is you.
        code: Language of what was said; blank if nobody knows.
    """
    # Short sentences are often taken for another language: "I am 30" for a German one.
    return any(_reads(told, said, voices, _Grammar.of(one)) for one in {code, "en"})


def _reads(told: Words, said: Words, voices: Voices, grammar: _Grammar) -> bool:
    places = {_Place()}
    for word in said:
        places = {after for place in places for after in _after(place, word, told, voices, grammar)}
    return any(place.at == len(told) for place in places)


def _after(place: _Place, word: str, told: Words, voices: Voices, grammar: _Grammar) -> Iterator[_Place]:
    """Yield how far the third person is read behind one more word of the first."""
    at, is_named, agrees = place
    now = told[at] if at < len(told) else ""
    if now == word:
        yield _Place(at + 1, is_named, agrees and word in _ENGLISH.before_verbs)
    if agrees and now == third_person(word) and grammar.is_english:
        yield _Place(at + 1, is_named)
    names = grammar.names_for(word, voices)
    yield from (
        _Place(at + len(name), is_named=True, agrees=True) for name in names if told[at : at + len(name)] == name
    )
    if is_named and grammar.stands_for(now, word):
        yield _Place(at + 1, is_named)


def third_person(word: str) -> str:
    """Return the form of an English verb behind a name.

    Example:
        >>> [third_person(word) for word in ("live", "try", "watch", "have")]
        ['lives', 'tries', 'watches', 'has']
    """
    if word in _THIRD:
        return _THIRD[word]
    if word.endswith("y") and word[-2:-1] not in set("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(_HISSING) else f"{word}s"


def expanded(words: Sequence[str]) -> Words:
    """Return words with English short forms written out.

    Example:
        >>> expanded(("i'm", "sure", "i", "can't", "ana's", "didn't"))
        ('i', 'am', 'sure', 'i', 'can', 'not', "ana's", 'did', 'not')
    """
    if not any("'" in word or word in _IRREGULAR_DENIALS for word in words):
        return tuple(words)
    return tuple(part for word in words for part in _written_out(word))


def _written_out(word: str) -> tuple[str, ...]:
    if word in _IRREGULAR_DENIALS:
        return (_IRREGULAR_DENIALS[word], "not")
    if word.endswith("n't"):
        return (word[:-3], "not")
    head, sign, rest = word.rpartition("'")
    full = _SHORT_FORMS.get(sign + rest)
    return (head, full) if full else (word,)
