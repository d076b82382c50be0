"""Finds the details of a text that a merge must keep: pure, and linear in the text's length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from agentcore.lexicon.language import recognised
from dream.guards.dates import read_dates, read_times
from dream.guards.detail import Detail, DetailKind, TextScan, distinct
from dream.guards.folding import one_form, read_identifiers, read_verbatim
from dream.guards.languages import language_of, language_of_all
from dream.guards.lazy_pattern import lazy_pattern
from dream.guards.names import Vocabulary, lower_case_keys, read_names, word_keys
from dream.guards.negations import negations_of
from dream.guards.numbers import read_numbers, read_ordinals, read_quantities
from dream.guards.other_forms import read_other_forms
from dream.guards.rare_terms import DocumentFrequency, read_rare
from dream.guards.text_cache import TEXT_ROOM, TextCache

_SENTENCE_END = lazy_pattern(r"[.!?](?=\s)|[。！？\n]")
_MEASURES = frozenset({DetailKind.NUMBER, DetailKind.DATE, DetailKind.TIME})


@dataclass(frozen=True, slots=True)
class Details:
    """The details of one text in reading order, each once.

    Args:
        items: The details.
        bound: Each number, date and time with the name that stands before it in its sentence.
        also: Other forms of them, which back another text and are demanded of none.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> found = details_of("Ana pays 60 euros on 1 May 2025.", builtin_vocabulary())
        >>> [str(detail) for detail in found]
        ["name 'Ana'", "number '60 euros'", "date '1 May 2025'"]
    """

    items: tuple[Detail, ...] = ()
    bound: tuple[tuple[str, Detail], ...] = ()
    also: tuple[Detail, ...] = ()

    def __iter__(self) -> Iterator[Detail]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def of(self, *kinds: DetailKind) -> tuple[Detail, ...]:
        """Return those of the given kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """What the texts beside one tell about it.

    Args:
        lower: Keys of the words that stand there in lower case: they are no names.
        language: The language that they are in, for a text too short to tell its own.
        words: Keys of all words that stand there.
    """

    lower: frozenset[str] = frozenset()
    language: str = "en"
    words: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[str]) -> "ComparedTexts":
        """Read the texts that are compared with each other."""
        written = [one_form(text) for text in texts]
        return cls(lower_case_keys(written), language_of_all(written), word_keys(written))


def details_of(
    text: str,
    vocabulary: Vocabulary,
    document_frequency: DocumentFrequency | None = None,
    *,
    beside: ComparedTexts | None = None,
) -> Details:
    """Return the details of a text.

    Args:
        text: Any string.
        vocabulary: Which words are ordinary.
        document_frequency: How many entries hold a term of the recall index, for scripts without capitals.
        beside: What the texts that it is compared with tell about it; itself alone if None.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> [item.kind.value for item in details_of("The RTX 4090 does not fit; see `fit.md`.", builtin_vocabulary())]
        ['negation', 'acronym', 'number', 'code']
    """
    written, beside = one_form(text), beside or ComparedTexts.of([text])
    language = language_of(text, beside.language)
    alone = _READ_ALONE[language][written]
    scan = TextScan(alone.before_rare, written, language, [*negations_of(written, beside.language), *alone.found])
    read_rare(scan, document_frequency)
    scan.text = alone.left
    read_names(scan, vocabulary, beside.lower, beside.words)
    scan.found.sort(key=lambda found: found[0])
    return Details(distinct(item for _, item in scan.found), _bound(scan), alone.also)


def measures_of(text: str) -> Details:
    """Return those of the details that `details_of` finds which no other text has a say in: numbers, dates and times.

    Example:
        >>> [str(detail) for detail in measures_of("Ana pays 60 euros on 1 May 2025.")]
        ["number '60 euros'", "date '1 May 2025'"]
    """
    written = one_form(text)
    alone = _READ_ALONE[language_of(text, language_of(written))][written]
    return Details(distinct(item for _, item in alone.found if item.kind in _MEASURES), also=alone.also)


@dataclass(frozen=True, slots=True)
class _ReadAlone:
    """What is found in a text whatever stands beside it and in the store, in the order of the readers.

    Args:
        found: What stands letter by letter, dates, times, identifiers and numbers, with their places.
        before_rare: What all but bare numbers left to read.
        left: What those left to read.
        also: Other forms of what was found.
    """

    found: tuple[tuple[int, Detail], ...]
    before_rare: str
    left: str
    also: tuple[Detail, ...]

    @classmethod
    def of(cls, language: str, written: str) -> "_ReadAlone":
        scan = TextScan(written, written, language, [])
        for read in (read_verbatim, read_dates, read_times, read_ordinals, read_quantities, read_identifiers):
            read(scan)
        before_rare = scan.text
        read_numbers(scan)
        read_other_forms(scan)
        return cls(tuple(scan.found), before_rare, scan.text, distinct(scan.also))


_READ_ALONE: Final = {
    language: TextCache(partial(_ReadAlone.of, language), room=TEXT_ROOM) for language in recognised()
}


def _bound(scan: TextScan) -> tuple[tuple[str, Detail], ...]:
    ends = iter([*(match.start() for match in _SENTENCE_END.finditer(scan.original)), len(scan.original)])
    end, name = next(ends), ""
    pairs: list[tuple[str, Detail]] = []
    for start, item in scan.found:
        while start > end:
            end, name = next(ends), ""
        if item.kind is DetailKind.NAME:
            name = str(item.key)
        elif name and item.kind in _MEASURES:
            pairs.append((name, item))
    return tuple(pairs)
