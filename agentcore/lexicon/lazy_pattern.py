"""Compiles a pattern when it is first used."""

from typing import TYPE_CHECKING, Any, cast

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

    All patterns of the guards and of secrets together take longer to compile than a process lives that reads no text.

    Args:
        pattern: The expression; that it is wrong shows at its first use.
        flags: Those of `regex`.

    Example:
        >>> lazy_pattern(r"[a-z]+", regex.IGNORECASE).findall("Ana, Bo")
        ['Ana', 'Bo']
    """
    return cast("Pattern", _LazyPattern(pattern, flags))
