"""Cuts out of a text the few words and names that tell what it is about, by rules.

They follow from the text alone, so they are derived where they are needed and stored nowhere: nothing has to be filled
in for older texts, and nothing can differ from the text it came from.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Final, cast

import regex

from agentcore.lexicon.language import language, languages

MAX_CONCEPTS: Final = 8
"""Concepts of one text at most."""
MAX_CONCEPT_BYTES: Final = 32
"""UTF-8 bytes of a concept at most; longer ones are hashes, encoded files or noise."""

_READ_CHARACTERS: Final = 2_000
"""Characters of a text that are looked at: what it is about stands at its beginning."""
_LONGEST_RUN: Final = 4
"""Characters of Han up to which a run is taken for one word; a longer one is cut into pairs."""

_EXTENSIONS = """
7z avi bak bin bmp cfg cpp css csv db dll doc docx exe flac gif gz hpp htm html ico ini iso jar java jpeg jpg js json
jsonl jsx lock log m4a md mkv mov mp3 mp4 odt ogg pdf php png ppt pptx ps1 py rar rs rst rtf scss sh sql svg tar tex tgz
tif tiff toml ts tsx txt wav webm webp xls xlsx xml yaml yml zip
"""

_FILE_EXTENSIONS: Final = frozenset(_EXTENSIONS.split())
"""Endings of file names: alone they say nothing."""

_EDGES = regex.compile(r"^[^\p{L}\p{N}]+|(?:['\u2019]s?|[^\p{L}\p{N}\p{M}])+$")
"""What stands around a word: signs, and the ending of a possessive."""
_COMPOUND = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[._/\-][\p{L}\p{M}\p{N}]+)+")
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'\u2019]*")
_ONE_SCRIPT = regex.compile(r"\p{Han}+|[\p{Hiragana}ー]+|[\p{Katakana}ーｰ]+|[^\p{Han}\p{Hiragana}\p{Katakana}ーｰ]+")
_DATE = regex.compile(r"\d{4}[-/.]\d{1,2}(?:[-/.]\d{1,2})?(?:t[\d:.]+z?)?")
_HAN_OR_HANGUL = regex.compile(r"[\p{Han}\p{Hangul}]")
_HAN = regex.compile(r"\p{Han}+")
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_LETTER = regex.compile(r"\p{L}")

_SHORTEST: Final = 3
_SHORTEST_HAN: Final = 2
_REMEMBERED: Final = 50_000
"""Words whose form is worked out once for a process."""


@lru_cache(_REMEMBERED)
def concept(word: str) -> str | None:
    """Return the form in which a word is compared as a concept, None if it is none.

    It is in Unicode's compatible composed form and in lower case, without signs at its ends, `_` being `-`. No concept
    is a number, a date, a little word of a language that has some in `agentcore.lexicon`, the ending of a file's name,
    shorter than three characters (two if it holds Han or Hangul) or longer than `MAX_CONCEPT_BYTES`.

    Example:
        >>> concept("«Backup_Job»"), concept("2025-06-14"), concept("東京"), concept("the")
        ('backup-job', None, '東京', None)
    """
    form = _EDGES.sub("", unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).lower()).replace("_", "-"))
    if len(form.encode("utf-8", "replace")) > MAX_CONCEPT_BYTES or _LETTER.search(form) is None:
        return None
    if _DATE.fullmatch(form) is not None or form in _little_words() or form in _FILE_EXTENSIONS:
        return None
    least = _SHORTEST_HAN if _HAN_OR_HANGUL.search(form) is not None else _SHORTEST
    return form if len(form) >= least else None


@cache
def _little_words() -> frozenset[str]:
    """Return the words that stand in texts about anything, and words about notes themselves; in lower case."""
    return frozenset(language("en").stop_words).union(*((*one.common_words, *one.note_words) for one in languages()))


def concepts(text: str, glossary: Sequence[str] = (), *, limit: int = MAX_CONCEPTS) -> tuple[str, ...]:
    """Return what a text is about, each concept once: terms of the glossary first, then identifiers, then words.

    Args:
        text: Any string.
        glossary: Terms that matter to whoever asks, of one word or more; one counts where it stands as it is written,
            but for case, and, in scripts that have spaces, as whole words.
        limit: How many at most.

    Example:
        >>> concepts("Ana moved the nightly backup to nas-01.local.", ("nightly backup",))
        ('nightly backup', 'nas-01.local', 'ana', 'moved', 'nightly', 'backup')
    """
    said = unicodedata.normalize("NFKC", text[:_READ_CHARACTERS])
    found: dict[str, None] = {}
    for word in _candidates(said, glossary):
        if len(found) >= limit:
            break
        form = concept(word)
        if form is not None:
            found.setdefault(form)
    return tuple(found)[: max(0, limit)]


def _candidates(said: str, glossary: Iterable[str]) -> Iterator[str]:
    folded = said.casefold()
    yield from (term for term in glossary if _holds(folded, unicodedata.normalize("NFKC", term).casefold().strip()))
    compounds = cast("list[str]", _COMPOUND.findall(said))
    yield from compounds
    # The parts of an identifier are words of it, not of the text.
    rest = _COMPOUND.sub(" ", said) if compounds else said
    for word in cast("list[str]", _WORD.findall(rest)):
        yield from _words_of(word) if _UNSPACED.search(word) is not None else (word,)


def _holds(folded: str, term: str) -> bool:
    if not term or term not in folded:
        return False
    return _UNSPACED.search(term) is not None or regex.search(rf"(?<!\w){regex.escape(term)}(?!\w)", folded) is not None


def _words_of(run: str) -> Iterator[str]:
    """Cut a run of a script without spaces where the script changes, and long runs of Han into pairs."""
    for part in cast("list[str]", _ONE_SCRIPT.findall(run)):
        if len(part) > _LONGEST_RUN and _HAN.fullmatch(part) is not None:
            yield from (part[start : start + 2] for start in range(0, len(part) - 1, 2))
        else:
            yield part
