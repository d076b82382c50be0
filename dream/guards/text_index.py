"""Indexes texts, to answer whether a detail stands in them in any spelling that counts as the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, cast

import regex

from dream.guards import dates, numbers
from dream.guards.detail import Detail, DetailKind
from dream.guards.details import Details
from dream.guards.folding import identifier_key, one_form, squeezed
from dream.guards.names import Vocabulary, WrittenWord, joined_words, written_words
from dream.guards.rare_terms import bare_words
from dream.guards.text_cache import TEXT_ROOM, TextCache

_PIECE = regex.compile(r"[\p{L}\p{N}_./+~()-]+")

_PRODUCT = regex.compile(r"(?<=\w{4})(?:sql|db|\.?js)$")
"""What a product's name ends with that people leave out: `postgres`, `mongo`, `node`."""


class TextIndex:
    """One text, or several beside each other, made ready for questions; lives as long as a comparison.

    Args:
        texts: Them.
        found: The details of each, extracted before.
        vocabulary: Which words are ordinary.
    """

    def __init__(self, texts: Sequence[str], found: Sequence[Details], vocabulary: Vocabulary) -> None:
        self._texts = [one_form(text) for text in texts]
        self._words = [_WORDS_TOLD[text] for text in self._texts]
        self._items = [item for specifics in found for item in (*specifics, *specifics.also)]
        self._vocabulary = vocabulary
        self.words = frozenset[str]().union(*(told.words for told in self._words))
        self.pairs = frozenset[tuple[str, str]]().union(*(told.pairs for told in self._words))
        self.keys = frozenset((item.kind, item.key) for item in self._items)
        self.plain = "\n".join(self._texts)

    @cached_property
    def capitals(self) -> frozenset[str]:
        """Keys of the words that are written in capitals."""
        return frozenset[str]().union(*(told.capitals for told in self._words))

    @cached_property
    def quantities(self) -> numbers.Quantities:
        """The numbers, years among them."""
        spoken = (cast("numbers.Quantity", item.key) for item in self._items if item.kind is DetailKind.NUMBER)
        return numbers.Quantities((*spoken, *(numbers.Quantity((year,)) for year in self._years)))

    @cached_property
    def days(self) -> dates.Days:
        """The dates."""
        spoken = (cast("numbers.Quantity", item.key) for item in self._items if item.kind is DetailKind.NUMBER)
        numbers = {value for quantity in spoken for value in quantity.values}
        return dates.Days(self._dates, self._years | numbers)

    @property
    def _dates(self) -> frozenset[dates.Day]:
        return frozenset(cast("dates.Day", item.key) for item in self._items if item.kind is DetailKind.DATE)

    @property
    def _years(self) -> frozenset[str]:
        return frozenset(str(day.year) for day in self._dates if day.year is not None)

    @cached_property
    def identifiers(self) -> frozenset[str]:
        """The names of things, and whatever together could be one."""
        addresses = (_bare_address(str(item.key)) for item in self._items if item.kind is DetailKind.URL)
        return frozenset[str]().union(addresses, *map(_identifiers, self._texts))

    @cached_property
    def _versions(self) -> frozenset[str]:
        """Identifiers that are numbers without their `v`."""
        keys = (str(item.key) for item in self._items if item.kind is DetailKind.IDENTIFIER)
        return frozenset(key for key in keys if key.replace(".", "").isdecimal())

    @cached_property
    def squeezed(self) -> str:
        """All of it as quotations are compared."""
        return squeezed(self.plain)

    @cached_property
    def uncased(self) -> frozenset[str]:
        """The words of scripts without capitals."""
        return bare_words(self.plain)

    def holds(self, wanted: Detail) -> bool:
        """Tell whether a detail of another text stands in this one; negations are judged by `negations`."""
        key: Any = wanted.key
        match wanted.kind:
            case DetailKind.NAME:
                stands = key in self.words or (not str(key).isascii() and str(key) in self.plain)
            case DetailKind.ACRONYM:
                stands = key in self.capitals or (key in self.words and not self._is_ordinary(key))
            case DetailKind.NUMBER:
                # 2.10 is a number equal to 2.1, and a version that is another.
                stands = key in self.quantities or identifier_key(wanted.text) in self._versions
            case DetailKind.DATE:
                stands = key in self.days
            case DetailKind.QUOTED:
                stands = str(key) in self.squeezed
            case DetailKind.CODE:
                stands = str(key) in self.plain
            case DetailKind.IDENTIFIER:
                stands = key in self.identifiers or _PRODUCT.sub("", str(key)) in self.words
            case DetailKind.URL:
                stands = _bare_address(str(key)) in self.identifiers
            case DetailKind.RARE:
                stands = self._has_rare(str(key))
            case _:
                stands = False
        return stands or (wanted.kind, key) in self.keys

    def _is_ordinary(self, key: str) -> bool:
        return key in self._vocabulary.sentence_openers or key in self._vocabulary.common_words

    def _has_rare(self, key: str) -> bool:
        # A pair of Chinese characters often straddles two words; both are kept if both characters are.
        if len(key) == 2 and key not in self.uncased:
            return key[0] in self.plain and key[1] in self.plain
        return key in self.uncased or key in self.plain


def _bare_address(address: str) -> str:
    """Return an address as people write it who leave `https://` out."""
    return identifier_key(address.removeprefix("https://").removeprefix("http://"))


def _neighbours(words: Sequence[WrittenWord]) -> frozenset[tuple[str, str]]:
    """Return each pair of words with capitals that stand side by side."""
    return frozenset(
        (one.key, other.key)
        for one, other in pairwise(words)
        if (other.follows and one.written[:1].isupper() and other.written[:1].isupper() and not one.opens)
        or (other.follows and one.written.istitle() and other.written.istitle())
    )


def _identifiers(text: str) -> frozenset[str]:
    """Return the pieces of a text and each two and three neighbours as one, so that `RTX 4090` is `rtx4090`."""
    pieces = [identifier_key(piece).rstrip("./") for piece in _PIECE.findall(text)]
    pairs = [one + other for one, other in pairwise(pieces)]
    return frozenset((*pieces, *pairs, *(pair + last for pair, last in zip(pairs, pieces[2:], strict=False))))


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of one text: their keys, those in capitals, and pairs with capitals that stand side by side."""

    words: frozenset[str]
    capitals: frozenset[str]
    pairs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, text: str) -> "_Words":
        words = written_words(text)
        return cls(
            frozenset((*(word.key for word in words), *joined_words(words, text).values())),
            frozenset(word.key for word in words if word.written.isupper() or word.written[:-1].isupper()),
            _neighbours(words),
        )


_WORDS_TOLD: Final = TextCache(_Words.of, room=TEXT_ROOM)
