"""The words of texts as the recall index knows them, for passes that ask whether two texts have any in common."""

from threading import local
from typing import Final

from agentcore.recall.tokenizer import Tokenizer


class _OfThread(local):
    """The tokenizer of one thread: it is none that threads may share, and it remembers every word it has cut."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer()


_OWN: Final = _OfThread()


def terms_of(text: str) -> list[str]:
    """Return the terms of *text* in reading order; may be called in any thread.

    Example:
        >>> terms_of("Ana moved to Lisbon.")
        ['ana', 'move', 'lisbon']
    """
    return _OWN.tokenizer.tokens(text)
