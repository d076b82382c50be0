"""The errors of calling a model.

AgentcoreError
└── ChatError                   the model gave no completion
    └── ChatUnavailableError    it cannot be reached, or refuses for now
"""

from agentcore.errors import AgentcoreError


class ChatError(AgentcoreError):
    """The model gave no completion; nothing was changed by the call."""


class ChatUnavailableError(ChatError):
    """The model cannot be reached, is overloaded or refuses the key."""

    def __init__(self, *, model: str, problem: str, remedy: str) -> None:
        super().__init__(f"The model {model} {problem}: {remedy}.")
