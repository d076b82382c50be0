"""Names types of the `openai` package for tools, so that hosting need not import it; nothing runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionToolMessageParam

    ToolSchema = ChatCompletionFunctionToolParam
    """One of the `tools` of a chat completion."""
    ToolMessage = ChatCompletionToolMessageParam
    """The message that answers a tool call."""
