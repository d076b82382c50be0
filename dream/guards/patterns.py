"""Compiles the guards' patterns when they are first used, and remembers what was found in a text."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import regex

if TYPE_CHECKING:
    Pattern = regex.Pattern[str]


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Kept where the next look finds it first, so that only the first one comes here.
        found = self.__dict__[name] = getattr(regex.compile(self._pattern, self._flags), name)
        return found


def lazy_pattern(pattern: str, flags: int = 0) -> "Pattern":
    """Return a pattern that costs nothing until it is used.

    All patterns of the guards together take longer to compile than a process lives that reads no text.

    Args:
        pattern: The expression; that it is wrong shows at its first use.
        flags: Those of `regex`.

    Example:
        >>> lazy_pattern(r"[a-z]+", regex.IGNORECASE).findall("Ana, Bo")
        ['Ana', 'Bo']
    """
    return cast("Pattern", _LazyPattern(pattern, flags))


V = TypeVar("V")

WORD_ROOM: Final = 200_000
"""Room for words, in characters: as many as a large vocabulary has."""
TEXT_ROOM: Final = 200_000
"""Room for texts, in characters: as many as the batches under way hold."""

_SHARE: Final = 50


class TextCache(dict[str, V], Generic[V]):
    """Answers of a pure function of a text, by text; lives as long as the process, and holds no more than it has room.

    A guard compares each text with several others, and they say most of their words again and again. When its room is
    full it starts afresh; a text that would take more than a fiftieth of it is never kept. May be shared by threads.

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
