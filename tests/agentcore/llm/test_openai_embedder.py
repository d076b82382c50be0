import logging
import traceback
from datetime import timedelta
from typing import Any

import pytest
from leaping_clock import LeapingClock

from agentcore.errors import HostNotStartedError
from agentcore.llm import EmbedderOptions, EmbeddingError, OpenAIEmbedder, TryFailure
from agentcore.testing import ChatServer, ServerReply, chat_replies as replies, embedded, hashed_words

KEY = "sk-test-0123456789abcdef"
TEXTS = ["Ana lives in Lisbon", "Ben likes tea", "葡萄牙"]


def options(server: ChatServer, **changes: Any) -> EmbedderOptions:
    values: dict[str, Any] = {"model": "tiny", "base_url": server.base_url, "api_key": KEY, "timeout": 5.0}
    return EmbedderOptions(**(values | changes))


async def embed(server: ChatServer, clock: LeapingClock, texts: list[str], **changes: Any) -> list[list[float]]:
    async with OpenAIEmbedder(options(server, **changes), clock=clock) as embedder:
        return await embedder.embed(texts)


async def test_each_text_gets_its_vector_in_order(clock: LeapingClock):
    async with ChatServer([]) as server:
        assert await embed(server, clock, TEXTS) == [hashed_words(text) for text in TEXTS]
        (request,) = server.requests
        assert (request.path, request.model, request.texts) == ("/v1/embeddings", "tiny", TEXTS)
        assert request.body["encoding_format"] == "float"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert await embed(server, clock, []) == []
        assert server.calls == 1


async def test_vectors_may_arrive_in_any_order(clock: LeapingClock):
    shuffled = ServerReply(
        body=b'{"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]}',
    )
    async with ChatServer([], embedding=lambda _: shuffled) as server:
        assert await embed(server, clock, ["a", "b"]) == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("reply", "failure", "tries"),
    [
        (replies.server_error(503), TryFailure.SERVER_ERROR, 3),
        (replies.rate_limited("1"), TryFailure.RATE_LIMITED, 3),
        (replies.hangs_up(), TryFailure.CLOSED, 3),
        (replies.key_refused(), TryFailure.KEY_REFUSED, 1),
        (replies.model_missing(), TryFailure.MODEL_MISSING, 1),
        (replies.refused(400, message="input is too long"), TryFailure.CONTEXT_TOO_LONG, 1),
        (replies.refused(422), TryFailure.REQUEST_REFUSED, 1),
        (replies.garbage(), TryFailure.UNREADABLE, 1),
        (replies.huge(5000), TryFailure.TOO_LARGE, 1),
        (embedded([[1.0]]), TryFailure.UNREADABLE, 1),
        (embedded([[1.0], [1.0, 2.0]]), TryFailure.UNREADABLE, 1),
        (embedded([[], []]), TryFailure.UNREADABLE, 1),
        (ServerReply(body=b'{"data": [{"index": 0, "embedding": [1e999]}]}'), TryFailure.UNREADABLE, 1),
        (ServerReply(body=b'{"data": [{"index": 0, "embedding": "AACAPw=="}]}'), TryFailure.UNREADABLE, 1),
    ],
)
async def test_each_fault_ends_in_its_reason_after_its_tries(
    clock: LeapingClock, reply: ServerReply, failure: TryFailure, tries: int
):
    async with ChatServer([], embedding=lambda _: reply) as server:
        with pytest.raises(EmbeddingError) as caught:
            await embed(server, clock, ["a", "b"], retries=2, max_answer_bytes=4096)
    assert (caught.value.failure, server.calls) == (failure, tries)
    assert caught.value.is_about_the_texts == (failure in {TryFailure.CONTEXT_TOO_LONG, TryFailure.REQUEST_REFUSED})


async def test_an_absent_server_is_tried_again_with_doubling_waits(clock: LeapingClock):
    async with ChatServer([]) as server:
        pass
    with pytest.raises(EmbeddingError, match=r"tiny at .* gave no vectors \(unreachable; 3 tries\)"):
        await embed(server, clock, TEXTS, retries=2, retry_wait=timedelta(seconds=2))
    first, second = clock.slept
    assert timedelta(seconds=1) <= first <= timedelta(seconds=3)
    assert timedelta(seconds=2) <= second <= timedelta(seconds=6)


async def test_a_fault_that_passes_is_not_told(clock: LeapingClock):
    answers = iter([replies.server_error(500), [1.0, 2.0]])
    async with ChatServer([], embedding=lambda _: next(answers)) as server:
        assert await embed(server, clock, ["a"]) == [[1.0, 2.0]]


async def test_it_is_open_from_start_to_stop(clock: LeapingClock):
    async with ChatServer([]) as server:
        embedder = OpenAIEmbedder(options(server), clock=clock)
        with pytest.raises(HostNotStartedError):
            await embedder.embed(["a"])


async def test_key_and_texts_are_in_no_log_and_no_error(clock: LeapingClock, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger="agentcore")
    echo = replies.refused(401, code="bad", message=f"{KEY} may not embed {TEXTS[0]}")
    async with ChatServer([], embedding=lambda _: echo) as server:
        with pytest.raises(EmbeddingError) as caught:
            await embed(server, clock, TEXTS)
    told = "".join(traceback.format_exception(caught.value)) + repr(options(server))
    told += "".join(str(vars(record)) for record in caplog.records)
    assert "embedding_try_failed" in told
    assert KEY not in told
    assert TEXTS[0] not in told
