"""The words that the coverage guard takes for ordinary, and those it never does: a file, like a directive."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, cast

import orjson

from dream.errors import InvalidVocabularyError
from dream.guards.folding import word_key

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
