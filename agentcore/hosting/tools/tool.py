"""A tool: its name, what the model is told of it, and what a call of it does."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from agentcore.hosting.tools.parameters import Parameter, object_schema

if TYPE_CHECKING:
    from agentcore.llm.tool_types import ToolSchema

Result: TypeAlias = dict[str, Any]
"""What a call gives the model, plain JSON values."""


class ToolName(StrEnum):
    """The tools there are."""

    REMEMBER = "remember"
    RECALL = "recall"
    FORGET = "forget"
    FEEDBACK = "feedback"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One thing an agent can do.

    Args:
        name: What the model calls.
        description: What the model is told: when to call it, and what it does.
        parameters: What a call takes.
        run: Carries a call out; its arguments have passed the parameters' checks.
    """

    name: ToolName
    description: str
    parameters: Sequence[Parameter]
    run: Callable[..., Awaitable[Result]]

    @property
    def schema(self) -> "ToolSchema":
        """The tool in the form of the `tools` of an OpenAI chat completion."""
        return {
            "type": "function",
            "function": {
                "name": self.name.value,
                "description": self.description,
                "parameters": object_schema(self.parameters),
            },
        }
