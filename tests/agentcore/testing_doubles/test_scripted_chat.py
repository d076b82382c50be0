import asyncio
import itertools

import pytest

import agentcore.llm
import agentcore.testing
from agentcore.errors import InvalidOptionsError
from agentcore.llm import (
    ChatClient,
    ChatError,
    ChatMessage,
    ChatRequest,
    ChatRole,
    ChatUnavailableError,
    Completion,
    FinishReason,
    Usage,
)
from agentcore.testing import ScriptedChatClient, ScriptExhaustedError


def ask(text: str = "hello", *, model: str | None = None) -> ChatRequest:
    return ChatRequest(
        messages=(ChatMessage(ChatRole.SYSTEM, "Be brief."), ChatMessage(ChatRole.USER, text)),
        max_output_tokens=100,
        purpose="a test",
        model=model,
    )


async def test_a_text_becomes_a_whole_completion_with_counted_tokens():
    client: ChatClient = ScriptedChatClient(["grüß"])
    completion = await client.complete(ask("12345"))
    assert completion == Completion(
        text="grüß",
        finish_reason=FinishReason.STOP,
        usage=Usage(input_tokens=3 + 2, output_tokens=2),
        model="scripted",
    )


async def test_a_text_answers_under_the_model_that_was_asked_for():
    completion = await ScriptedChatClient(["hi"]).complete(ask(model="small"))
    assert completion.model == "small"


async def test_a_completion_is_given_as_it_stands():
    cut = Completion(
        text="{",
        finish_reason=FinishReason.LENGTH,
        usage=Usage(input_tokens=1, output_tokens=1),
        model="m",
    )
    assert await ScriptedChatClient([cut]).complete(ask()) is cut


async def test_an_exception_is_raised_and_its_request_recorded():
    down = ChatUnavailableError(model="m", problem="does not answer", remedy="start the server")
    client = ScriptedChatClient([down, "back again"])
    with pytest.raises(ChatError, match=r"^The model m does not answer: start the server\.$") as caught:
        await client.complete(ask("first"))
    assert caught.value is down
    assert (await client.complete(ask("second"))).text == "back again"
    assert client.requests == [ask("first"), ask("second")]


async def test_a_function_answers_from_the_request():
    client = ScriptedChatClient(itertools.repeat(lambda request: request.messages[-1].content.upper()))
    assert [(await client.complete(ask(text))).text for text in ("a", "b")] == ["A", "B"]


async def test_a_function_may_give_an_exception():
    client = ScriptedChatClient([lambda request: ValueError(request.purpose)])
    with pytest.raises(ValueError, match="a test"):
        await client.complete(ask())


async def test_an_awaitable_reply_keeps_the_call_in_flight_until_it_can_be_cancelled():
    reached = asyncio.Event()

    async def hang(_: ChatRequest) -> str:
        reached.set()
        await asyncio.Event().wait()
        return "never"

    client = ScriptedChatClient([hang, "next"])
    call = asyncio.create_task(client.complete(ask()))
    await reached.wait()
    call.cancel()
    await asyncio.wait({call})
    assert call.cancelled()
    assert (await client.complete(ask())).text == "next"
    assert len(client.requests) == 2


async def test_running_out_of_replies_says_how_many_there_were_and_what_the_call_was_for():
    client = ScriptedChatClient(["only one"])
    await client.complete(ask())
    with pytest.raises(ScriptExhaustedError, match=r"\(1\) are used up and a further call came for 'a test'"):
        await client.complete(ask())
    with pytest.raises(ScriptExhaustedError, match=r"replies \(1\)"):
        await client.complete(ask())


def test_a_bare_string_is_no_script():
    with pytest.raises(InvalidOptionsError, match="one reply per call"):
        ScriptedChatClient("hello")


async def test_the_recorded_requests_cannot_be_changed_from_outside():
    client = ScriptedChatClient(["hi"])
    await client.complete(ask())
    client.requests.clear()
    assert len(client.requests) == 1


def test_a_request_that_no_server_could_answer_is_refused():
    message = ChatMessage(ChatRole.USER, "hi")
    with pytest.raises(InvalidOptionsError, match="messages"):
        ChatRequest(messages=(), max_output_tokens=1, purpose="p")
    with pytest.raises(InvalidOptionsError, match="max_output_tokens"):
        ChatRequest(messages=(message,), max_output_tokens=0, purpose="p")
    for temperature in (-0.1, float("nan")):
        with pytest.raises(InvalidOptionsError, match="temperature"):
            ChatRequest(messages=(message,), max_output_tokens=1, purpose="p", temperature=temperature)


@pytest.mark.parametrize("package", [agentcore.llm, agentcore.testing])
def test_all_names_what_the_package_has(package: object):
    names: list[str] = vars(package)["__all__"]
    assert all(hasattr(package, name) for name in names)
    assert names == sorted(set(names))
