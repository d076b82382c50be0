"""Compares two texts word by word."""

from difflib import SequenceMatcher
from itertools import chain
from typing import Final, NamedTuple

import regex

_PIECE: Final = regex.compile(r"\s+|[\p{L}\p{M}\p{N}]+|.", regex.DOTALL)
_INSTANT: Final = regex.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_MOST: Final = 4_000
"""Pieces of a text that are compared; longer ones are shown as gone and come, whole."""


class Part(NamedTuple):
    """A stretch of text: `same`, `gone` or `come`."""

    kind: str
    text: str


def word_diff(before: str, after: str) -> list[Part]:
    """Return what stays, goes and comes, in reading order.

    Example:
        >>> [tuple(part) for part in word_diff("Ana likes tea.", "Ana likes green tea.")]
        [('same', 'Ana likes '), ('come', 'green '), ('same', 'tea.')]
    """
    old, new = _PIECE.findall(before), _PIECE.findall(after)
    if max(len(old), len(new)) > _MOST:
        return [Part("gone", before), Part("come", after)]
    found: list[Part] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(Part("same", "".join(old[a:b])))
        else:
            found += [Part("gone", "".join(old[a:b])), Part("come", "".join(new[c:d]))]
    return [part for part in found if part.text]


def changed_fields(before: dict[str, object], after: dict[str, object]) -> list[tuple[str, object, object]]:
    """Return the fields of a record that differ, with both values, in the order of their names."""
    names = sorted(set(chain(before, after)))
    return [(name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)]


def is_instant(value: object) -> bool:
    """Tell whether a value of a record is an instant, to be shown as one.

    Example:
        >>> is_instant("2025-05-08T18:02:11.5Z"), is_instant("2025-05-08"), is_instant(None)
        (True, False, False)
    """
    return isinstance(value, str) and _INSTANT.fullmatch(value) is not None
