import asyncio
from datetime import timedelta
from itertools import repeat

import pytest

from agentcore.errors import InvalidOptionsError
from agentcore.llm import ChatMessage, ChatOptions, ChatRequest, ChatRequestRefusedError, ChatRole, OpenAIChatClient
from agentcore.testing import ChatServer, ScriptExhaustedError, ServedRequest, ServerReply, chat_replies as replies


def request(text: str) -> ChatRequest:
    return ChatRequest(messages=(ChatMessage(ChatRole.USER, text),), max_output_tokens=9, purpose="test")


def client(server: ChatServer) -> OpenAIChatClient:
    return OpenAIChatClient(ChatOptions(model="tiny", base_url=server.base_url, retries=0))


async def test_replies_come_in_order_and_requests_are_recorded():
    async with ChatServer(["one", replies.answer("two")]) as server, client(server) as chat:
        said = [(await chat.complete(request(text))).text for text in ("a", "b")]
    assert said == ["one", "two"]
    assert [(one.model, one.prompt, one.path) for one in server.requests] == [
        ("tiny", "a", "/v1/chat/completions"),
        ("tiny", "b", "/v1/chat/completions"),
    ]
    assert server.calls == 2


async def test_a_reply_may_be_computed_from_the_request():
    def echo(served: ServedRequest) -> str:
        return served.prompt.upper()

    async def later(served: ServedRequest) -> ServerReply:
        return replies.answer(served.prompt * 2)

    async with ChatServer([echo, later]) as server, client(server) as chat:
        assert (await chat.complete(request("a"))).text == "A"
        assert (await chat.complete(request("b"))).text == "bb"


async def test_a_call_too_many_is_refused_and_told_when_the_block_ends():
    async def two_calls_for_one_reply() -> None:
        async with ChatServer(["one"]) as server, client(server) as chat:
            await chat.complete(request("a"))
            with pytest.raises(ChatRequestRefusedError, match="script_exhausted"):
                await chat.complete(request("b"))

    with pytest.raises(ScriptExhaustedError, match="used up"):
        await two_calls_for_one_reply()


async def test_an_error_in_the_block_is_not_hidden_by_a_call_too_many():
    with pytest.raises(ChatRequestRefusedError):
        async with ChatServer([]) as server, client(server) as chat:
            await chat.complete(request("a"))


async def test_calls_are_served_at_once_and_the_busiest_moment_is_known():
    latency = timedelta(milliseconds=30)
    async with ChatServer(repeat("ok"), latency=latency) as server, client(server) as chat:
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(chat.complete(request("a")) for _ in range(4)))
        assert asyncio.get_running_loop().time() - started < 2
    assert server.most_in_flight == 4


async def test_the_block_ends_while_calls_hang():
    async with ChatServer(repeat(replies.slow(replies.answer("late"), timedelta(hours=1)))) as server:
        async with client(server) as chat:
            call = asyncio.create_task(chat.complete(request("a")))
            await asyncio.sleep(0.1)
        await asyncio.wait({call})
        assert call.exception() is not None


def test_a_bare_text_instead_of_a_list_is_refused():
    with pytest.raises(InvalidOptionsError, match="one reply per call"):
        ChatServer("hello")
