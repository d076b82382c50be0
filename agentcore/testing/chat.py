"""ScriptedChatClient: a model that says what a test wrote down."""

import inspect
from collections.abc import Awaitable, Callable, Iterable

from agentcore.errors import InvalidOptionsError
from agentcore.llm.chat import ChatRequest, Completion, FinishReason, Usage

Answer = str | Completion | Exception
Reply = Answer | Callable[[ChatRequest], Answer | Awaitable[Answer]]


class ScriptExhaustedError(AssertionError):
    """The client was called more often than the script has replies."""

    def __init__(self, *, replies: int, purpose: str) -> None:
        super().__init__(
            f"All scripted replies ({replies}) are used up and a further call came for {purpose!r}: "
            "add a reply, or find out why the model is called again.",
        )


class ScriptedChatClient:
    """A `ChatClient` that answers each call with the next reply; lives as long as the test.

    Args:
        replies: One per call, taken as they are needed, so `itertools.repeat(reply)` answers for ever. A text
            becomes a completion that ended with `stop`, of the request's model (else `scripted`), at a token
            per four bytes; a `Completion` stands as it is; an exception is raised; a function of the request
            gives one of these, or an awaitable of one (to wait, or to look on while the call is in flight).

    Raises:
        InvalidOptionsError: a bare string instead of a list of replies.

    Example:
        >>> import asyncio
        >>> from agentcore.llm import ChatMessage, ChatRole
        >>> client = ScriptedChatClient(["Hello."])
        >>> prompt = (ChatMessage(ChatRole.USER, "Hi"),)
        >>> request = ChatRequest(messages=prompt, max_output_tokens=9, purpose="greeting")
        >>> asyncio.run(client.complete(request)).text
        'Hello.'
        >>> client.requests == [request]
        True
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        if isinstance(replies, str):
            raise InvalidOptionsError(field="replies", value=replies, allowed="give a list with one reply per call")
        self._replies = iter(replies)
        self._given = 0
        self._requests: list[ChatRequest] = []

    @property
    def requests(self) -> list[ChatRequest]:
        """Every request received so far, the failed ones included, oldest first."""
        return list(self._requests)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer *request* with the next reply.

        Raises:
            ScriptExhaustedError: no reply is left.
        """
        self._requests.append(request)
        try:
            reply = next(self._replies)
        except StopIteration:
            raise ScriptExhaustedError(replies=self._given, purpose=request.purpose) from None
        self._given += 1
        answer = await _answer(reply, request)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Completion) else _completion(answer, request)


async def _answer(reply: Reply, request: ChatRequest) -> Answer:
    if isinstance(reply, (str, Completion, Exception)):
        return reply
    given = reply(request)
    return await given if inspect.isawaitable(given) else given


def _completion(text: str, request: ChatRequest) -> Completion:
    asked = sum(_tokens(message.content) for message in request.messages)
    return Completion(
        text=text,
        finish_reason=FinishReason.STOP,
        usage=Usage(input_tokens=asked, output_tokens=_tokens(text)),
        model=request.model or "scripted",
    )


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // 4)
