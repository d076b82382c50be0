"""Names and acronyms: words with a capital that no rule of spelling has put there."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from agentcore.lexicon.language import language
from dream.errors import InvalidVocabularyError
from dream.guards.detail import COVER, DetailKind, TextScan
from dream.guards.folding import ELISION, fold, fold_word, word_key
from dream.guards.languages import FUNCTION_WORDS, all_words
from dream.guards.negations import is_negation
from dream.guards.number_words import WORDS as NUMBERS
from dream.guards.patterns import TEXT_ROOM, WORD_ROOM, TextCache, lazy_pattern

VOCABULARY_FILE: Final = "merge-coverage-vocabulary.json"
"""Name of the built-in file, and of the one that overrides it in a data folder's `directives/`."""

_MOST_BYTES: Final = 1_000_000
_FIELDS: Final = ("sentence_openers", "common_words", "always_specific", "number_exempt_categories")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words by their `word_key`; `always_specific` beats `common_words`, which beats everything else.

    Args:
        sentence_openers: Ordinary where they begin a sentence; inside one a capital makes them a name.
        common_words: Ordinary everywhere.
        always_specific: Never ordinary, whatever their case.
        number_exempt_categories: Categories (with everything below) whose numbers may change in a merge.
    """

    sentence_openers: frozenset[str] = frozenset()
    common_words: frozenset[str] = frozenset()
    always_specific: frozenset[str] = frozenset()
    number_exempt_categories: tuple[str, ...] = ()

    def numbers_matter(self, category: str | None) -> bool:
        """Tell whether numbers must be conserved in merges of a category; None is any category.

        Example:
            >>> Vocabulary(number_exempt_categories=("routing",)).numbers_matter("routing/fallback")
            False
        """
        below = f"{category or ''}/"
        return not any(below.startswith(f"{exempt}/") for exempt in self.number_exempt_categories)

    def to_json(self) -> bytes:
        """Return the file that reads back as this vocabulary."""
        fields = {name: sorted(cast("frozenset[str]", getattr(self, name))) for name in _FIELDS}
        return orjson.dumps(fields, option=orjson.OPT_INDENT_2)


@dataclass(frozen=True, slots=True)
class LoadedVocabulary:
    """What `load_vocabulary` found.

    Args:
        vocabulary: The one to work with.
        problem: Why an override was not taken, or None.
    """

    vocabulary: Vocabulary
    problem: InvalidVocabularyError | None = None


def parse_vocabulary(data: bytes, *, path: str, base: Vocabulary | None = None) -> Vocabulary:
    """Read a vocabulary file.

    Args:
        data: A JSON object; each field, if given, is a list of strings and replaces that of *base*.
        path: Where it came from, for the error.
        base: Gives the fields that the file leaves out.

    Raises:
        InvalidVocabularyError: it is no such object, has an unknown field, or exceeds 1 MB.

    Example:
        >>> parse_vocabulary(b'{"always_specific": ["Sterling"]}', path="mine.json").always_specific
        frozenset({'sterling'})
    """
    if len(data) > _MOST_BYTES:
        raise InvalidVocabularyError(path=path, problem=f"it has {len(data):,} bytes, more than {_MOST_BYTES:,}")
    try:
        given: object = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise InvalidVocabularyError(path=path, problem=f"it is not valid JSON ({error})") from None
    if not isinstance(given, dict):
        raise InvalidVocabularyError(path=path, problem="it is not a JSON object")
    fields = cast("dict[str, object]", given)
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise InvalidVocabularyError(path=path, problem=f"it has the unknown field {unknown[0][:80]!r}")
    base = base or Vocabulary()

    def words(name: str) -> frozenset[str]:
        return _strings(fields, name, path, word_key) if name in fields else cast("frozenset[str]", getattr(base, name))

    exempt = base.number_exempt_categories
    if "number_exempt_categories" in fields:
        exempt = tuple(sorted(_strings(fields, "number_exempt_categories", path, lambda name: name.strip("/"))))
    return Vocabulary(
        sentence_openers=words("sentence_openers"),
        common_words=words("common_words"),
        always_specific=words("always_specific"),
        number_exempt_categories=exempt,
    )


def _strings(fields: dict[str, object], name: str, path: str, form: Callable[[str], str]) -> frozenset[str]:
    value = fields[name]
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    kept = [item for item in items if isinstance(item, str) and item.strip()]
    if len(kept) != len(items):
        raise InvalidVocabularyError(path=path, problem=f"its {name} is not a list of words")
    return frozenset(form(word) for text in kept for word in text.split())


@cache
def builtin_vocabulary() -> Vocabulary:
    """Return the vocabulary that ships with dream; read once per process."""
    package = Path(__file__).parents[1]
    packaged = package / "_directives" / VOCABULARY_FILE
    path = packaged if packaged.exists() else package.parent / "directives" / VOCABULARY_FILE
    return parse_vocabulary(path.read_bytes(), path=VOCABULARY_FILE)


def load_vocabulary(path: Path | None) -> LoadedVocabulary:
    """Return the vocabulary of a file, or the built-in one where there is no file or a broken one.

    Args:
        path: A file that overrides the built-in one field by field; None or absent is no override.
    """
    if path is None or not path.exists():
        return LoadedVocabulary(builtin_vocabulary())
    try:
        return LoadedVocabulary(parse_vocabulary(path.read_bytes(), path=str(path), base=builtin_vocabulary()))
    except OSError as error:
        problem = InvalidVocabularyError(path=str(path), problem=f"it cannot be read ({error.strerror})")
    except InvalidVocabularyError as error:
        problem = error
    return LoadedVocabulary(builtin_vocabulary(), problem)


_ENDINGS: Final = ("", "e", "n", "en", "er", "ern", "s", "es", "nen", "innen")
_NAMES_LIKE_NOUNS: Final = frozenset(language("de").names_like_nouns)
_SUFFIX = lazy_pattern(
    r"\p{L}{3,}(?:ung|ungen|heit|heiten|keit|keiten|schaft|schaften|tion|tionen|ismus|tat|taten|nis|nisse|chen|erei"
    r"|ereien|ling|linge|itis|logie|grafie|graphie|meter|zeug|werk|stoff|mittel|gang|satz|kraft)"
    r"|\p{L}{4,}erin(?:nen)?"
)


def is_everyday_noun(written: str) -> bool:
    """Tell whether a word with a capital is a noun of the tables, a compound of one, or has the ending of one.

    Example:
        >>> [is_everyday_noun(word) for word in ("Haustiere", "Musikerin", "Lösungen", "Hannover", "Kemal")]
        [True, True, True, False, False]
    """
    return _KNOWN[written]


def _is_noun(written: str) -> bool:
    folded = fold(written)
    if folded in _NAMES_LIKE_NOUNS:
        return False
    if _SUFFIX.fullmatch(folded):
        return True
    stems = [folded.removesuffix(ending) for ending in _ENDINGS if folded.endswith(ending)]
    return any(stem in _FOLDED for stem in stems) or any(
        stem[start:] in _HEADS for stem in stems for start in range(2, len(stem) - 3)
    )


def exchanged_nouns(text: str, sources: Iterable[str]) -> list[str]:
    """Return the nouns of a German text in whose place, behind the same words, its sources have another.

    Example:
        >>> exchanged_nouns("Anas Tochter spielt Klavier.", ["Meine Tochter spielt Geige."])
        ['Klavier']
        >>> exchanged_nouns("Ana backt Apfelkuchen.", ["Ich backe Kuchen."])
        []
    """
    known = fold(text)
    heard = [_framed(source) for source in sources]
    told = fold(" ".join(sources))
    return [
        noun
        for frame, noun in _framed(text)
        if fold(noun)[:-2] not in told
        and any(frame == other and not _akin(noun, instead, known) for one in heard for other, instead in one)
    ]


def _akin(noun: str, other: str, known: str) -> bool:
    return fold(other)[:-2] in known or fold(noun).endswith(fold(other)[1:])


def _framed(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return everyday nouns behind the little words, and the one that tells something, that stand before them."""
    found: list[tuple[tuple[str, ...], str]] = []
    frame: tuple[str, ...] = ()
    for match in _WORD_OR_STOP.finditer(text):
        word = match.group()
        if not word[0].isalpha():
            frame = ()
        elif fold(word) in FUNCTION_WORDS:
            frame = (*frame, fold(word)) if frame else ()
        else:
            if frame and word[0].isupper() and is_everyday_noun(word):
                found.append((frame, word))
            frame = (fold(word)[:5],)
    return found


_WORD_OR_STOP = lazy_pattern(r"\p{L}+|[.!?;:,\n]")
_FOLDED: Final = frozenset(map(fold, language("de").everyday_nouns))
_HEADS: Final = frozenset(noun for noun in _FOLDED if len(noun) >= 4) - frozenset(language("de").name_endings)
_KNOWN: Final = TextCache(_is_noun, room=WORD_ROOM)


WORD: Final = lazy_pattern(r"\p{L}[\p{L}\p{M}]*(?:'\p{L}[\p{L}\p{M}]*)*'?")
"""A word with its apostrophes; scripts without spaces give whole phrases."""

_SENTENCE_END = lazy_pattern(r"[.!?…:。！？\n|•]|^\s*[-*]\s|\s[-–—]\s|[\"“„«‘]\s*$")
_ABBREVIATIONS: Final = all_words(lambda one: one.abbreviations)
_ADVERB_OR_PARTICIPLE = lazy_pattern(r"\p{Ll}{3,}(?:ly|ing|ed|mente|ment)")
_FORMS: Final = (("ie", "y"), ("e", ""), ("ed", ""), ("ed", "e"), ("ied", "y"), ("ing", ""), ("ing", "e"), ("er", ""))
_VERB = lazy_pattern(r"(?<=\p{Lu})(?:s|'?e?d|'?ing)$")
_LONE_LETTERS: Final = frozenset("iaoeyuàéóèöå")
_GERMAN_BEFORE_NOUN: Final = frozenset(language("de").words_before_nouns)
_ADJECTIVE_BEFORE = lazy_pattern(
    rf"(?<!\p{{L}})(?:{'|'.join(sorted(_GERMAN_BEFORE_NOUN))})\s(?:\p{{Ll}}+(?:e|en|er|es|em)\s){{1,2}}$",
)
_LOOK_BACK: Final = 60


class WrittenWord(NamedTuple):
    """A word of a text.

    Args:
        written: As it stands, without an elided article before it.
        start: Where.
        opens: It begins a sentence, so that its capital may mean nothing.
        follows: It stands one space or hyphen behind the word before it.
        before: The word before it, folded.
    """

    written: str
    start: int
    opens: bool
    follows: bool
    before: str

    @property
    def key(self) -> str:
        """The form in which it is compared."""
        return word_key(self.written)


def written_words(text: str) -> tuple[WrittenWord, ...]:
    """Return the words of a text in reading order; linear in its length."""
    return _WORDS[text]


def _words_of(text: str) -> tuple[WrittenWord, ...]:
    found: list[WrittenWord] = []
    end, before, opens_next = 0, "", True
    for match in WORD.finditer(text):
        start, ends = match.span()
        gap, written = text[end:start], text[start:ends]
        elided = ELISION.match(written) if "'" in written else None
        if elided:
            start, written = start + elided.end(), written[elided.end() :]
        opens = opens_next
        if gap != " ":
            opens = opens or (_SENTENCE_END.search(gap) is not None and not _is_abbreviation(before, gap))
            # An opening bracket or a covered place before it means that the sentence has begun already.
            opens = opens and COVER not in gap.rsplit(".", maxsplit=1)[-1]
        found.append(WrittenWord(written, start, opens, gap in {" ", "-"}, before))
        end, before, opens_next = ends, fold_word(written), False
    return tuple(found)


def _is_abbreviation(before: str, gap: str) -> bool:
    return gap.startswith(".") and gap.strip(" ") == "." and (before in _ABBREVIATIONS or len(before) == 1)


def lower_case_keys(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys of the words that stand in lower case."""
    return frozenset[str]().union(*(_LOWER[text] for text in texts))


def _lower_case_keys(text: str) -> frozenset[str]:
    return frozenset(word_key(word) for word in WORD.findall(text) if word.islower())


def word_keys(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys of the words of texts."""
    return frozenset[str]().union(*(_WHOLE[text] for text in texts))


def _whole_keys(text: str) -> frozenset[str]:
    return frozenset(word_key(word) for word in WORD.findall(text))


def joined_words(words: Sequence[WrittenWord], text: str) -> dict[int, str]:
    """Return the key of each two words with a hyphen between as one word, by the place of the first."""
    return {
        one.start: word_key(one.written + other.written)
        for one, other in pairwise(words)
        if other.follows and text[other.start - 1] == "-"
    }


def read_names(
    scan: TextScan, vocabulary: Vocabulary, lower: frozenset[str], whole: frozenset[str] = frozenset()
) -> None:
    """Find names and acronyms.

    Args:
        scan: What is left when numbers, dates and literals are covered.
        vocabulary: Which words are ordinary.
        lower: Keys of words that also stand in lower case, here or in the texts beside it: they are ordinary.
        whole: Keys of all words of these texts: `Wi-Fi` is one word where `wifi` stands beside it.
    """
    shouted = _is_shouted(scan.text)
    german = scan.language == "de"
    words = written_words(scan.text)
    joined = {place: key for place, key in joined_words(words, scan.text).items() if key in whole}
    in_joined = False
    for word in words:
        key = joined.get(word.start)
        if key is not None or in_joined:
            if key is not None and key not in lower and word.written[0].isupper():
                scan.add(DetailKind.NAME, word.start, word.start + len(word.written), key)
            in_joined = key is not None
            continue
        # A word in lower case is a name only if a person said so.
        if not word.written[0].isupper() and word.key not in vocabulary.always_specific:
            continue
        kind = _kind(word, vocabulary, lower, german=scan.text if german else None, shouted=shouted)
        if kind is not None:
            scan.add(kind, word.start, word.start + len(word.written), word.key)


def _kind(
    word: WrittenWord, vocabulary: Vocabulary, lower: frozenset[str], *, german: str | None, shouted: bool
) -> DetailKind | None:
    key = word.key
    if key in vocabulary.always_specific:
        return DetailKind.NAME
    written = word.written.removesuffix("'s").removesuffix("'")
    if key in vocabulary.common_words or is_negation(written):
        return None
    if _is_acronym(written) and not (shouted and key in vocabulary.sentence_openers):
        return None if shouted and key in lower else DetailKind.ACRONYM
    ordinary = (
        key in lower
        or (len(written) == 1 and (word.opens or key in _LONE_LETTERS))
        or (word.opens and (_seen(key, lower) or _seen(key, vocabulary.sentence_openers)))
        or (word.opens and _ADVERB_OR_PARTICIPLE.fullmatch(written[1:]) is not None)
        or (german is not None and _is_german_noun(word, german))
    )
    return None if ordinary else DetailKind.NAME


def _seen(key: str, words: frozenset[str]) -> bool:
    """Tell whether a word, or the word that it is a regular English form of, is among others."""
    if key in words:
        return True
    for ending, instead in _FORMS:
        if len(key) > len(ending) + 2 and key.endswith(ending) and key.removesuffix(ending) + instead in words:
            return True
    return False


def _is_acronym(written: str) -> bool:
    stem = _VERB.sub("", written)
    return len(stem) >= 2 and stem.isupper()


def _is_german_noun(word: WrittenWord, text: str) -> bool:
    return (
        is_everyday_noun(word.written)
        or word.before in _GERMAN_BEFORE_NOUN
        or word.before in NUMBERS["de"]
        or _ADJECTIVE_BEFORE.search(text[max(0, word.start - _LOOK_BACK) : word.start]) is not None
    )


def _is_shouted(text: str) -> bool:
    letters = list(filter(str.isalpha, text[:2_000]))
    return len(letters) > 20 and sum(map(str.isupper, letters)) > 0.6 * len(letters)


_WORDS: Final = TextCache(_words_of, room=TEXT_ROOM)
_LOWER: Final = TextCache(_lower_case_keys, room=TEXT_ROOM)
_WHOLE: Final = TextCache(_whole_keys, room=TEXT_ROOM)
