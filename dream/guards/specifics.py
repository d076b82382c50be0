"""From a text to the details that a merge of it must keep: pure, and linear in the text's length."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from dream.guards.dates import read_dates
from dream.guards.folding import one_form
from dream.guards.languages import MARKERS, language_of, language_of_all
from dream.guards.late import late
from dream.guards.literals import read_identifiers, read_verbatim
from dream.guards.memo import TEXTS, Memo
from dream.guards.names import lower_case_keys, read_names
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

    Example:
        >>> from dream.guards.vocabulary import builtin
        >>> specifics = extract("Ana pays 60 euros on 1 May 2025.", builtin())
        >>> [str(specific) for specific in specifics]
        ["name 'Ana'", "number '60 euros'", "date '1 May 2025'"]
    """

    items: tuple[Specific, ...] = ()
    bound: tuple[tuple[str, Specific], ...] = ()

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
    """

    lower: frozenset[str] = frozenset()
    language: str = "en"

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Beside":
        """Read the texts that are compared with each other."""
        written = [one_form(text) for text in texts]
        return cls(lower_case_keys(written), language_of_all(written))


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
    page = Page(alone.before_rare, written, language, [*negations_of(written, beside.language), *alone.first])
    read_rare(page, document_frequency)
    page.text = alone.left
    page.found += alone.numbers
    read_names(page, vocabulary, beside.lower)
    page.found.sort(key=lambda found: found[0])
    return Specifics(distinct(item for _, item in page.found), _bound(page))


def measures_of(text: str) -> Specifics:
    """Return those of the details that `extract` finds which no other text has a say in: numbers, dates and times.

    Example:
        >>> [str(specific) for specific in measures_of("Ana pays 60 euros on 1 May 2025.")]
        ["number '60 euros'", "date '1 May 2025'"]
    """
    written = one_form(text)
    alone = _READ_ALONE[language_of(text, language_of(written))][written]
    found = sorted((*alone.first, *alone.numbers), key=lambda found: found[0])
    return Specifics(distinct(item for _, item in found if item.kind in _MEASURES))


@dataclass(frozen=True, slots=True)
class _ReadAlone:
    """What is found in a text whatever stands beside it and in the store, in the order of the readers.

    Args:
        first: What stands letter by letter, dates, times, quantities and identifiers, with their places.
        before_rare: What these left to read.
        numbers: The numbers in that.
        left: What those left to read.
    """

    first: tuple[tuple[int, Specific], ...]
    before_rare: str
    numbers: tuple[tuple[int, Specific], ...]
    left: str

    @classmethod
    def of(cls, language: str, written: str) -> "_ReadAlone":
        page = Page(written, written, language, [])
        for read in (read_verbatim, read_dates, read_times, read_ordinals, read_quantities, read_identifiers):
            read(page)
        first, before_rare, page.found = tuple(page.found), page.text, []
        read_numbers(page)
        return cls(first, before_rare, tuple(page.found), page.text)


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
