"""Finds names of a text of which nothing that was shown has even the beginning."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from dream.guards.dates import MONTHS, WEEKDAYS
from dream.guards.detail import Detail, DetailKind
from dream.guards.folding import fold
from dream.guards.languages import language_of
from dream.guards.names import Vocabulary, written_words
from dream.guards.patterns import TEXT_ROOM, TextCache, lazy_pattern

_NAME = lazy_pattern(r"\p{Lu}\p{Ll}{2,}")
_LETTERS = lazy_pattern(r"\p{L}+")
_SCRIPTS: Final = tuple(lazy_pattern(rf"\p{{{script}}}") for script in ("Latin", "Cyrillic", "Greek"))
_OTHER_SCRIPT: Final = tuple(lazy_pattern(rf"[\p{{L}}--\p{{{one}}}]", 256) for one in ("Latin", "Cyrillic", "Greek"))
_HEAD: Final = 3


def absent_names(text: str, shown: Sequence[str], vocabulary: Vocabulary) -> Iterator[Detail]:
    """Yield the names that are plainly not among what was shown.

    A word is a name by its capital inside a sentence. One that begins as some word that was shown may be that word
    with another ending, and in German any noun has a capital: nothing is said of these, nor where two scripts meet.

    Args:
        text: The text, in the form that `plain` gives.
        shown: What was shown, in that form too, with the names of the speakers.
        vocabulary: Which words are ordinary.

    Example:
        >>> from dream.guards.names import builtin_vocabulary
        >>> found = absent_names("He took Ana to Lisbon and Porto.", ["I took Anna to Porto."], builtin_vocabulary())
        >>> [str(name) for name in found]
        ["name 'Lisbon'"]
    """
    if any(language_of(one, "") == "de" for one in (text, *shown)):
        return
    known = _KNOWN_HEADS
    told = frozenset(fold(word) for word in _LETTERS.findall(text))
    untold = {name[:2] for one in shown for name in _NAMES[one] if name not in told}
    for word in written_words(text):
        name = word.written.partition("'")[0]
        folded = fold(name)
        if word.opens or not _NAME.fullmatch(name) or folded in MONTHS or folded in WEEKDAYS:
            continue
        if vocabulary.is_ordinary(word.key):
            continue
        head = folded[: min(_HEAD, len(folded) - 1)]
        if folded[:2] in untold:
            # It may be another form of a name that was shown, as Zofia is of Zosia.
            continue
        if not any(head in known[one] or folded[1 : _HEAD + 1] in one for one in shown) and _is_one_script(name, shown):
            yield Detail(DetailKind.NAME, name, folded)


def _is_one_script(name: str, shown: Iterable[str]) -> bool:
    other = next((other for script, other in zip(_SCRIPTS, _OTHER_SCRIPT, strict=True) if script.match(name)), None)
    return other is not None and not any(other.search(one) for one in shown)


def _heads(text: str) -> frozenset[str]:
    return frozenset(word[:end] for word in _LETTERS.findall(fold(text)) for end in (_HEAD - 1, _HEAD))


_KNOWN_HEADS: Final = TextCache(_heads, room=TEXT_ROOM)


def _names(text: str) -> frozenset[str]:
    return frozenset(fold(word.written) for word in written_words(text) if word.written[0].isupper() and not word.opens)


_NAMES: Final = TextCache(_names, room=TEXT_ROOM)
