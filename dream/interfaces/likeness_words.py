"""Says in words what else says what shall be forgotten, and how, for all doors."""

from typing import Final

from agentcore.hosting.restatements import Likeness

_SHOWN: Final = 300

LIKENESS_WORDS: Final = {
    Likeness.EQUAL: "equal words",
    Likeness.NEAR: "near words",
    Likeness.ORIGIN: "learnt from the same sentence",
    Likeness.MODEL: "other words, as the model reads them",
}


def told_whole(text: str) -> str:
    """Return a text that is going to be redacted, with how much of it goes that is too long to be shown.

    Example:
        >>> told_whole("Ana sails."), told_whole("x" * 420)[-30:]
        ('Ana sails.', 'xxx… (and 120 characters more)')
    """
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… (and {len(text) - _SHOWN:,} characters more)"
