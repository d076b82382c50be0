"""The model seam: what a caller asks, what a model answers, and the gate that lets people go first."""

from typing import TYPE_CHECKING, Any

from agentcore.llm.chat import (
    ChatClient,
    ChatMessage,
    ChatRequest,
    ChatRole,
    Completion,
    FailedTry,
    FinishReason,
    ModelTier,
    ResponseFormat,
    TryFailure,
    Usage,
)
from agentcore.llm.embedding import Embedder, EmbeddingError
from agentcore.llm.errors import (
    ChatAnswerTooLargeError,
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatKeyRefusedError,
    ChatModelMissingError,
    ChatNotConfiguredError,
    ChatRateLimitedError,
    ChatRequestRefusedError,
    ChatServerError,
    ChatTimeoutError,
    ChatUnavailableError,
    ChatUnreachableError,
)
from agentcore.llm.extraction import Unreadable, UnreadableReason, extract_object
from agentcore.llm.gate import BusyGate
from agentcore.llm.openai_client import OpenAIChatClient
from agentcore.llm.openai_embedder import OpenAIEmbedder
from agentcore.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from agentcore.llm.settings import (
        ChatOptions,
        EmbedderOptions,
        EndpointUse,
        embedder_from_environment,
        from_environment,
    )

__all__ = [
    "BusyGate",
    "ChatAnswerTooLargeError",
    "ChatAnswerUnreadableError",
    "ChatClient",
    "ChatContextTooLongError",
    "ChatError",
    "ChatKeyRefusedError",
    "ChatMessage",
    "ChatModelMissingError",
    "ChatNotConfiguredError",
    "ChatOptions",
    "ChatRateLimitedError",
    "ChatRequest",
    "ChatRequestRefusedError",
    "ChatRole",
    "ChatServerError",
    "ChatTimeoutError",
    "ChatUnavailableError",
    "ChatUnreachableError",
    "Completion",
    "Embedder",
    "EmbedderOptions",
    "EmbeddingError",
    "EndpointUse",
    "FailedTry",
    "FinishReason",
    "ModelTier",
    "OpenAIChatClient",
    "OpenAIEmbedder",
    "ResponseFormat",
    "TryFailure",
    "Unreadable",
    "UnreadableReason",
    "Usage",
    "embedder_from_environment",
    "estimate_tokens",
    "extract_object",
    "from_environment",
]

_SETTINGS = frozenset(
    {"ChatOptions", "EmbedderOptions", "EndpointUse", "embedder_from_environment", "from_environment"}
)


# A type checker must not see this: it would take every misspelt name for one that exists.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import the settings when they are first used: pydantic is not loaded for those who bring their own client."""
        if name not in _SETTINGS:
            raise AttributeError(f"module 'agentcore.llm' has no attribute {name!r}")
        from agentcore.llm import settings  # noqa: PLC0415 - only for lazy names

        return getattr(settings, name)
