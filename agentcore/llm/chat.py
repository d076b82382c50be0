"""Defines the chat contract: one request, one completion."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from agentcore.errors import InvalidOptionsError


class ChatRole(StrEnum):
    """Who speaks a message of a prompt."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class ModelTier(StrEnum):
    """What kind of work a call is, by which a client that serves several models chooses one."""

    DEFAULT = "default"
    """What the agent asks for itself."""
    DREAMING = "dreaming"
    """Housekeeping in idle time, for which a cheaper model may do."""


class FinishReason(StrEnum):
    """Why a model stopped; only `STOP` means that the text is whole."""

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt.

    Args:
        role: Who speaks.
        content: The text.
    """

    role: ChatRole
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseFormat:
    """The JSON object an answer is to be.

    A client asks for as much of it as its server understands (schema, any JSON object, nothing), so an answer
    in another shape can still arrive.

    Args:
        name: The schema's name, of `[a-zA-Z0-9_-]`.
        schema: A JSON Schema.
    """

    name: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """What a model is asked.

    Args:
        messages: The prompt, at least one message.
        max_output_tokens: The longest answer, in the model's tokens.
        purpose: What the call is for, such as a pass's name; recorded with its usage, never sent.
        response_format: The JSON to answer with; None for plain text.
        temperature: Randomness from 0; None leaves it to the server.
        model: The model's name; None for the client's own of the tier.
        tier: What kind of work it is; every call of a dream is of the tier `dreaming`.

    Raises:
        InvalidOptionsError: no message, no room for an answer, or a negative temperature.
    """

    messages: tuple[ChatMessage, ...]
    max_output_tokens: int
    purpose: str
    response_format: ResponseFormat | None = None
    temperature: float | None = None
    model: str | None = None
    tier: ModelTier = ModelTier.DEFAULT

    def __post_init__(self) -> None:
        """Refuse what no server could answer."""
        if not self.messages:
            raise InvalidOptionsError(field="messages", value=self.messages, allowed="give at least one message")
        if self.max_output_tokens < 1:
            raise InvalidOptionsError(
                field="max_output_tokens",
                value=self.max_output_tokens,
                allowed="give at least 1",
            )
        if self.temperature is not None and not self.temperature >= 0:
            raise InvalidOptionsError(field="temperature", value=self.temperature, allowed="give 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call cost, in the model's tokens.

    Args:
        input_tokens: Tokens of the prompt.
        output_tokens: Tokens of the answer, thinking included.
        is_estimated: Whether a part of it is our estimate, because the server did not say.
    """

    input_tokens: int
    output_tokens: int
    is_estimated: bool = False


class TryFailure(StrEnum):
    """What one try of a call failed of."""

    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    CLOSED = "closed"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    KEY_REFUSED = "key_refused"
    MODEL_MISSING = "model_missing"
    CONTEXT_TOO_LONG = "context_too_long"
    PARAMETER_REFUSED = "parameter_refused"
    REQUEST_REFUSED = "request_refused"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """One request that gave no completion; budgets count it.

    Args:
        failure: What it failed of.
        usage: What it is charged, always an estimate: nothing when the server refused or never got it; else the
            prompt and the answer as far as it came, and after a time-out the longest answer allowed.
        status: The HTTP status; None where none arrived.
    """

    failure: TryFailure
    usage: Usage
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model answered: untrusted text.

    Args:
        text: The answer; may be empty.
        finish_reason: Why it ended.
        usage: What it cost.
        model: The model that answered, as the server names it.
        failed_tries: The requests that failed before this answer came, oldest first; `usage` is without them.
    """

    text: str
    finish_reason: FinishReason
    usage: Usage
    model: str
    failed_tries: tuple[FailedTry, ...] = ()


class ChatClient(Protocol):
    """A model that answers requests; lives as long as the host and serves several calls at once.

    Implemented by `OpenAIChatClient`. Doubles: `agentcore.testing.ScriptedChatClient`.
    """

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer, whole or not: `finish_reason` tells. Cancelling the call gives it up.

        Raises:
            ChatError: there is no answer; its `failed_tries` say what was tried and what that is charged.
        """
        ...


def estimate_tokens(text: str) -> int:
    """Return about how many tokens *text* takes: a token per four bytes of UTF-8, rounded up.

    A real tokenizer's count differs by model; this one needs none and errs on the high side for other scripts.

    Example:
        >>> estimate_tokens("Ana moved to Lisbon")
        5
    """
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)
