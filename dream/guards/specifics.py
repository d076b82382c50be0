"""From a text to the details that a merge of it must keep: pure, and linear in the text's length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from dream.guards.dates import read_dates
from dream.guards.equals import read_equals
from dream.guards.folding import one_form
from dream.guards.languages import MARKERS, language_of, language_of_all
from dream.guards.late import late
from dream.guards.literals import read_identifiers, read_verbatim
from dream.guards.memo import TEXTS, Memo
from dream.guards.names import lower_case_keys, read_names, word_keys
from dream.guards.numerals import read_numbers, read_ordinals, read_quantities
from dream.guards.polarity import negations_of
from dream.guards.rare_terms import DocumentFrequency, read_rare
from dream.guards.specific import Kind, Page, Specific, distinct
from dream.guards.times import read_times
from dream.guards.vocabulary import Vocabulary

_SENTENCE_END = late(r"[.!?](?=\s)|[。！？\n]")
_MEASURES = frozenset({Kind.NUMBER, Kind.DATE, Kind.TIME})


@dataclass(frozen=True, slots=True)
class Specifics:
    """The details of one text in reading order, each once.

    Args:
        items: The details.
        bound: Each number, date and time with the name that stands before it in its sentence.
        also: Other forms of them, which back another text and are demanded of none.

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> specifics = extract("Ana pays 60 euros on 1 May 2025.", builtin())
        >>> [str(specific) for specific in specifics]
        ["name 'Ana'", "number '60 euros'", "date '1 May 2025'"]
    """

    items: tuple[Specific, ...] = ()
    bound: tuple[tuple[str, Specific], ...] = ()
    also: tuple[Specific, ...] = ()

    def __iter__(self) -> Iterator[Specific]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def of(self, *kinds: Kind) -> tuple[Specific, ...]:
        """Return those of the given kinds."""
        return tuple(item for item in self.items if item.kind in kinds)


@dataclass(frozen=True, slots=True)
class Beside:
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
    def of(cls, texts: Iterable[str]) -> "Beside":
        """Read the texts that are compared with each other."""
        written = [one_form(text) for text in texts]
        return cls(lower_case_keys(written), language_of_all(written), word_keys(written))


def extract(
    text: str,
    vocabulary: Vocabulary,
    document_frequency: DocumentFrequency | None = None,
    *,
    beside: Beside | None = None,
) -> Specifics:
    """Return the details of a text.

    Args:
        text: Any string.
        vocabulary: Which words are ordinary.
        document_frequency: How many entries hold a term of the recall index, for scripts without capitals.
        beside: What the texts that it is compared with tell about it; itself alone if None.

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> [item.kind.value for item in extract("The RTX 4090 does not fit; see `fit.md`.", builtin())]
        ['negation', 'acronym', 'number', 'code']
    """
    written, beside = one_form(text), beside or Beside.of([text])
    language = language_of(text, beside.language)
    alone = _READ_ALONE[language][written]
    page = Page(alone.before_rare, written, language, [*negations_of(written, beside.language), *alone.found])
    read_rare(page, document_frequency)
    page.text = alone.left
    read_names(page, vocabulary, beside.lower, beside.words)
    page.found.sort(key=lambda found: found[0])
    return Specifics(distinct(item for _, item in page.found), _bound(page), alone.also)


def measures_of(text: str) -> Specifics:
    """Return those of the details that `extract` finds which no other text has a say in: numbers, dates and times.

    Example:
        >>> [str(specific) for specific in measures_of("Ana pays 60 euros on 1 May 2025.")]
        ["number '60 euros'", "date '1 May 2025'"]
    """
    written = one_form(text)
    alone = _READ_ALONE[language_of(text, language_of(written))][written]
    return Specifics(distinct(item for _, item in alone.found if item.kind in _MEASURES), also=alone.also)


@dataclass(frozen=True, slots=True)
class _ReadAlone:
    """What is found in a text whatever stands beside it and in the store, in the order of the readers.

    Args:
        found: What stands letter by letter, dates, times, identifiers and numbers, with their places.
        before_rare: What all but bare numbers left to read.
        left: What those left to read.
        also: Other forms of what was found.
    """

    found: tuple[tuple[int, Specific], ...]
    before_rare: str
    left: str
    also: tuple[Specific, ...]

    @classmethod
    def of(cls, language: str, written: str) -> "_ReadAlone":
        page = Page(written, written, language, [])
        for read in (read_verbatim, read_dates, read_times, read_ordinals, read_quantities, read_identifiers):
            read(page)
        before_rare = page.text
        read_numbers(page)
        read_equals(page)
        return cls(tuple(page.found), before_rare, page.text, distinct(page.also))


_READ_ALONE: Final = {language: Memo(partial(_ReadAlone.of, language), room=TEXTS) for language in MARKERS}


def _bound(page: Page) -> tuple[tuple[str, Specific], ...]:
    ends = iter([*(match.start() for match in _SENTENCE_END.finditer(page.original)), len(page.original)])
    end, name = next(ends), ""
    pairs: list[tuple[str, Specific]] = []
    for start, item in page.found:
        while start > end:
            end, name = next(ends), ""
        if item.kind is Kind.NAME:
            name = str(item.key)
        elif name and item.kind in _MEASURES:
            pairs.append((name, item))
    return tuple(pairs)
