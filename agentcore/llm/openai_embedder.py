"""Asks the embedding model behind an OpenAI-compatible server."""

import logging
from collections.abc import Sequence
from datetime import timedelta
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

import orjson

from agentcore.clock import Clock, SystemClock
from agentcore.errors import HostNotStartedError
from agentcore.llm.call_failure import CallFailure, judge
from agentcore.llm.chat import TryFailure
from agentcore.llm.embedding import EmbeddingError
from agentcore.llm.hosted_client import HostedClient
from agentcore.llm.reply import ConnectionFailure, Reply
from agentcore.llm.server_error import read_retry_after, read_server_error

if TYPE_CHECKING:
    from agentcore.llm.settings import ChatOptions

_log = logging.getLogger(__name__)


class OpenAIEmbedder(HostedClient):
    """An `Embedder` that asks `/v1/embeddings`; a hosted service, open from `start` to `stop`.

    Tries, bounds and secrets are those of `OpenAIChatClient`: what may do better is tried again, no key, text or
    vector is logged, and the address that was configured is the only one that is asked.

    Args:
        options: Where to ask; `model` is the embedding model. What concerns answers of a chat is not used.
        clock: What waits between tries; the machine's by default.

    Example:
        >>> import asyncio
        >>> from agentcore.llm import ChatOptions
        >>> from agentcore.testing import ChatServer
        >>> async def main() -> None:
        ...     async with ChatServer([]) as server:
        ...         async with OpenAIEmbedder(ChatOptions(model="tiny", base_url=server.base_url)) as embedder:
        ...             print(len(await embedder.embed(["Ana lives in Lisbon", "Ben likes tea"])))
        >>> asyncio.run(main())
        2
    """

    def __init__(self, options: "ChatOptions", *, clock: Clock | None = None) -> None:
        super().__init__(options)
        self._clock = clock or SystemClock()
        self._waits = 0

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self._options.model

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each of *texts*, in their order; none for none, unasked.

        Raises:
            EmbeddingError: there is no whole answer; its `failure` says why.
            HostNotStartedError: it is not started.
        """
        if not texts:
            return []
        tries = 0
        while True:
            outcome = await self._try(texts)
            tries += 1
            if not isinstance(outcome, CallFailure):
                return outcome
            fields = {"failure": outcome.failure.value, "status": outcome.status, "tries": tries}
            _log.info("embedding_try_failed", extra=fields)
            wait = self._wait_before(tries, outcome)
            if wait is None:
                raise EmbeddingError(
                    model=self.model,
                    base_url=self._options.base_url,
                    failure=outcome.failure,
                    tries=tries,
                    status=outcome.status,
                )
            await self._clock.sleep(wait)

    async def _try(self, texts: Sequence[str]) -> list[list[float]] | CallFailure:
        if self._endpoint is None:
            raise HostNotStartedError(service="embedding model client")
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        reply = await self._endpoint.embed(body)
        if isinstance(reply, ConnectionFailure):
            return CallFailure(failure=reply.failure, received=reply.received)
        if not 200 <= reply.status < 300:
            return judge(
                read_server_error(reply.status, reply.body), read_retry_after(reply.headers, self._clock.now())
            )
        vectors = read_vectors(reply, len(texts))
        return CallFailure(failure=TryFailure.UNREADABLE, status=reply.status) if vectors is None else vectors

    def _wait_before(self, tries: int, verdict: CallFailure) -> timedelta | None:
        """Return how long to wait before the next try; None to give up."""
        longest = self._options.max_retry_wait
        if not verdict.may_do_better or tries > self._options.retries:
            return None
        if verdict.retry_after is not None:
            return verdict.retry_after if verdict.retry_after <= longest else None
        self._waits += 1
        spread = blake2b(str(self._waits).encode(), digest_size=2).digest()
        share = 0.5 + int.from_bytes(spread) / 0x1FFFE
        return min(longest, self._options.retry_wait * 2 ** (tries - 1)) * share


def read_vectors(reply: Reply, count: int) -> list[list[float]] | None:
    """Return the *count* vectors of an answer in the order of their texts; None if they are not all there.

    Example:
        >>> read_vectors(Reply(status=200, headers={}, body=b'{"data": [{"index": 0, "embedding": [1, 0]}]}'), 1)
        [[1.0, 0.0]]
    """
    try:
        document: Any = orjson.loads(reply.body)
        items = {int(item["index"]): cast("list[Any]", item["embedding"]) for item in document["data"]}
        vectors = [[float(number) for number in items[place]] for place in range(count)]
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    lengths = {len(vector) for vector in vectors}
    is_sound = len(items) == count and len(lengths) == 1 and 0 not in lengths
    return vectors if is_sound and all(map(isfinite, (number for one in vectors for number in one))) else None
