"""Finds off-limits topics that a text names by their own words; other words for them only a model understands."""

from collections.abc import Iterable
from functools import cache

from agentcore.lexicon import languages
from agentcore.recall.tokenizer import Tokenizer


def named_topic(topics: Iterable[str], text: str) -> str | None:
    """Return the first of *topics* all whose telling words stand in *text*, or None.

    Args:
        topics: Topics as a person named them.
        text: Any string.

    Example:
        >>> named_topic(["my divorce", "my health"], "Ana's health is better."), named_topic(["my health"], "Ana ran.")
        ('my health', None)
    """
    told: frozenset[str] | None = None
    for topic in topics:
        told = frozenset(_tokenizer().tokens(text)) if told is None else told
        if told.issuperset(_tokenizer().tokens(topic)):
            return topic
    return None


@cache
def _tokenizer() -> Tokenizer:
    little = (word for one in languages() for word in (*one.stop_words, *one.function_words))
    return Tokenizer(frozenset(little))
