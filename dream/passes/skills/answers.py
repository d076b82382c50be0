"""Reads what models answer about skills, item by item: typed, and not yet believed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from agentcore.hosting.checks import MAX_NAME
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer
from dream.passes.answers import (
    NULLABLE_TEXT,
    TEXT,
    AnswerItem,
    LooseHandle,
    Otherwise,
    Text,
    TextList,
    bare_handle,
    bare_handles,
    optional_list,
    read_item,
    text_or_none,
)

_MOST_ITEMS: Final = 100
"""More than this in a list are no answer but a flood."""
_LONGEST_REASON: Final = 160
_NO_SKILLS: Final = Otherwise(Refused.INVALID_CONTENT, "{} names its skills in another way than as a list of texts")
_SHOWN: Final = 40


def _each_once(given: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in given))


def _named(name: str) -> str:
    if not name.strip():
        raise ValueError(name)
    return name


class SkillDraft(AnswerItem):
    """One item of `toSave`, numbered from 0."""

    called: ClassVar[str] = "item {} of toSave"

    name: Annotated[Text, AfterValidator(_named), Otherwise(Refused.INVALID_CONTENT, "{} has no name")]
    """As written."""
    summary: Annotated[str | None, BeforeValidator(text_or_none), WithJsonSchema(dict(TEXT))]
    """One line; None if none was given."""
    content: Annotated[
        Text | None,
        WithJsonSchema(dict(NULLABLE_TEXT)),
        Otherwise(Refused.INVALID_CONTENT, "{} has no text as its content"),
    ]
    """The procedure; None if none was given, which leaves the text as it is."""
    sources: Annotated[TextList, AfterValidator(bare_handles), _NO_SKILLS] = Field(validation_alias="sourceNames")
    """Handles that it cites, or names that were shown, each once."""
    see_also: Annotated[TextList, AfterValidator(_each_once), _NO_SKILLS] = Field(validation_alias="seeAlso")
    """Names or handles of related skills, each once."""


class NewSkillDraft(SkillDraft):
    """An item of `toSave` that turns call for, and no other skill."""

    sources: Annotated[TextList, AfterValidator(bare_handles), _NO_SKILLS] = Field(validation_alias="sourceTurns")
    """Handles of the turns that it cites, each once."""
    see_also: SkipJsonSchema[Annotated[TextList, AfterValidator(_each_once), _NO_SKILLS]] = Field(
        default=(), validation_alias="seeAlso"
    )


class Retirement(AnswerItem):
    """One item of `toDelete`, numbered from 0."""

    called: ClassVar[str] = "item {} of toDelete"
    misshapen: ClassVar[str] = "{} is neither a handle nor an object"
    short_for: ClassVar[str] = "name"

    handle: Annotated[Text, AfterValidator(bare_handle), Otherwise(Refused.INVALID_CONTENT, "{} names no skill")] = (
        Field(validation_alias="name")
    )
    """What goes, by its handle or its shown name."""
    replaced_by: LooseHandle = Field(validation_alias="replacedBy")
    """A handle, or the name of a skill; "" if nothing is named."""
    reason: Annotated[
        str,
        BeforeValidator(
            lambda given: shorten(given, _LONGEST_REASON, placeholder="...") if isinstance(given, str) else ""
        ),
    ]
    """Why, in the model's words, on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAnswer:
    """What of an answer can be read.

    Args:
        saves: Items of `toSave`.
        retirements: Items of `toDelete`.
        refused: Items that cannot be read, and why.
    """

    saves: tuple[SkillDraft, ...]
    retirements: tuple[Retirement, ...]
    refused: tuple[Refusal, ...]


def read_skills(answer: Answer, draft: type[SkillDraft] = SkillDraft) -> SkillAnswer | Refusal:
    """Read an answer; one of another shape is refused whole, an item that cannot be read by itself.

    Args:
        answer: The JSON object.
        draft: The model of its items of `toSave`.

    Example:
        >>> read_skills({"toSave": "none"})
        Refusal(code=<Refused.BROKEN_ANSWER: 'broken_answer'>, detail='toSave is no list')
    """
    if "toSave" not in answer and "toDelete" not in answer:
        return Refusal(Refused.BROKEN_ANSWER, "it has neither toSave nor toDelete")
    lists: dict[str, list[object]] = {}
    for name in ("toSave", "toDelete"):
        given = optional_list(answer, name)
        if given is None:
            return Refusal(Refused.BROKEN_ANSWER, f"{name} is no list")
        if len(given) > _MOST_ITEMS:
            return Refusal(Refused.BROKEN_ANSWER, f"{name} lists {len(given):,} items, more than {_MOST_ITEMS}")
        lists[name] = given
    saves = [read_item(draft, place, item) for place, item in enumerate(lists["toSave"])]
    retirements = [read_item(Retirement, place, item) for place, item in enumerate(lists["toDelete"])]
    return SkillAnswer(
        saves=tuple(one for one in saves if isinstance(one, SkillDraft)),
        retirements=tuple(one for one in retirements if isinstance(one, Retirement)),
        refused=(
            *(one.at(number) for number, one in enumerate(saves, 1) if isinstance(one, Refusal)),
            *(one for one in retirements if isinstance(one, Refusal)),
        ),
    )


def by_handles(answer: SkillAnswer, names: Mapping[str, str]) -> SkillAnswer:
    """Return an answer that calls skills by their handles where it calls them by a shown name that is unique.

    A skill that goes with no successor goes into the one item of `toSave` that names it among its sources.

    Args:
        answer: As it was read.
        names: The names of the skills shown, by handle.

    Example:
        >>> read = read_skills({"toSave": [], "toDelete": ["Mail/Digest"]})
        >>> isinstance(read, SkillAnswer) and by_handles(read, {"s1": "mail/digest"}).retirements[0].handle
        's1'
    """

    def handle(given: str) -> str:
        exact = [one for one, name in names.items() if name == given]
        alike = exact or [one for one, name in names.items() if name.casefold() == given.casefold()]
        return alike[0] if given not in names and len(alike) == 1 else given

    saves = tuple(
        one.model_copy(
            update={
                "sources": tuple(dict.fromkeys(map(handle, one.sources))),
                "see_also": tuple(dict.fromkeys(map(handle, one.see_also))),
            }
        )
        for one in answer.saves
    )
    retirements: list[Retirement] = []
    for one in answer.retirements:
        gone = handle(one.handle)
        heirs = [] if one.replaced_by else [save.name.strip() for save in saves if gone in save.sources]
        successor = heirs[0] if len(heirs) == 1 else one.replaced_by
        retirements.append(one.model_copy(update={"handle": gone, "replaced_by": successor}))
    return replace(answer, saves=saves, retirements=tuple(retirements))


def storable(content: str | None) -> str | None:
    """Return a procedure as it can be stored; None if it cannot."""
    try:
        return None if content is None or not content.strip() else clean_content(content)
    except InvalidContentError:
        return None


def one_line(summary: str | None) -> str | None:
    r"""Return a summary on one line of bounded length; None if nothing visible is left.

    Example:
        >>> one_line(" Sends mail.\n Carefully. ")
        'Sends mail. Carefully.'
    """
    visible = "".join(character if character.isprintable() else " " for character in summary or "")
    return shorten(visible, MAX_NAME, placeholder="...") or None


def quoted_name(name: str) -> str:
    """Return a name as reports show it, however long it was written."""
    return name[:_SHOWN]
