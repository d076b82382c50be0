"""What stands in a text: asked, for one detail, whether it is there in any spelling that counts as the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

import regex

from dream.guards import dates, numerals
from dream.guards.folding import one_form
from dream.guards.literals import identifier_key, squeezed
from dream.guards.names import Word, words_of
from dream.guards.rare_terms import bare_words
from dream.guards.specific import Kind, Specific
from dream.guards.specifics import Specifics
from dream.guards.vocabulary import Vocabulary

_PIECE = regex.compile(r"[\p{L}\p{N}_./+~()-]+")


@dataclass(frozen=True, slots=True)
class Standing:
    """One text, or several beside each other, made ready for questions."""

    words: frozenset[str]
    capitals: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    keys: frozenset[tuple[Kind, Any]]
    quantities: numerals.Quantities
    days: dates.Days
    identifiers: frozenset[str]
    squeezed: str
    plain: str
    uncased: frozenset[str]
    ordinary: frozenset[str]

    @classmethod
    def of(cls, texts: Sequence[str], found: Sequence[Specifics], vocabulary: Vocabulary) -> "Standing":
        """Read texts whose details were extracted before."""
        joined = one_form("\n".join(texts))
        words = words_of(joined)
        items = [item for specifics in found for item in specifics]
        days = frozenset(cast("dates.Day", item.key) for item in items if item.kind is Kind.DATE)
        spoken = frozenset(cast("numerals.Quantity", item.key) for item in items if item.kind is Kind.NUMBER)
        years = frozenset(str(day.year) for day in days if day.year is not None)
        numbers = frozenset(value for quantity in spoken for value in quantity.values)
        return cls(
            words=frozenset(word.key for word in words),
            capitals=frozenset(word.key for word in words if word.written.isupper() or word.written[:-1].isupper()),
            pairs=_neighbours(words),
            keys=frozenset((item.kind, item.key) for item in items),
            quantities=numerals.Quantities((*spoken, *(numerals.Quantity((year,)) for year in years))),
            days=dates.Days(days, years | numbers),
            identifiers=frozenset[str]().union(*(_identifiers(one_form(text)) for text in texts)),
            squeezed=squeezed(joined),
            plain=joined,
            uncased=bare_words(joined),
            ordinary=vocabulary.sentence_openers | vocabulary.common_words,
        )

    def holds(self, wanted: Specific) -> bool:
        """Tell whether a detail of another text stands in this one; negations are judged by `polarity`."""
        key: Any = wanted.key
        match wanted.kind:
            case Kind.NAME:
                stands = key in self.words or (not str(key).isascii() and str(key) in self.plain)
            case Kind.ACRONYM:
                stands = key in self.capitals or (key in self.words and key not in self.ordinary)
            case Kind.NUMBER:
                stands = key in self.quantities
            case Kind.DATE:
                stands = key in self.days
            case Kind.QUOTED:
                stands = str(key) in self.squeezed
            case Kind.CODE:
                stands = str(key) in self.plain
            case Kind.IDENTIFIER:
                stands = key in self.identifiers
            case Kind.RARE:
                stands = self._has_rare(str(key))
            case _:
                stands = False
        return stands or (wanted.kind, key) in self.keys

    def _has_rare(self, key: str) -> bool:
        # A pair of Chinese characters often straddles two words; both are kept if both characters are.
        if len(key) == 2 and key not in self.uncased:
            return key[0] in self.plain and key[1] in self.plain
        return key in self.uncased or key in self.plain


def _neighbours(words: Sequence[Word]) -> frozenset[tuple[str, str]]:
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
