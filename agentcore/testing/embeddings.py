"""A scripted embedder: words, hashed into a vector; the same text has the same vector everywhere."""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import orjson

from agentcore.testing.chat_replies import ServerReply

_WORD = re.compile(r"\w+")


def hashed_words(text: str, *, length: int = 64, meanings: Mapping[str, str] | None = None) -> list[float]:
    """Return the words of *text* as a vector: each adds one to one of *length* numbers, by its hash.

    Args:
        text: Any text; one without a word gives zeros.
        length: How many numbers.
        meanings: Words, in lower case, that count as another one: what an embedding model knows and a word index
            does not.

    Example:
        >>> car = hashed_words("A car", meanings={"car": "automobile"})
        >>> car == hashed_words("an Automobile", meanings={"an": "a"})
        True
    """
    known: Mapping[str, str] = meanings or {}
    vector = [0.0] * length
    words: list[str] = _WORD.findall(text.casefold())
    for word in words:
        digest = blake2b(known.get(word, word).encode("utf-8", "replace"), digest_size=4).digest()
        vector[int.from_bytes(digest) % length] += 1.0
    return vector


def embedded(vectors: Sequence[Sequence[float]], *, model: str = "scripted") -> ServerReply:
    """Return the reply of `/v1/embeddings` with these vectors.

    Example:
        >>> embedded([[1.0, 0.0]]).status
        200
    """
    data = [{"object": "embedding", "index": place, "embedding": list(one)} for place, one in enumerate(vectors)]
    document = {"object": "list", "model": model, "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}
    return ServerReply(body=orjson.dumps(document))
