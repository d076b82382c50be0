"""OpenAIChatClient: the model behind an OpenAI-compatible server."""

import logging
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agentcore.clock import Clock, SystemClock
from agentcore.errors import HostNotStartedError
from agentcore.llm.chat import ChatRequest, Completion, FailedTry, TryFailure
from agentcore.llm.connected import Connected
from agentcore.llm.dialect import Dialect
from agentcore.llm.reading import Unusable, read_completion
from agentcore.llm.refusal import read_refusal, read_retry_after
from agentcore.llm.reply import Break, Reply
from agentcore.llm.tokens import estimate_tokens
from agentcore.llm.verdict import Asked, Verdict, judge

if TYPE_CHECKING:
    from agentcore.llm.settings import ChatOptions

_MESSAGE_OVERHEAD = 4
_LONGEST_QUOTE = 1_000

_log = logging.getLogger(__name__)


class OpenAIChatClient(Connected):
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

    async def _try(self, request: ChatRequest, asked: Asked) -> Completion | Verdict:
        if self._endpoint is None:
            raise HostNotStartedError(service="model client")
        dialect = self._dialects[asked.model]
        body = dialect.body(request, model=asked.model, max_output_tokens=asked.output_tokens)
        outcome = self._understood(await self._endpoint.post(body), asked)
        if (
            isinstance(outcome, Verdict)
            and outcome.refusal is not None
            and outcome.failure is not TryFailure.CONTEXT_TOO_LONG
            and dialect.learn(outcome.refusal, body)
        ):
            return replace(outcome, failure=TryFailure.PARAMETER_REFUSED)
        return outcome

    def _understood(self, reply: Reply | Break, asked: Asked) -> Completion | Verdict:
        if isinstance(reply, Break):
            return Verdict(failure=reply.failure, received=reply.received)
        retry_after = read_retry_after(reply.headers, self._clock.now())
        if not 200 <= reply.status < 300:
            return judge(read_refusal(reply.status, reply.body), retry_after)
        read = read_completion(reply.body, model=asked.model, input_estimate=asked.input_tokens)
        if isinstance(read, Completion):
            return read
        if isinstance(read, Unusable):
            return Verdict(
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

    def _wait_before(self, repeated: int, verdict: Verdict) -> timedelta | None:
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

    def _log_failure(self, verdict: Verdict, request: ChatRequest, asked: Asked) -> None:
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
