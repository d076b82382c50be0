"""Decides what a try that gave no completion means for the call."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from agentcore.llm.chat import FailedTry, TryFailure, Usage
from agentcore.llm.errors import (
    ChatAnswerTooLargeError,
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatKeyRefusedError,
    ChatModelMissingError,
    ChatRateLimitedError,
    ChatRequestRefusedError,
    ChatServerError,
    ChatTimeoutError,
    ChatUnreachableError,
)
from agentcore.llm.server_error import ServerError

if TYPE_CHECKING:
    from agentcore.llm.settings import ChatOptions


_BY_STATUS = {
    401: TryFailure.KEY_REFUSED,
    403: TryFailure.KEY_REFUSED,
    404: TryFailure.MODEL_MISSING,
    408: TryFailure.TIMED_OUT,
    429: TryFailure.RATE_LIMITED,
}
_MAY_DO_BETTER = frozenset(
    {
        TryFailure.UNREACHABLE,
        TryFailure.CLOSED,
        TryFailure.TIMED_OUT,
        TryFailure.RATE_LIMITED,
        TryFailure.SERVER_ERROR,
    },
)
# What came this far may have been computed, and so be paid for.
_CHARGED = frozenset(
    {
        TryFailure.CLOSED,
        TryFailure.TIMED_OUT,
        TryFailure.SERVER_ERROR,
        TryFailure.UNREADABLE,
        TryFailure.TOO_LARGE,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one try asked for.

    Args:
        model: The model.
        input_tokens: Its prompt, estimated.
        output_tokens: The longest answer allowed.
        tries: Tries so far, this one included.
    """

    model: str
    input_tokens: int
    output_tokens: int
    tries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
    """What a failed try means.

    Args:
        failure: What it failed of.
        status: The HTTP status; None where none arrived.
        received: Bytes of the answer that came.
        problem: What is wrong with an answer that cannot be read.
        refusal: What the server says.
        retry_after: How long the server asks to wait.
    """

    failure: TryFailure
    status: int | None = None
    received: int = 0
    problem: str = ""
    refusal: ServerError | None = None
    retry_after: timedelta | None = None

    @property
    def may_do_better(self) -> bool:
        """Whether the same request may succeed later."""
        return self.failure in _MAY_DO_BETTER and not (self.refusal is not None and self.refusal.is_used_up)

    def failed_try(self, asked: Asked) -> FailedTry:
        """Return the try with what it is charged."""
        usage = Usage(input_tokens=0, output_tokens=0, is_estimated=True)
        if self.failure in _CHARGED:
            timed_out = self.failure is TryFailure.TIMED_OUT
            output = asked.output_tokens if timed_out else min(asked.output_tokens, -(-self.received // 4))
            usage = Usage(input_tokens=asked.input_tokens, output_tokens=output, is_estimated=True)
        return FailedTry(failure=self.failure, usage=usage, status=self.status)

    def error(self, asked: Asked, options: "ChatOptions") -> ChatError:
        """Return the error that ends the call."""
        return _ERRORS[self.failure](self, asked, options)


def judge(refusal: ServerError, retry_after: timedelta | None) -> CallFailure:
    """Return what a server's error means."""
    status = refusal.status
    failure = _BY_STATUS.get(status, TryFailure.SERVER_ERROR if status >= 500 else TryFailure.REQUEST_REFUSED)
    if refusal.is_context_too_long:
        failure = TryFailure.CONTEXT_TOO_LONG
    return CallFailure(failure=failure, status=status, refusal=refusal, retry_after=retry_after)


def _unreachable(verdict: CallFailure, asked: Asked, options: "ChatOptions") -> ChatError:
    return ChatUnreachableError(
        model=asked.model,
        base_url=options.base_url,
        tries=asked.tries,
        was_connected=verdict.failure is TryFailure.CLOSED,
    )


def _rate_limited(verdict: CallFailure, asked: Asked, _: "ChatOptions") -> ChatError:
    return ChatRateLimitedError(
        model=asked.model,
        retry_after=verdict.retry_after,
        tries=asked.tries,
        is_used_up=verdict.refusal is not None and verdict.refusal.is_used_up,
    )


def _key_refused(verdict: CallFailure, asked: Asked, options: "ChatOptions") -> ChatError:
    return ChatKeyRefusedError(model=asked.model, base_url=options.base_url, status=verdict.status or 0)


def _context_too_long(_: CallFailure, asked: Asked, __: "ChatOptions") -> ChatError:
    return ChatContextTooLongError(
        model=asked.model,
        input_tokens=asked.input_tokens,
        output_tokens=asked.output_tokens,
    )


def _refused(verdict: CallFailure, asked: Asked, options: "ChatOptions") -> ChatError:
    code = verdict.refusal.code if verdict.refusal else ""
    return ChatRequestRefusedError(model=asked.model, status=verdict.status or 0, code=options.without_key(code))


def _unreadable(verdict: CallFailure, asked: Asked, options: "ChatOptions") -> ChatError:
    return ChatAnswerUnreadableError(model=asked.model, base_url=options.base_url, problem=verdict.problem)


_ERRORS: dict[TryFailure, Callable[[CallFailure, Asked, "ChatOptions"], ChatError]] = {
    TryFailure.UNREACHABLE: _unreachable,
    TryFailure.CLOSED: _unreachable,
    TryFailure.TIMED_OUT: lambda _, asked, options: ChatTimeoutError(
        model=asked.model,
        timeout=options.timeout,
        tries=asked.tries,
    ),
    TryFailure.RATE_LIMITED: _rate_limited,
    TryFailure.SERVER_ERROR: lambda verdict, asked, _: ChatServerError(
        model=asked.model,
        status=verdict.status or 0,
        tries=asked.tries,
    ),
    TryFailure.KEY_REFUSED: _key_refused,
    TryFailure.MODEL_MISSING: lambda _, asked, options: ChatModelMissingError(
        model=asked.model,
        base_url=options.base_url,
    ),
    TryFailure.CONTEXT_TOO_LONG: _context_too_long,
    TryFailure.PARAMETER_REFUSED: _refused,
    TryFailure.REQUEST_REFUSED: _refused,
    TryFailure.UNREADABLE: _unreadable,
    TryFailure.TOO_LARGE: lambda _, asked, options: ChatAnswerTooLargeError(
        model=asked.model,
        max_bytes=options.max_answer_bytes,
    ),
}
