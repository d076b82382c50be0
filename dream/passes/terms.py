"""Cuts texts into the terms of the recall index, for passes that compare texts by their words."""

from typing import Final

from agentcore.recall.tokenizer import Tokenizer

CUTTER: Final = Tokenizer()
"""Shared by all passes: it remembers the words it has cut."""


def terms_of(text: str) -> list[str]:
    """Return the terms of *text* in reading order; may be called in any thread.

    Example:
        >>> terms_of("Ana moved to Lisbon.")
        ['ana', 'move', 'lisbon']
    """
    return CUTTER.tokens(text)
