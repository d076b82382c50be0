"""The model seam: what a caller asks, what a model answers, and the gate that lets people go first."""

from agentcore.llm.chat import (
    ChatClient,
    ChatMessage,
    ChatRequest,
    ChatRole,
    Completion,
    FinishReason,
    ResponseFormat,
    Usage,
)
from agentcore.llm.errors import ChatError, ChatUnavailableError
from agentcore.llm.gate import BusyGate

__all__ = [
    "BusyGate",
    "ChatClient",
    "ChatError",
    "ChatMessage",
    "ChatRequest",
    "ChatRole",
    "ChatUnavailableError",
    "Completion",
    "FinishReason",
    "ResponseFormat",
    "Usage",
]
