"""Defines a tool: its name, its parameters and their checks, and what a call of it does."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from agentcore.hosting.errors import InvalidToolCallError

if TYPE_CHECKING:
    from agentcore.llm.tool_types import ToolSchema


Schema: TypeAlias = dict[str, Any]


class Parameter(Protocol):
    """One parameter of a tool."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def is_required(self) -> bool:
        """Whether a call must give it."""
        ...

    def schema(self) -> Schema:
        """Return its JSON schema."""
        ...

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*, or None if it is a value of the parameter."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TextParameter:
    """Text of at most *longest* characters."""

    name: str
    description: str
    longest: int
    is_required: bool = False

    def schema(self) -> Schema:
        """Return its JSON schema."""
        return {"type": "string", "description": self.description, "maxLength": self.longest}

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*: no text, blank where it is required, too long, or not to be stored."""
        wrong = _text_problem(value, self.longest)
        if wrong is None and self.is_required and not str(value).strip():
            return "is blank"
        return wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class TextsParameter:
    """At most *most* texts of at most *longest* characters each."""

    name: str
    description: str
    most: int
    longest: int
    is_required: bool = False

    def schema(self) -> Schema:
        """Return its JSON schema."""
        items = {"type": "string", "maxLength": self.longest}
        return {"type": "array", "description": self.description, "items": items, "maxItems": self.most}

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*: no list, too many, or one of them is no such text."""
        if not isinstance(value, list | tuple):
            return "must be a list of texts"
        given = cast("Sequence[object]", value)
        if len(given) > self.most:
            return f"has {len(given):,} items; give at most {self.most:,}"
        wrong = next((wrong for one in given if (wrong := _text_problem(one, self.longest))), None)
        return None if wrong is None else f"has an item that {wrong}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeParameter:
    """A whole number from *least* to *most*."""

    name: str
    description: str
    least: int
    most: int
    is_required: bool = False

    def schema(self) -> Schema:
        """Return its JSON schema."""
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "integer", "description": self.description, **bounds}

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*: no whole number, or out of bounds."""
        if isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most:
            return None
        return f"must be a whole number from {self.least} to {self.most}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceParameter:
    """One of a few words."""

    name: str
    description: str
    choices: tuple[str, ...]
    is_required: bool = False

    def schema(self) -> Schema:
        """Return its JSON schema."""
        return {"type": "string", "description": self.description, "enum": [str(choice) for choice in self.choices]}

    def problem(self, value: object) -> str | None:
        """Return what is wrong with *value*: it is none of them."""
        is_one = isinstance(value, str) and value in self.choices
        return None if is_one else f"must be one of {', '.join(self.choices)}"


def object_schema(parameters: Sequence[Parameter]) -> Schema:
    """Return the JSON schema of all arguments together; it allows no others."""
    return {
        "type": "object",
        "properties": {one.name: one.schema() for one in parameters},
        "required": [one.name for one in parameters if one.is_required],
        "additionalProperties": False,
    }


def checked(tool: StrEnum, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was *given* for *parameters*; null counts as not given, as strict models fill in what is optional.

    Raises:
        InvalidToolCallError: an argument is missing, unknown, or not as its parameter says.
    """
    known = [one.name for one in parameters]
    # What is echoed is the model's: it may be no text, and any length.
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise InvalidToolCallError(tool=tool, problem=f"{str(unknown)[:80]!r} is no argument; use {', '.join(known)}")
    arguments = {name: value for name, value in given.items() if value is not None}
    for one in parameters:
        wrong = "is missing" if one.is_required else None
        if one.name in arguments:
            wrong = one.problem(arguments[one.name])
        if wrong is not None:
            raise InvalidToolCallError(tool=tool, problem=f"argument {one.name!r} {wrong}")
    return arguments


def _text_problem(value: object, longest: int) -> str | None:
    if not isinstance(value, str):
        return "must be text"
    if len(value) > longest:
        return f"has {len(value):,} characters; give at most {longest:,}"
    if "\0" in value:
        return "contains a NUL character; remove it"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "contains half of a surrogate pair; remove it"
    return None


Result: TypeAlias = dict[str, Any]
"""What a call gives the model, plain JSON values."""


class ToolName(StrEnum):
    """The tools there are."""

    REMEMBER = "remember"
    RECALL = "recall"
    FORGET = "forget"
    FEEDBACK = "feedback"
    READ_DOCUMENT = "read_document"
    EDIT_DOCUMENT = "edit_document"
    ANSWER_QUESTION = "answer_question"
    MY_STATS = "my_stats"


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
