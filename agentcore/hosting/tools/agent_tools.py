"""AgentTools: the tools of one scope, ready for the `tools` of a chat completion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, cast

import orjson

from agentcore.domain.actor import AGENT, Actor
from agentcore.domain.memory import Trust
from agentcore.errors import InvalidInputError, SecretError
from agentcore.hosting.checks import clean_name, clean_trust
from agentcore.hosting.errors import InvalidToolCallError
from agentcore.hosting.feedback import FeedbackLog
from agentcore.hosting.memory import Memory
from agentcore.hosting.tools.actions import ConfirmForget, FeedbackAction, ForgetAction, RecallAction, RememberAction
from agentcore.hosting.tools.questions import AnswerQuestionAction
from agentcore.hosting.tools.stats import MyStatsAction
from agentcore.hosting.tools.tool import Result, Tool, checked
from agentcore.stores.acting import acting_as

if TYPE_CHECKING:
    from agentcore.hosting.workspace import AgentWorkspace
    from agentcore.llm.tool_types import ToolMessage, ToolSchema
    from dream.cycle.dreams import Dreams

_LONGEST_ARGUMENTS = 100_000
"""Characters of arguments that are read at all; no call that can be carried out comes near."""


class ToolArguments(TypedDict, total=False):
    """What `host.tools()` takes; whatever is not given is as in `ToolSettings`."""

    trust: Trust
    """Trust of what the model asks to remember."""
    session_id: str
    """The conversation that its feedback is about and that needs what it recalls."""
    confirm_forget: ConfirmForget | None
    """Asks a person before `forget` deletes; without it `forget` sets aside."""
    actor: Actor
    """Who calls, as `why` shows it; `agent` by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What the host decides and the model cannot.

    Args:
        trust: Trust of what the model asks to remember.
        session_id: The conversation that its feedback is about and that needs what it recalls.
        confirm_forget: Asks a person before `forget` deletes; without it `forget` sets aside.
        actor: Who calls, as `why` shows it.

    Raises:
        InvalidContentError: the trust is none, or the session id cannot name a session.
    """

    trust: Trust = Trust.INFERRED
    session_id: str = "tools"
    confirm_forget: ConfirmForget | None = None
    actor: Actor = AGENT

    def __post_init__(self) -> None:
        """Refuse what only shows when a model calls."""
        clean_trust(self.trust)
        clean_name("session id", self.session_id)


class AgentTools:
    """What an agent's model may do with one scope; lives as long as the host, and is cheap to make anew.

    There is a tool for each service that the host was built with. What a model gives is untrusted: an unknown tool,
    arguments that are no JSON or not as the schema says, an id that does not exist are answered with
    `{"error": "one sentence"}`, for the model to read. What is not the model's doing is raised: a database that
    fails, a host that is not open.

    Args:
        memory: What the agent knows, if the host has it.
        feedback: How the agent did, if the host has it.
        settings: What the host decides.
        workspace: The documents that it shares with its people, if the host has them.
        dreams: What tends the memory, if the host has it.
    """

    def __init__(
        self,
        memory: Memory | None,
        feedback: FeedbackLog | None,
        settings: ToolSettings,
        *,
        workspace: "AgentWorkspace | None" = None,
        dreams: "Dreams | None" = None,
    ) -> None:
        self._actor = settings.actor
        tools = [*_tools(memory, feedback, settings), *_document_tools(memory, workspace, settings)]
        if memory is not None and dreams is not None:
            tools.append(AnswerQuestionAction(memory, dreams.desk, settings.trust).tool)
            tools.append(MyStatsAction(memory, workspace, dreams).tool)
        self._tools = {tool.name.value: tool for tool in tools}

    @property
    def schemas(self) -> "list[ToolSchema]":
        """The tools in the form of the `tools` of an OpenAI chat completion; made anew, so it may be changed."""
        return [tool.schema for tool in self._tools.values()]

    @property
    def names(self) -> tuple[str, ...]:
        """What the tools are called, for hosts that have tools of their own beside them."""
        return tuple(self._tools)

    async def call(self, name: str, arguments: str | Mapping[str, Any]) -> str:
        """Carry out one call of the model.

        Args:
            name: The tool.
            arguments: Its arguments, as the model wrote them or already read.

        Returns:
            A JSON object: what came of it, or `{"error": ...}` where the call cannot be carried out; with a `code` of
            `secret` where a text seems to hold one.

        Raises:
            AgentcoreError: the database failed, or the host is not open.
        """
        result: Result
        try:
            tool = self._named(name)
            with acting_as(self._actor):
                result = await tool.run(**checked(tool.name, tool.parameters, _read(name, arguments)))
        except SecretError as refusal:
            result = {"error": str(refusal), "code": "secret"}
        except InvalidInputError as refusal:
            result = {"error": str(refusal)}
        return orjson.dumps(result).decode()

    async def answer(self, tool_call: object) -> "ToolMessage":
        """Carry out a tool call of a chat completion and return the message that answers it.

        Args:
            tool_call: One of `message.tool_calls`, as the `openai` package gives it or as a dictionary.

        Returns:
            A message with the role `tool`, ready to be appended to the conversation.

        Raises:
            AgentcoreError: as `call`.
        """
        function = _part(tool_call, "function")
        name, arguments = _part(function, "name"), _part(function, "arguments")
        content = await self.call(cast("str", name), cast("str", arguments))
        return {"role": "tool", "tool_call_id": str(_part(tool_call, "id") or ""), "content": content}

    def _named(self, name: object) -> Tool:
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise InvalidToolCallError(tool=str(name)[:80], problem=f"there is no such tool; the tools are: {known}")
        return tool


def _tools(memory: Memory | None, feedback: FeedbackLog | None, settings: ToolSettings) -> Sequence[Tool]:
    tools: list[Tool] = []
    if memory is not None:
        tools += [
            RememberAction(memory, settings.trust).tool,
            RecallAction(memory, settings.session_id).tool,
            ForgetAction(memory, settings.confirm_forget).tool,
        ]
    if feedback is not None:
        tools.append(FeedbackAction(feedback, settings.session_id).tool)
    return tools


def _document_tools(
    memory: Memory | None, workspace: "AgentWorkspace | None", settings: ToolSettings
) -> Sequence[Tool]:
    if workspace is None:
        return ()
    # A host without documents reads no Markdown.
    from agentcore.hosting.tools.documents import EditDocumentAction, ReadDocumentAction  # noqa: PLC0415

    return (ReadDocumentAction(workspace).tool, EditDocumentAction(workspace, memory, settings.trust).tool)


def _read(tool: str, arguments: object) -> Mapping[str, Any]:
    """Return the arguments as a mapping; none at all and blank text are an empty one, as some servers send."""
    given = _parsed(tool, arguments) if isinstance(arguments, str) else arguments
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidToolCallError(tool=tool, problem="its arguments must be one JSON object")
    return cast("Mapping[str, Any]", given)


def _parsed(tool: str, arguments: str) -> object:
    if len(arguments) > _LONGEST_ARGUMENTS:
        raise InvalidToolCallError(tool=tool, problem=f"its arguments have {len(arguments):,} characters; send less")
    try:
        return orjson.loads(arguments) if arguments.strip() else None
    except orjson.JSONDecodeError:
        raise InvalidToolCallError(tool=tool, problem="its arguments are no valid JSON") from None


def _part(whole: object, name: str) -> object:
    return cast("Mapping[str, object]", whole).get(name) if isinstance(whole, Mapping) else getattr(whole, name, None)
