import asyncio
import gc
import logging
import socket
import traceback
from collections.abc import Iterable
from datetime import timedelta
from itertools import repeat
from typing import Any

import pytest
from leaping_clock import LeapingClock

from agentcore.errors import HostNotStartedError
from agentcore.llm import (
    ChatAnswerTooLargeError,
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatKeyRefusedError,
    ChatMessage,
    ChatModelMissingError,
    ChatOptions,
    ChatRateLimitedError,
    ChatRequest,
    ChatRequestRefusedError,
    ChatRole,
    ChatServerError,
    ChatTimeoutError,
    ChatUnreachableError,
    Completion,
    FinishReason,
    OpenAIChatClient,
    ResponseFormat,
    TryFailure,
    Usage,
)
from agentcore.testing import ChatServer, ServedRequest, ServerReply, ServerScript, chat_replies as replies

KEY = "sk-test-0123456789abcdef"
PROMPT = "Where does Ana live?"
FORMAT = ResponseFormat(name="facts", schema={"type": "object", "properties": {"facts": {"type": "array"}}})
SECOND = timedelta(seconds=1)


def request(**changes: Any) -> ChatRequest:
    values: dict[str, Any] = {
        "messages": (ChatMessage(ChatRole.SYSTEM, "Be brief."), ChatMessage(ChatRole.USER, PROMPT)),
        "max_output_tokens": 50,
        "purpose": "fact-mining",
    }
    return ChatRequest(**(values | changes))


def options(server: ChatServer, **changes: Any) -> ChatOptions:
    values: dict[str, Any] = {"model": "tiny", "base_url": server.base_url, "api_key": KEY, "timeout": 5.0}
    return ChatOptions(**(values | changes))


async def ask(
    server: ChatServer, clock: LeapingClock, *, asked: ChatRequest | None = None, **changes: Any
) -> Completion:
    async with OpenAIChatClient(options(server, **changes), clock=clock) as client:
        return await client.complete(asked or request())


async def failing(script: Iterable[ServerScript], clock: LeapingClock, **changes: Any) -> tuple[ChatError, ChatServer]:
    async with ChatServer(script) as server:
        with pytest.raises(ChatError) as caught:
            await ask(server, clock, **changes)
    return caught.value, server


async def test_an_answer_comes_with_its_finish_reason_usage_and_model(clock: LeapingClock):
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    async with ChatServer([replies.answer("Lisbon.", usage=usage, model="tiny-2")]) as server:
        completion = await ask(server, clock)
    assert completion == Completion(
        text="Lisbon.",
        finish_reason=FinishReason.STOP,
        usage=Usage(input_tokens=12, output_tokens=3),
        model="tiny-2",
    )


async def test_the_request_carries_messages_model_bounds_and_key(clock: LeapingClock):
    async with ChatServer(["Lisbon."]) as server:
        await ask(server, clock, asked=request(temperature=0.0, response_format=FORMAT))
    (served,) = server.requests
    assert served.headers["authorization"] == f"Bearer {KEY}"
    assert served.body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPT}],
        "max_tokens": 50,
        "temperature": 0.0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "facts", "schema": dict(FORMAT.schema)}},
    }


async def test_without_a_key_none_is_sent_though_the_environment_has_one(
    clock: LeapingClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with ChatServer(["Lisbon."]) as server:
        await ask(server, clock, api_key=None)
    assert "authorization" not in server.requests[0].headers


async def test_a_request_may_name_its_model_and_the_options_bound_its_answer(clock: LeapingClock):
    async with ChatServer(["Lisbon."]) as server:
        await ask(server, clock, asked=request(model="large"), max_output_tokens=20)
    assert (server.requests[0].model, server.requests[0].body["max_tokens"]) == ("large", 20)


async def test_usage_is_estimated_where_the_server_gives_none(clock: LeapingClock):
    async with ChatServer([replies.answer("Lisbon, I think.")]) as server:
        completion = await ask(server, clock)
    # 3 + 4 and 5 + 4 tokens of prompt, a token per four bytes and four around each message.
    assert completion.usage == Usage(input_tokens=16, output_tokens=4, is_estimated=True)


async def test_what_a_server_remembers_of_a_prompt_counts_where_it_counts_that_beside(clock: LeapingClock):
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 900}}
    within = {**usage, "prompt_tokens": 1_000}
    async with ChatServer([replies.answer("Yes.", usage=one) for one in (usage, within)]) as server:
        told = [(await ask(server, clock)).usage.input_tokens for _ in range(2)]
    assert told == [912, 1_000]


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": -1, "completion_tokens": 1}]
)
async def test_a_count_that_cannot_be_is_replaced_by_an_estimate(clock: LeapingClock, usage: dict[str, int]):
    async with ChatServer([replies.answer("Lisbon.", usage=usage)]) as server:
        completion = await ask(server, clock)
    assert completion.usage.is_estimated
    assert completion.usage.input_tokens == 16


@pytest.mark.parametrize(
    ("reply", "text", "reason"),
    [
        (replies.cut_off('{"facts": ['), '{"facts": [', FinishReason.LENGTH),
        (replies.answer(""), "", FinishReason.STOP),
        (replies.answer(None), "", FinishReason.STOP),
        (replies.tool_call(), "", FinishReason.TOOL_CALLS),
        (replies.filtered(), "", FinishReason.CONTENT_FILTER),
        (replies.answer(None, message={"refusal": "I will not."}), "", FinishReason.CONTENT_FILTER),
        (replies.answer("Hm", finish_reason=None), "Hm", FinishReason.ERROR),
        (replies.answer("Hm", finish_reason="bored"), "Hm", FinishReason.ERROR),
        (replies.answer("Hm", finish_reason="eos_token"), "Hm", FinishReason.STOP),
        (
            replies.answer("", message={"content": [{"text": "in "}, 3, {"text": "parts"}]}),
            "in parts",
            FinishReason.STOP,
        ),
    ],
)
async def test_an_answer_that_is_not_whole_says_so(
    clock: LeapingClock, reply: ServerReply, text: str, reason: FinishReason
):
    async with ChatServer([reply]) as server:
        completion = await ask(server, clock)
    assert (completion.text, completion.finish_reason) == (text, reason)
    assert clock.slept == []


FAULTS = [
    # reply, error, tries, failure, tokens charged for each try (prompt of 16, answers of up to 50)
    (replies.hangs_up(), ChatUnreachableError, 3, TryFailure.CLOSED, (16, 0)),
    (replies.closes_mid_body(), ChatUnreachableError, 3, TryFailure.CLOSED, None),
    (replies.never_ends(), ChatTimeoutError, 3, TryFailure.TIMED_OUT, (16, 50)),
    (replies.never_ends(500), ChatTimeoutError, 3, TryFailure.TIMED_OUT, (16, 50)),
    (replies.slow(replies.answer("Hi"), timedelta(seconds=9)), ChatTimeoutError, 3, TryFailure.TIMED_OUT, (16, 50)),
    (replies.rate_limited(), ChatRateLimitedError, 3, TryFailure.RATE_LIMITED, (0, 0)),
    (replies.rate_limited("7"), ChatRateLimitedError, 3, TryFailure.RATE_LIMITED, (0, 0)),
    (replies.rate_limited("3600"), ChatRateLimitedError, 1, TryFailure.RATE_LIMITED, (0, 0)),
    (replies.refused(429, code="insufficient_quota"), ChatRateLimitedError, 1, TryFailure.RATE_LIMITED, (0, 0)),
    (replies.server_error(), ChatServerError, 3, TryFailure.SERVER_ERROR, (16, 0)),
    (replies.server_error(503), ChatServerError, 3, TryFailure.SERVER_ERROR, (16, 0)),
    (replies.refused(408), ChatTimeoutError, 3, TryFailure.TIMED_OUT, (16, 50)),
    (replies.key_refused(), ChatKeyRefusedError, 1, TryFailure.KEY_REFUSED, (0, 0)),
    (replies.key_refused(403), ChatKeyRefusedError, 1, TryFailure.KEY_REFUSED, (0, 0)),
    (replies.model_missing(), ChatModelMissingError, 1, TryFailure.MODEL_MISSING, (0, 0)),
    (replies.context_too_long(), ChatContextTooLongError, 1, TryFailure.CONTEXT_TOO_LONG, (0, 0)),
    (replies.refused(500, message="the request exceeds the available context size"),
     ChatContextTooLongError, 1, TryFailure.CONTEXT_TOO_LONG, (0, 0)),
    (replies.refused(413, message="prompt is too long: 9000 tokens"),
     ChatContextTooLongError, 1, TryFailure.CONTEXT_TOO_LONG, (0, 0)),
    (replies.refused(400), ChatRequestRefusedError, 1, TryFailure.REQUEST_REFUSED, (0, 0)),
    (replies.refused(422), ChatRequestRefusedError, 1, TryFailure.REQUEST_REFUSED, (0, 0)),
    (ServerReply(status=307, headers={"Location": "http://127.0.0.1:9/v1"}),
     ChatRequestRefusedError, 1, TryFailure.REQUEST_REFUSED, (0, 0)),
    (replies.garbage(), ChatAnswerUnreadableError, 1, TryFailure.UNREADABLE, None),
    (replies.no_choices(), ChatAnswerUnreadableError, 1, TryFailure.UNREADABLE, None),
    (ServerReply(), ChatAnswerUnreadableError, 1, TryFailure.UNREADABLE, (16, 0)),
    (ServerReply(body=b"[1]"), ChatAnswerUnreadableError, 1, TryFailure.UNREADABLE, (16, 1)),
    (ServerReply(body=b'{"choices": [{"message": {"content": 7}}]}'), ChatAnswerUnreadableError, 1,
     TryFailure.UNREADABLE, None),
    (ServerReply(body=b"zzzz", headers={"Content-Encoding": "gzip"}), ChatUnreachableError, 3, TryFailure.CLOSED, None),
    (replies.huge(), ChatAnswerTooLargeError, 1, TryFailure.TOO_LARGE, (16, 50)),
    (ServerReply(body=b'{"error": {"code": 429, "message": "slow down"}}'),
     ChatRateLimitedError, 3, TryFailure.RATE_LIMITED, (0, 0)),
    (ServerReply(body=b'{"error": "upstream broke"}'), ChatServerError, 3, TryFailure.SERVER_ERROR, (16, 0)),
]  # fmt: skip


@pytest.mark.parametrize("row", FAULTS, ids=range(len(FAULTS)))
async def test_each_fault_ends_in_its_error_after_its_tries_and_every_try_is_counted(
    clock: LeapingClock, row: tuple[ServerReply, type[ChatError], int, TryFailure, tuple[int, int] | None]
):
    reply, error, tries, failure, charged = row
    is_slow = error is ChatTimeoutError and reply.status != 408
    raised, server = await failing(repeat(reply), clock, retries=2, timeout=0.5 if is_slow else 30)
    assert type(raised) is error
    assert server.calls == len(raised.failed_tries) == tries
    assert {one.failure for one in raised.failed_tries} == {failure}
    assert all(one.usage.is_estimated for one in raised.failed_tries)
    for one in raised.failed_tries:
        assert charged is None or (one.usage.input_tokens, one.usage.output_tokens) == charged
    assert str(raised).endswith(".")
    assert "\n" not in str(raised)
    assert KEY not in str(raised)
    assert PROMPT not in str(raised)
    assert raised.__cause__ is None
    assert raised.__context__ is None


async def test_an_absent_server_is_tried_again_and_then_named(clock: LeapingClock):
    async with ChatServer([]) as server:
        pass
    with pytest.raises(ChatUnreachableError, match=r"cannot be reached \(3 tries\).*OPENAI_BASE_URL") as caught:
        await ask(server, clock, retries=2)
    assert [one.failure for one in caught.value.failed_tries] == [TryFailure.UNREACHABLE] * 3
    assert sum(one.usage.input_tokens for one in caught.value.failed_tries) == 0


async def test_a_handshake_that_hangs_is_charged_nothing_for_nothing_was_sent(clock: LeapingClock):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and never speaks TLS
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/v1"
        settings = ChatOptions(model="tiny", base_url=url, timeout=timedelta(seconds=0.2), retries=1)
        async with OpenAIChatClient(settings, clock=clock) as client:
            with pytest.raises(ChatUnreachableError) as caught:
                await client.complete(request())
    assert len(caught.value.failed_tries) == 2
    assert {(one.usage.input_tokens, one.usage.output_tokens) for one in caught.value.failed_tries} == {(0, 0)}
    # The HTTP library leaves the connections of a handshake that it gave up to the garbage collector.
    for one in gc.get_objects():
        if isinstance(one, asyncio.Transport) and not one.is_closing():
            one.abort()
    await asyncio.sleep(0)


async def test_failed_tries_before_an_answer_are_told_with_it(clock: LeapingClock):
    script = [replies.server_error(), replies.closes_mid_body(), "Lisbon."]
    async with ChatServer(script) as server:
        completion = await ask(server, clock)
    assert completion.text == "Lisbon."
    assert [(one.failure, one.status) for one in completion.failed_tries] == [
        (TryFailure.SERVER_ERROR, 500),
        (TryFailure.CLOSED, None),
    ]


async def test_waits_double_with_a_spread_up_to_the_longest(clock: LeapingClock):
    await failing(repeat(replies.server_error()), clock, retries=6, retry_wait=1, max_retry_wait=10)
    fulls = [1, 2, 4, 8, 10, 10]
    assert len(clock.slept) == 6
    assert all(full * SECOND / 2 <= wait <= full * SECOND for wait, full in zip(clock.slept, fulls, strict=True))


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7 * SECOND),
        ("0", 0 * SECOND),
        ("1.5", 1.5 * SECOND),
        ("Sat, 14 Jun 2025 09:00:20 GMT", 20 * SECOND),
        ("Sat, 14 Jun 2025 08:00:00 GMT", 0 * SECOND),
    ],
)
async def test_retry_after_is_waited_exactly(clock: LeapingClock, header: str, wait: timedelta):
    async with ChatServer([replies.rate_limited(header), "Lisbon."]) as server:
        await ask(server, clock)
    assert clock.slept == [wait]


@pytest.mark.parametrize("header", ["soon", "-5", "nan", "inf", ""])
async def test_a_retry_after_that_means_nothing_is_passed_over(clock: LeapingClock, header: str):
    async with ChatServer([replies.rate_limited(header), "Lisbon."]) as server:
        await ask(server, clock, retry_wait=4)
    assert 2 * SECOND <= clock.slept[0] <= 4 * SECOND


async def test_a_server_that_asks_for_a_long_wait_is_given_up_with_that_wait(clock: LeapingClock):
    raised, _ = await failing([replies.rate_limited("3600")], clock)
    assert isinstance(raised, ChatRateLimitedError)
    assert raised.retry_after == timedelta(hours=1)
    assert "try again in 3600 s" in str(raised)
    assert clock.slept == []


@pytest.mark.parametrize(
    ("taken", "asked"),
    [
        (["json_schema", "json_object"], ["json_schema", "json_schema"]),
        (["json_object"], ["json_schema", "json_object", "json_object"]),
        ([], ["json_schema", "json_object", "text", "text"]),
    ],
)
async def test_the_response_format_is_learned_once_and_remembered(
    clock: LeapingClock, taken: list[str], asked: list[str]
):
    async with (
        ChatServer(["{}", "{}"], response_formats=taken) as server,
        OpenAIChatClient(options(server, retries=0), clock=clock) as client,
    ):
        first = await client.complete(request(response_format=FORMAT))
        second = await client.complete(request(response_format=FORMAT))
    assert [one.response_format for one in server.requests] == asked
    assert {one.failure for one in first.failed_tries} <= {TryFailure.PARAMETER_REFUSED}
    assert len(first.failed_tries) == len(asked) - 2
    assert second.failed_tries == ()
    assert clock.slept == []


async def test_calls_refused_together_step_down_once(clock: LeapingClock):
    async with (
        ChatServer(repeat("{}"), response_formats=["json_object"], latency=timedelta(milliseconds=20)) as server,
        OpenAIChatClient(options(server), clock=clock) as client,
    ):
        done = await asyncio.gather(*(client.complete(request(response_format=FORMAT)) for _ in range(8)))
    assert [len(one.failed_tries) for one in done] == [1] * 8
    assert [one.response_format for one in server.requests[8:]] == ["json_object"] * 8
    assert server.most_in_flight == 8


@pytest.mark.parametrize("status", [400, 404, 422])
@pytest.mark.parametrize(
    "says", [{"param": "response_format"}, {"message": "Unknown field: response_format"}, {"message": "no json_schema"}]
)
async def test_a_refusal_about_the_response_format_steps_down(clock: LeapingClock, status: int, says: dict[str, str]):
    async with ChatServer([replies.refused(status, **says), "{}"]) as server:
        await ask(server, clock, asked=request(response_format=FORMAT))
    assert [one.response_format for one in server.requests] == ["json_schema", "json_object"]


@pytest.mark.parametrize(
    "reply",
    [
        replies.server_error(),
        replies.refused(400, message="bad"),
        replies.refused(404),
        replies.refused(400, param="messages", message="with response_format"),
        replies.context_too_long(),
        replies.refused(403, param="response_format"),
        replies.refused(429, param="response_format"),
    ],
)
async def test_no_other_fault_steps_down(clock: LeapingClock, reply: ServerReply):
    async with ChatServer([reply, "{}"]) as server, OpenAIChatClient(options(server), clock=clock) as client:
        try:
            await client.complete(request(response_format=FORMAT))
        except ChatError:
            await client.complete(request(response_format=FORMAT))
    assert [one.response_format for one in server.requests] == ["json_schema", "json_schema"]


async def test_a_model_with_another_name_for_the_limit_and_a_fixed_temperature_is_learned(clock: LeapingClock):
    def choosy(served: ServedRequest) -> str | ServerReply:
        if "max_tokens" in served.body:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return replies.refused(400, param="max_tokens", message=message)
        if "temperature" in served.body:
            return replies.refused(400, param="temperature", message="Only the default is supported.")
        return "Lisbon."

    async with ChatServer(repeat(choosy)) as server, OpenAIChatClient(options(server), clock=clock) as client:
        await client.complete(request(temperature=0.0))
        await client.complete(request(temperature=0.0))
    assert server.calls == 4
    assert server.requests[3].body["max_completion_tokens"] == 50


async def test_an_error_without_end_is_not_read_whole(clock: LeapingClock):
    body = b'{"error": {"message": "' + b"x" * 5_000_000
    raised, _ = await failing([ServerReply(status=400, body=body)], clock)
    assert type(raised) is ChatRequestRefusedError


async def test_a_cancelled_call_frees_its_connection_and_the_client_goes_on(clock: LeapingClock):
    arrived = asyncio.Event()

    async def late(_: ServedRequest) -> str:
        arrived.set()
        await asyncio.Event().wait()
        return "late"

    script = [late, "Lisbon."]
    async with ChatServer(script) as server, OpenAIChatClient(options(server), clock=clock) as client:
        call = asyncio.create_task(client.complete(request()))
        await arrived.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.complete(request())).text == "Lisbon."


async def test_a_client_is_open_from_start_to_stop_and_may_start_again(clock: LeapingClock):
    async with ChatServer(repeat("Lisbon.")) as server:
        client = OpenAIChatClient(options(server), clock=clock)
        for _ in range(2):
            with pytest.raises(HostNotStartedError, match="model client"):
                await client.complete(request())
            await client.start()
            assert (await client.complete(request())).text == "Lisbon."
            await client.stop()
        await client.stop()


@pytest.mark.parametrize(
    "script",
    [
        ["Lisbon."],
        [replies.key_refused()],
        [replies.refused(401, code=KEY, message=f"Incorrect API key provided: {KEY}")],
        [replies.refused(400, code=KEY, message=f"wrong key {KEY}")],
        [ServerReply(status=500, body=KEY.encode(), headers={"X-Echo": "no"}), "Lisbon."],
        [replies.closes_mid_body(), replies.hangs_up(), "Lisbon."],
    ],
)
async def test_the_key_is_in_no_log_no_error_and_no_repr(
    clock: LeapingClock, caplog: pytest.LogCaptureFixture, script: list[ServerScript]
):
    with caplog.at_level(logging.NOTSET):
        async with ChatServer(script) as server:
            chosen = options(server)
            client = OpenAIChatClient(chosen, clock=clock)
            await client.start()
            told: list[object] = []
            try:
                told.append(await client.complete(request()))
            except ChatError as error:
                told += [error, error.args, error.failed_tries, *traceback.format_exception(error)]
            await client.stop()
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "chat_" in logged
    assert KEY not in f"{told!r} {told[0]}"
    assert KEY not in logged + f"{chosen!r} {chosen} {client!r} {client.__dict__}"
    assert PROMPT not in logged
