"""Reads the lists of a model's answer and describes them: one pydantic model per item is parser and JSON schema.

What a model answers is untrusted: a bad item is refused without affecting the others, and an answer of another shape is
not used at all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Strict, ValidationError, ValidationInfo, WithJsonSchema
from pydantic.json_schema import GenerateJsonSchema, SkipJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from agentcore.llm.chat import ResponseFormat
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused

TEXT: Final[Mapping[str, Any]] = {"type": "string"}
TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": TEXT}
NULLABLE_TEXT: Final[Mapping[str, Any]] = {"type": ["string", "null"]}
IMPORTANCE: Final[Mapping[str, Any]] = {"type": "number", "minimum": 0, "maximum": 1}


def choice_of(values: Iterable[str]) -> dict[str, Any]:
    """Return the schema of a text that is one of these."""
    return {"type": "string", "enum": [str(value) for value in values]}


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Why an item is refused whose field cannot be read.

    Args:
        code: The reason code.
        problem: The sentence, with `{}` where the item is named.
        if_no_handle: The same where something in a list of handles is none; the same sentence unless told.
    """

    code: Refused
    problem: str
    if_no_handle: str = ""

    def refusal(self, label: str, error: str) -> Refusal:
        """Return the refusal of an item for a pydantic error of this type."""
        if error == Refused.UNKNOWN_HANDLE:
            return Refusal(Refused.UNKNOWN_HANDLE, (self.if_no_handle or self.problem).format(label))
        return Refusal(self.code, self.problem.format(label))


def bare_handle(text: str) -> str:
    """Return a handle without what models copy beside it: the brackets of its line, or spaces.

    Example:
        >>> bare_handle(" [e2] ")
        'e2'
    """
    return text.strip().strip("[]").strip()


def _handle_list(given: object) -> object:
    values = cast("Sequence[object]", given) if isinstance(given, list | tuple) else (None,)
    handles = [bare_handle(value) for value in values if isinstance(value, str)]
    if len(handles) < len(values):
        raise PydanticCustomError(Refused.UNKNOWN_HANDLE.value, "lists something that is no handle")
    return tuple(dict.fromkeys(handles))


def bare_handles(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return handles without what models copy beside them, each once."""
    return tuple(dict.fromkeys(map(bare_handle, given)))


def text_or_none(given: object) -> str | None:
    """Return a text, None if it is none."""
    return given if isinstance(given, str) else None


def _handles(given: object) -> object:
    if not given or not isinstance(given, list | tuple):
        raise PydanticCustomError(Refused.NO_SOURCES.value, "cites nothing")
    return _handle_list(cast("object", given))


def _handle(given: object) -> object:
    return (bare_handle(given) or None) if isinstance(given, str) else given


def blank_if_known(given: object, info: ValidationInfo) -> object:
    """Leave out the text of an item that names a known record, before its field `content` is checked."""
    return "" if not isinstance(given, str) and info.data.get("existing") else given


Text = Annotated[str, Strict()]
"""A text, or the item is refused."""
TextList = Annotated[
    tuple[Text, ...], BeforeValidator(lambda given: () if given is None else given), WithJsonSchema(dict(TEXTS))
]
"""Texts, or the item is refused; none if the list is left out."""
Handles = Annotated[tuple[str, ...], BeforeValidator(_handles), WithJsonSchema(dict(TEXTS))]
"""The records that an item cites, each once; an item that cites none is refused."""
LooseHandle = Annotated[str, BeforeValidator(lambda given: bare_handle(given) if isinstance(given, str) else "")]
"""One record that an item names; empty if it names none, or in another way."""
HandleList = Annotated[tuple[str, ...], BeforeValidator(_handle_list), WithJsonSchema(dict(TEXTS))]
"""The same, of which an item may name none."""
Handle = Annotated[Annotated[str, Strict()] | None, BeforeValidator(_handle), WithJsonSchema(dict(NULLABLE_TEXT))]
"""One record that an item names, if it names one."""


class AnswerItem(BaseModel):
    """One item of an answer; its fields are checked as far as their types tell, in the order of the fields.

    A field without a default is required in the schema. What an answer leaves out is read as null all the same, so that
    a field of type `object` takes whatever stands there, to be looked at later.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    called: ClassVar[str] = "item {}"
    """What refusals call it, with its number in the place of `{}`."""
    misshapen: ClassVar[str] = "{} is no object"
    """Why one is refused that is no object."""
    short_for: ClassVar[str] = ""
    """The field that a text means which stands in the place of the object."""

    number: SkipJsonSchema[int]
    """Its place in the answer."""

    @property
    def label(self) -> str:
        """What refusals call it, with its number."""
        return self.called.format(self.number)


T = TypeVar("T", bound=AnswerItem)


def read_item(item: type[T], number: int, value: object) -> T | Refusal:
    """Read one item, or return why it cannot be read."""
    label = item.called.format(number)
    if item.short_for and isinstance(value, str):
        value = {item.short_for: value}
    if not isinstance(value, dict):
        return Refusal(Refused.INVALID_CONTENT, item.misshapen.format(label))
    absent = {str(field.validation_alias or name): None for name, field in item.model_fields.items()}
    try:
        return item.model_validate({**absent, **cast("dict[str, object]", value), "number": number})
    except ValidationError as error:
        found = {str(one["loc"][0]): one["type"] for one in error.errors(include_url=False, include_input=False)}
    for field in sorted(item.model_fields.items(), key=lambda field: _is_cited(field[1].metadata)):
        name = str(field[1].validation_alias or field[0])
        otherwise = next((one for one in field[1].metadata if isinstance(one, Otherwise)), None)
        if name in found:
            return (otherwise or _UNREADABLE).refusal(label, found[name])
    return _UNREADABLE.refusal(label, "")


_UNREADABLE: Final = Otherwise(Refused.INVALID_CONTENT, "{} cannot be read")


def _is_cited(metadata: Sequence[object]) -> bool:
    # Whether an item says anything is asked before what it rests on.
    return any(isinstance(one, BeforeValidator) and one.func is _handles for one in metadata)


@dataclass(frozen=True, slots=True)
class BrokenAnswer:
    """An answer of which nothing is used, and why not."""

    problem: str


def read_whole(item: type[T], values: Sequence[object]) -> tuple[T, ...] | BrokenAnswer:
    """Read all items, numbered from 0, or none of them."""
    read = [read_item(item, place, value) for place, value in enumerate(values)]
    broken = next((one for one in read if isinstance(one, Refusal)), None)
    return tuple(one for one in read if not isinstance(one, Refusal)) if broken is None else BrokenAnswer(broken.detail)


def optional_list(answer: Mapping[str, Any], name: str) -> list[object] | None:
    """Return a list of an answer, empty if it is left out; None if something else stands there."""
    given: object = answer.get(name)
    if given is None:
        return []
    return cast("list[object]", given) if isinstance(given, list) else None


def read_items(
    answer: Mapping[str, Any], name: str, item: type[T], *, what: str, most: int
) -> tuple[list[T], list[Refusal]]:
    """Return the items that can be read, and why others cannot; of an answer in another shape nothing is used.

    Args:
        answer: The answer's object.
        name: The field that holds the list.
        item: The model of its items.
        what: What they are called in refusals.
        most: How many there may be.
    """
    given: object = answer.get(name)
    if not isinstance(given, list):
        return [], [Refusal(Refused.BROKEN_ANSWER, f'it has no list "{name}"')]
    values = cast("list[object]", given)
    if len(values) > most:
        return [], [Refusal(Refused.BROKEN_ANSWER, f"it holds {len(values):,} {what}, more than {most}")]
    outcomes = [read_item(item, number, value) for number, value in enumerate(values, 1)]
    refused = [outcome.at(number) for number, outcome in enumerate(outcomes, 1) if isinstance(outcome, Refusal)]
    return [outcome for outcome in outcomes if not isinstance(outcome, Refusal)], refused


def one_line(given: object) -> str:
    """Return a text on one line; nothing if it is no text."""
    return " ".join(given.split()) if isinstance(given, str) else ""


class _ItemSchema(GenerateJsonSchema):
    """Writes what a server needs to know of an item: its fields in order, without titles, defaults and docstrings."""

    def sort(self, value: dict[str, Any], parent_key: str | None = None) -> dict[str, Any]:  # noqa: ARG002
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        return {**{key: made[key] for key in ("type", "properties", "required")}, "additionalProperties": False}


def item_schema(item: type[AnswerItem]) -> dict[str, Any]:
    """Return the JSON schema of an item."""
    return item.model_json_schema(schema_generator=_ItemSchema)


def answer_form(name: str, **lists: Mapping[str, Any]) -> ResponseFormat:
    """Return the JSON to answer with: an object of lists, each given by the schema of its items."""
    properties = {field: {"type": "array", "items": items} for field, items in lists.items()}
    return ResponseFormat(
        name=name,
        schema={
            "type": "object",
            "properties": properties,
            "required": list(lists),
            "additionalProperties": False,
        },
    )
