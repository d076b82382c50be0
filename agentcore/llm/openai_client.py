"""Asks the chat model behind an OpenAI-compatible server, and believes nothing it answers."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson

from agentcore.clock import Clock, SystemClock
from agentcore.errors import HostNotStartedError
from agentcore.llm.call_failure import Asked, CallFailure, judge
from agentcore.llm.chat import (
    ChatRequest,
    Completion,
    FailedTry,
    FinishReason,
    ResponseFormat,
    TryFailure,
    Usage,
    estimate_tokens,
)
from agentcore.llm.hosted_client import HostedClient
from agentcore.llm.reply import ConnectionFailure, Reply
from agentcore.llm.server_error import ServerError, read_retry_after, read_server_error, refusal_in

if TYPE_CHECKING:
    from agentcore.llm.settings import ChatOptions


_STATUSES = frozenset({400, 404, 422})
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "guided_json", "structured output")


class FormatLevel(IntEnum):
    """How an answer's JSON is asked for, the strictest first."""

    SCHEMA = 0
    OBJECT = 1
    PLAIN = 2


class Dialect:
    """What is known of one model at one server; lives as long as the client, and only ever asks for less.

    Example:
        >>> dialect = Dialect()
        >>> dialect.level.name
        'SCHEMA'
    """

    def __init__(self) -> None:
        self.level = FormatLevel.SCHEMA
        self._limit_name = "max_tokens"
        self._sends_temperature = True

    def body(self, request: ChatRequest, *, model: str, max_output_tokens: int) -> dict[str, Any]:
        """Return the request's JSON as this server understands it."""
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": one.role.value, "content": one.content} for one in request.messages],
            self._limit_name: max_output_tokens,
        }
        if request.temperature is not None and self._sends_temperature:
            body["temperature"] = request.temperature
        if request.response_format is not None and self.level is not FormatLevel.PLAIN:
            body["response_format"] = self._format(request.response_format)
        return body

    def learn(self, refusal: ServerError, body: dict[str, Any]) -> bool:
        """Ask for less from now on, if *refusal* of *body* is about a parameter; return whether to ask again."""
        if refusal.status not in _STATUSES:
            return False
        if "response_format" in body and refusal.is_about("response_format", _FORMAT_WORDS):
            # Calls in flight at once are refused together; each level is left once.
            asked = FormatLevel.SCHEMA if body["response_format"]["type"] == "json_schema" else FormatLevel.OBJECT
            self.level = max(self.level, FormatLevel(asked + 1))
            return True
        if "max_tokens" in body and refusal.is_about("max_tokens", ("max_completion_tokens",)):
            self._limit_name = "max_completion_tokens"
            return True
        if "temperature" in body and refusal.is_about("temperature", ()):
            self._sends_temperature = False
            return True
        return False

    def _format(self, wanted: ResponseFormat) -> dict[str, Any]:
        if self.level is FormatLevel.OBJECT:
            return {"type": "json_object"}
        return {"type": "json_schema", "json_schema": {"name": wanted.name, "schema": dict(wanted.schema)}}


_REASONS = {
    "stop": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "content_filter": FinishReason.CONTENT_FILTER,
    "refusal": FinishReason.CONTENT_FILTER,
    "tool_calls": FinishReason.TOOL_CALLS,
    "tool_use": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
}
_LONGEST_MODEL = 256


@dataclass(frozen=True, slots=True)
class Unusable:
    """A body that is no completion.

    Args:
        problem: What is wrong with it.
    """

    problem: str


def read_completion(body: bytes, *, model: str, input_estimate: int) -> Completion | ServerError | Unusable:
    """Return the completion in the body of a reply of status 200; never raises.

    Some gateways send an error with that status; it is returned as the refusal it is.

    Args:
        body: JSON, if the server is what it should be.
        model: Who was asked, for a server that names nobody.
        input_estimate: The prompt's tokens as we count them, for a server that does not.
    """
    try:
        parsed: object = orjson.loads(body)
    except ValueError:
        return Unusable("an empty body" if not body.strip() else "not JSON")
    document = _mapping(parsed)
    error = document.get("error")
    if error and not document.get("choices"):
        code = _mapping(error).get("code")
        return refusal_in(code if isinstance(code, int) and 400 <= code <= 599 else 502, document)
    choice = _mapping(next(iter(_sequence(document.get("choices"))), None))
    message = _mapping(choice.get("message"))
    if not message:
        return Unusable("no choices" if "choices" in document else "JSON of another kind")
    text = _text(message.get("content"))
    if text is None:
        return Unusable("content that is no text")
    named = document.get("model")
    return Completion(
        text=text,
        finish_reason=_finish_reason(choice.get("finish_reason"), message, text),
        usage=_usage(document.get("usage"), input_estimate, text),
        model=named[:_LONGEST_MODEL] if isinstance(named, str) and named.strip() else model,
    )


def _finish_reason(told: object, message: Mapping[str, object], text: str) -> FinishReason:
    reason = _REASONS.get(told.casefold(), FinishReason.ERROR) if isinstance(told, str) else FinishReason.ERROR
    if reason is FinishReason.STOP and not text:
        if message.get("refusal"):
            return FinishReason.CONTENT_FILTER
        if message.get("tool_calls") or message.get("function_call"):
            return FinishReason.TOOL_CALLS
    return reason


def _text(content: object) -> str | None:
    """Return a message's text, which may come in parts; None if it is none."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = _sequence(content)
    texts = [_mapping(part).get("text", "") for part in parts]
    return "".join(text for text in texts if isinstance(text, str)) if parts else None


def _usage(told: object, input_estimate: int, text: str) -> Usage:
    usage = _mapping(told)
    asked, answered = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    cached = _count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")) or 0
    if asked is not None and cached > asked:
        asked += cached  # a part cannot be larger than the whole: this server leaves out what it remembers
    return Usage(
        # A prompt of no tokens does not exist: such a server does not count.
        input_tokens=asked or input_estimate,
        output_tokens=estimate_tokens(text) if answered is None else answered,
        is_estimated=not asked or answered is None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _sequence(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


_MESSAGE_OVERHEAD = 4
_LONGEST_QUOTE = 1_000

_log = logging.getLogger(__name__)


class OpenAIChatClient(HostedClient):
    """A `ChatClient` that asks an OpenAI-compatible server; a hosted service, open from `start` to `stop`.

    The same client serves any number of calls at once, and may be started again after it stopped.

    *Response format.* JSON is asked for by schema; a server that refuses this is asked for any JSON object, and then
    for nothing. What it refused is remembered for each model as long as the client lives. Only a 400, 404 or 422
    about `response_format` steps down.

    *Tries.* A broken connection, a time-out, a 408, a 429 and a 5xx are tried again after a wait that doubles, or as
    long as `Retry-After` says; a server that asks for more than `max_retry_wait` is given up. Every failed try is
    told in the completion, or in the error. A cancelled call tells nothing: charge it your own estimate.

    *Secrets.* No error and no log line shows the key; prompts and answers are not logged at all; what a
    server says in an error is, at level DEBUG.

    Args:
        options: Which model to ask, and how.
        clock: What waits between tries; the machine's by default.

    Example:
        >>> import asyncio
        >>> from agentcore.llm import ChatMessage, ChatOptions, ChatRole
        >>> from agentcore.testing import ChatServer
        >>> async def main() -> None:
        ...     async with ChatServer(["Hello."]) as server:
        ...         options = ChatOptions(model="tiny", base_url=server.base_url)
        ...         async with OpenAIChatClient(options) as client:
        ...             prompt = (ChatMessage(ChatRole.USER, "Hi"),)
        ...             request = ChatRequest(messages=prompt, max_output_tokens=9, purpose="greeting")
        ...             print((await client.complete(request)).text)
        >>> asyncio.run(main())
        Hello.
    """

    def __init__(self, options: "ChatOptions", *, clock: Clock | None = None) -> None:
        super().__init__(options)
        self._clock = clock or SystemClock()
        self._dialects: defaultdict[str, Dialect] = defaultdict(Dialect)
        self._waits = 0

    @property
    def options(self) -> "ChatOptions":
        """Which model is asked, and how."""
        return self._options

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer, whole or not: `finish_reason` tells.

        Raises:
            ChatContextTooLongError: prompt and answer do not fit; ask in smaller parts.
            ChatError: there is no answer; the subclasses say why, its `failed_tries` what was tried.
            HostNotStartedError: the client is not started.
        """
        asked = self._asked(request)
        failed: list[FailedTry] = []
        repeated = 0
        while True:
            asked = replace(asked, tries=asked.tries + 1)
            outcome = await self._try(request, asked)
            if isinstance(outcome, Completion):
                _log.debug("chat_answered", extra={"purpose": request.purpose, "tries": asked.tries})
                return replace(outcome, failed_tries=tuple(failed))
            failed.append(outcome.failed_try(asked))
            self._log_failure(outcome, request, asked)
            if outcome.failure is TryFailure.PARAMETER_REFUSED:
                continue
            wait = self._wait_before(repeated, outcome)
            if wait is None:
                error = outcome.error(asked, self._options)
                error.failed_tries = tuple(failed)
                raise error
            repeated += 1
            await self._clock.sleep(wait)

    async def _try(self, request: ChatRequest, asked: Asked) -> Completion | CallFailure:
        if self._endpoint is None:
            raise HostNotStartedError(service="model client")
        dialect = self._dialects[asked.model]
        body = dialect.body(request, model=asked.model, max_output_tokens=asked.output_tokens)
        outcome = self._understood(await self._endpoint.post(body), asked)
        if (
            isinstance(outcome, CallFailure)
            and outcome.refusal is not None
            and outcome.failure is not TryFailure.CONTEXT_TOO_LONG
            and dialect.learn(outcome.refusal, body)
        ):
            return replace(outcome, failure=TryFailure.PARAMETER_REFUSED)
        return outcome

    def _understood(self, reply: Reply | ConnectionFailure, asked: Asked) -> Completion | CallFailure:
        if isinstance(reply, ConnectionFailure):
            return CallFailure(failure=reply.failure, received=reply.received)
        retry_after = read_retry_after(reply.headers, self._clock.now())
        if not 200 <= reply.status < 300:
            return judge(read_server_error(reply.status, reply.body), retry_after)
        read = read_completion(reply.body, model=asked.model, input_estimate=asked.input_tokens)
        if isinstance(read, Completion):
            return read
        if isinstance(read, Unusable):
            return CallFailure(
                failure=TryFailure.UNREADABLE,
                status=reply.status,
                received=len(reply.body),
                problem=read.problem,
            )
        return judge(read, retry_after)

    def _asked(self, request: ChatRequest) -> Asked:
        bound = self._options.max_output_tokens
        return Asked(
            model=request.model or self._options.model_of(request.tier),
            input_tokens=sum(estimate_tokens(one.content) + _MESSAGE_OVERHEAD for one in request.messages),
            output_tokens=min(request.max_output_tokens, bound or request.max_output_tokens),
            tries=0,
        )

    def _wait_before(self, repeated: int, verdict: CallFailure) -> timedelta | None:
        """Return how long to wait before the next try; None to give up."""
        longest = self._options.max_retry_wait
        if not verdict.may_do_better or repeated >= self._options.retries:
            return None
        if verdict.retry_after is not None:
            return verdict.retry_after if verdict.retry_after <= longest else None
        # Calls that failed together must not come back together; a hash spreads them the same way each run.
        self._waits += 1
        spread = blake2b(str(self._waits).encode(), digest_size=2).digest()
        share = 0.5 + int.from_bytes(spread) / 0x1FFFE
        return min(longest, self._options.retry_wait * 2**repeated) * share

    def _log_failure(self, verdict: CallFailure, request: ChatRequest, asked: Asked) -> None:
        fields: dict[str, Any] = {
            "failure": verdict.failure.value,
            "status": verdict.status,
            "purpose": request.purpose,
            "tries": asked.tries,
        }
        _log.info("chat_try_failed", extra=fields)
        if verdict.refusal is not None:
            says = self._options.without_key(verdict.refusal.text)[:_LONGEST_QUOTE]
            _log.debug("chat_refusal", extra=fields | {"says": says})
