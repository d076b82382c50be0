"""Defines the errors of calling a model.

AgentcoreError
├── ChatError                       the model gave no completion
│   ├── ChatUnavailableError        it cannot be reached, or refuses for now
│   │   ├── ChatUnreachableError        no connection, or one that broke
│   │   ├── ChatTimeoutError            no whole answer in time
│   │   ├── ChatRateLimitedError        429
│   │   ├── ChatServerError             5xx
│   │   └── ChatKeyRefusedError         401, 403
│   ├── ChatRequestRefusedError     it will never answer this request
│   │   ├── ChatModelMissingError       404
│   │   └── ChatContextTooLongError     prompt and answer do not fit: split, do not repeat
│   │       └── ChatPromptCutError          the server cut the prompt silently
│   └── ChatAnswerUnreadableError   what came is no completion
│       └── ChatAnswerTooLargeError     it was cut off at the bound
└── InvalidInputError
    └── ChatNotConfiguredError      nothing says which model to ask

No sentence shows a key, a prompt or an answer.
"""

from datetime import timedelta

from agentcore.errors import AgentcoreError, InvalidInputError
from agentcore.llm.chat import FailedTry


class ChatError(AgentcoreError):
    """The model gave no completion; nothing was changed by the call.

    `failed_tries` holds every request that was made, the last one included; budgets count them.
    """

    failed_tries: tuple[FailedTry, ...] = ()


class ChatUnavailableError(ChatError):
    """The model cannot be reached, is overloaded or refuses the key."""

    def __init__(self, *, model: str, problem: str, remedy: str) -> None:
        super().__init__(f"The model {model} {problem}: {remedy}.")


class ChatUnreachableError(ChatUnavailableError):
    """No connection to the server, or one that broke before the answer was whole."""

    def __init__(self, *, model: str, base_url: str, tries: int, was_connected: bool) -> None:
        how = "closed the connection before its answer was whole" if was_connected else "cannot be reached"
        super().__init__(
            model=model,
            problem=f"at {base_url} {how} ({_tries(tries)})",
            remedy="check that the server runs and that OPENAI_BASE_URL is its address",
        )


class ChatTimeoutError(ChatUnavailableError):
    """No whole answer within the time one try has."""

    def __init__(self, *, model: str, timeout: timedelta, tries: int) -> None:
        super().__init__(
            model=model,
            problem=f"gave no whole answer within {timeout.total_seconds():g} s ({_tries(tries)})",
            remedy="set a longer AGENTCORE_TIMEOUT or ask for less at once",
        )


class ChatRateLimitedError(ChatUnavailableError):
    """The server asks for fewer calls, or the account is used up.

    `retry_after` is how long it asks to wait; None where it does not say.
    """

    def __init__(self, *, model: str, retry_after: timedelta | None, tries: int, is_used_up: bool = False) -> None:
        self.retry_after = retry_after
        self.is_used_up = is_used_up
        remedy = "try again later, or make fewer calls at once"
        if retry_after is not None:
            remedy = f"try again in {retry_after.total_seconds():g} s"
        if is_used_up:
            remedy = "the account's quota is used up; add credit, or use another key or model"
        super().__init__(model=model, problem=f"takes no more calls for now ({_tries(tries)})", remedy=remedy)


class ChatServerError(ChatUnavailableError):
    """The server failed."""

    def __init__(self, *, model: str, status: int, tries: int) -> None:
        super().__init__(
            model=model,
            problem=f"failed with status {status} ({_tries(tries)})",
            remedy="try again later, and look into the server's log if it goes on",
        )


class ChatKeyRefusedError(ChatUnavailableError):
    """The server refuses the key."""

    def __init__(self, *, model: str, base_url: str, status: int) -> None:
        super().__init__(
            model=model,
            problem=f"at {base_url} refused the key with status {status}",
            remedy="check that OPENAI_API_KEY is valid there and may use this model",
        )


class ChatRequestRefusedError(ChatError):
    """The server will never answer this request; repeating it is no use.

    Args:
        model: The model asked.
        status: The HTTP status.
        code: The server's own short code, if it gives one.
    """

    status: int = 0

    def __init__(self, *, model: str, status: int, code: str) -> None:
        self.status = status
        because = f" ({code})" if code else ""
        super().__init__(
            f"The model {model} refused the request with status {status}{because}: "
            "check the model's name, OPENAI_BASE_URL and the options; the log says more at level DEBUG.",
        )


class ChatModelMissingError(ChatRequestRefusedError):
    """The server does not know the model, or nothing of the protocol."""

    def __init__(self, *, model: str, base_url: str) -> None:
        AgentcoreError.__init__(
            self,
            f"There is no model {model} at {base_url}: check AGENTCORE_MODEL, and that OPENAI_BASE_URL ends as the "
            "server wants it (often in /v1).",
        )


class ChatContextTooLongError(ChatRequestRefusedError):
    """Prompt and answer do not fit into the model's context; repeating the call is no use."""

    def __init__(self, *, model: str, input_tokens: int, output_tokens: int) -> None:
        AgentcoreError.__init__(
            self,
            f"A prompt of about {input_tokens} tokens and an answer of {output_tokens} do not fit into the context of "
            f"the model {model}: give the model a larger context, or ask in smaller parts.",
        )


class ChatPromptCutError(ChatContextTooLongError):
    """The server cut the prompt without saying so: it counted far less than it was sent."""

    def __init__(self, *, model: str, read: int, sent: int) -> None:
        AgentcoreError.__init__(
            self,
            f"Of a prompt of about {sent:,} tokens the server of the model {model} read {read:,} and did not say so: "
            "give the model a larger context there, or ask in smaller parts.",
        )


class ChatAnswerUnreadableError(ChatError):
    """What the server sent is no completion."""

    def __init__(self, *, model: str, base_url: str, problem: str) -> None:
        super().__init__(
            f"What {base_url} sent for the model {model} is no completion ({problem}): "
            "check that OPENAI_BASE_URL is an OpenAI-compatible server.",
        )


class ChatAnswerTooLargeError(ChatAnswerUnreadableError):
    """The answer went over the bound and was not read further."""

    def __init__(self, *, model: str, max_bytes: int) -> None:
        AgentcoreError.__init__(
            self,
            f"The answer of the model {model} is longer than {max_bytes} bytes and was not read: "
            "ask for less at once, or raise AGENTCORE_MAX_ANSWER_BYTES.",
        )


class ChatNotConfiguredError(InvalidInputError):
    """Nothing says which model to ask."""

    def __init__(self, *, settings_file: str | None) -> None:
        where = f'write model = "..." under [llm] in {settings_file}' if settings_file else "choose a data directory"
        super().__init__(
            "No model is configured: set AGENTCORE_MODEL (and OPENAI_BASE_URL, OPENAI_API_KEY), "
            f"{where}, or give with_llm(...) a client.",
        )


def _tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count} tries"
