from .chat import (
    ChatClient as ChatClient,
    ChatMessage as ChatMessage,
    ChatRequest as ChatRequest,
    ChatRole as ChatRole,
    Completion as Completion,
    FailedTry as FailedTry,
    FinishReason as FinishReason,
    ModelTier as ModelTier,
    ResponseFormat as ResponseFormat,
    TryFailure as TryFailure,
    Usage as Usage,
    estimate_tokens as estimate_tokens,
)
from .embedding import (
    Embedder as Embedder,
    EmbeddingError as EmbeddingError,
)
from .errors import (
    ChatAnswerTooLargeError as ChatAnswerTooLargeError,
    ChatAnswerUnreadableError as ChatAnswerUnreadableError,
    ChatContextTooLongError as ChatContextTooLongError,
    ChatError as ChatError,
    ChatKeyRefusedError as ChatKeyRefusedError,
    ChatModelMissingError as ChatModelMissingError,
    ChatNotConfiguredError as ChatNotConfiguredError,
    ChatPromptCutError as ChatPromptCutError,
    ChatRateLimitedError as ChatRateLimitedError,
    ChatRequestRefusedError as ChatRequestRefusedError,
    ChatServerError as ChatServerError,
    ChatTimeoutError as ChatTimeoutError,
    ChatUnavailableError as ChatUnavailableError,
    ChatUnreachableError as ChatUnreachableError,
)
from .extraction import (
    MAX_DEPTH as MAX_DEPTH,
    Unreadable as Unreadable,
    UnreadableReason as UnreadableReason,
    extract_object as extract_object,
)
from .gate import (
    BusyGate as BusyGate,
    CallSlots as CallSlots,
)
from .openai_client import (
    OpenAIChatClient as OpenAIChatClient,
)
from .openai_embedder import (
    OpenAIEmbedder as OpenAIEmbedder,
)
from .settings import (
    ChatOptions as ChatOptions,
    EmbedderOptions as EmbedderOptions,
    EndpointUse as EndpointUse,
    embedder_from_environment as embedder_from_environment,
    from_environment as from_environment,
)
