"""Remembers what was found in a text, and names `lazy_pattern` for the guards."""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from agentcore.lexicon.lazy_pattern import lazy_pattern

__all__ = ["TEXT_ROOM", "WORD_ROOM", "TextCache", "lazy_pattern"]

V = TypeVar("V")

WORD_ROOM: Final = 200_000
"""Room for words, in characters: as many as a large vocabulary has."""
TEXT_ROOM: Final = 500_000
"""Room for texts, in characters: as many as the batches under way hold."""

_SHARE: Final = 10


class TextCache(dict[str, V], Generic[V]):
    """Answers of a pure function of a text, by text; lives as long as the process, and holds no more than it has room.

    A guard compares each text with several others, and they say most of their words again and again. When its room is
    full it starts afresh; a text that would take more than a tenth of it is never kept. May be shared by threads.

    Args:
        find: The function. What it returns must not be changed by anybody.
        room: Characters of the texts that are kept.

    Example:
        >>> lengths = TextCache(len, room=WORD_ROOM)
        >>> lengths["Porto"], len(lengths)
        (5, 1)
    """

    __slots__ = ("_find", "_free", "_room")

    def __init__(self, find: Callable[[str], V], *, room: int) -> None:
        super().__init__()
        self._find = find
        self._room = self._free = room

    def __missing__(self, text: str) -> V:
        """Find the answer for a text that is not here, and keep it."""
        found = self._find(text)
        if len(text) * _SHARE <= self._room:
            if len(text) > self._free:
                self.clear()
                self._free = self._room
            self._free -= len(text)
            self[text] = found
        return found
