"""Names and acronyms: words with a capital that no rule of spelling has put there."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import orjson

from dream.errors import InvalidVocabularyError
from dream.guards.detail import COVER
from dream.guards.folding import ELISION, fold_word, word_key
from dream.guards.languages import all_words
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

VOCABULARY_FILE: Final = "merge-coverage-vocabulary.json"
"""Name of the built-in file, and of the one that overrides it in a data folder's `directives/`."""

_MOST_BYTES: Final = 1_000_000
_FIELDS: Final = ("sentence_openers", "common_words", "always_specific")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """Words by their `word_key`; `always_specific` beats `common_words`, which beats everything else.

    Args:
        sentence_openers: Ordinary where they begin a sentence; inside one a capital makes them a name.
        common_words: Ordinary everywhere.
        always_specific: Never ordinary, whatever their case.
    """

    sentence_openers: frozenset[str] = frozenset()
    common_words: frozenset[str] = frozenset()
    always_specific: frozenset[str] = frozenset()

    def is_ordinary(self, key: str) -> bool:
        """Tell whether a word is no name though it has a capital."""
        return key not in self.always_specific and (key in self.common_words or key in self.sentence_openers)

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
        return _strings(fields, name, path) if name in fields else cast("frozenset[str]", getattr(base, name))

    return Vocabulary(
        sentence_openers=words("sentence_openers"),
        common_words=words("common_words"),
        always_specific=words("always_specific"),
    )


def _strings(fields: dict[str, object], name: str, path: str) -> frozenset[str]:
    value = fields[name]
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    kept = [item for item in items if isinstance(item, str) and item.strip()]
    if len(kept) != len(items):
        raise InvalidVocabularyError(path=path, problem=f"its {name} is not a list of words")
    return frozenset(word_key(word) for text in kept for word in text.split())


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


WORD: Final = lazy_pattern(r"\p{L}[\p{L}\p{M}]*(?:'\p{L}[\p{L}\p{M}]*)*'?")
"""A word with its apostrophes; scripts without spaces give whole phrases."""

_SENTENCE_END = lazy_pattern(r"[.!?…:。！？\n|•]|^\s*[-*]\s|\s[-–—]\s|[\"“„«‘]\s*$")
_ABBREVIATIONS: Final = all_words(lambda one: one.abbreviations)


class WrittenWord(NamedTuple):
    """A word of a text.

    Args:
        written: As it stands, without an elided article before it.
        opens: It begins a sentence, so that its capital may mean nothing.
    """

    written: str
    opens: bool

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
            written = written[elided.end() :]
        opens = opens_next
        if gap != " ":
            opens = opens or (_SENTENCE_END.search(gap) is not None and not _is_abbreviation(before, gap))
            # An opening bracket or a covered place before it means that the sentence has begun already.
            opens = opens and COVER not in gap.rsplit(".", maxsplit=1)[-1]
        found.append(WrittenWord(written, opens))
        end, before, opens_next = ends, fold_word(written), False
    return tuple(found)


def _is_abbreviation(before: str, gap: str) -> bool:
    return gap.startswith(".") and gap.strip(" ") == "." and (before in _ABBREVIATIONS or len(before) == 1)


_WORDS: Final = TextCache(_words_of, room=TEXT_ROOM)
