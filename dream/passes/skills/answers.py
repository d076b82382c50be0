"""Reads what models answer about skills, item by item: typed, and not yet believed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import Any, Final, cast

from agentcore.domain.text import clean_content
from agentcore.errors import InvalidContentError
from agentcore.hosting.checks import MAX_NAME
from agentcore.llm.chat import ResponseFormat
from dream.domain.batch import Answer
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused

_MOST_ITEMS: Final = 100
"""More than this in a list are no answer but a flood."""
_LONGEST_REASON: Final = 160
_SHOWN: Final = 40

_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_TEXTS: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraft:
    """One item of `toSave`.

    Args:
        place: Its index.
        name: As written.
        summary: One line; None if none was given.
        content: The procedure; None if none was given, which leaves the text as it is.
        sources: Handles it cites, or names that were shown, each once.
        see_also: Names or handles of related skills, each once.
    """

    place: int
    name: str
    summary: str | None
    content: str | None
    sources: tuple[str, ...]
    see_also: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retirement:
    """One item of `toDelete`.

    Args:
        handle: What goes, by its handle or its shown name.
        replaced_by: A handle, or the name of a skill; "" if nothing is named.
        reason: Why, in the model's words, on one line.
    """

    handle: str
    replaced_by: str
    reason: str


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


def read_skills(answer: Answer, *, sources: str) -> SkillAnswer | Refusal:
    """Read an answer; one of another shape is refused whole, an item that cannot be read by itself.

    Args:
        answer: The JSON object.
        sources: What the list of cited handles is called.

    Example:
        >>> read_skills({"toSave": "none"}, sources="sourceNames")
        Refusal(code=<Refused.BROKEN_ANSWER: 'broken_answer'>, detail='toSave is no list')
    """
    if "toSave" not in answer and "toDelete" not in answer:
        return Refusal(Refused.BROKEN_ANSWER, "it has neither toSave nor toDelete")
    lists: dict[str, list[object]] = {}
    for name in ("toSave", "toDelete"):
        given: object = answer.get(name)
        if given is not None and not isinstance(given, list):
            return Refusal(Refused.BROKEN_ANSWER, f"{name} is no list")
        items = cast("list[object]", given or [])
        if len(items) > _MOST_ITEMS:
            return Refusal(Refused.BROKEN_ANSWER, f"{name} lists {len(items):,} items, more than {_MOST_ITEMS}")
        lists[name] = items
    saves = [_draft(place, item, sources) for place, item in enumerate(lists["toSave"])]
    retirements = [_retirement(place, item) for place, item in enumerate(lists["toDelete"])]
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
        >>> read = read_skills({"toSave": [], "toDelete": ["Mail/Digest"]}, sources="sourceNames")
        >>> isinstance(read, SkillAnswer) and by_handles(read, {"s1": "mail/digest"}).retirements[0].handle
        's1'
    """

    def handle(given: str) -> str:
        exact = [one for one, name in names.items() if name == given]
        alike = exact or [one for one, name in names.items() if name.casefold() == given.casefold()]
        return alike[0] if given not in names and len(alike) == 1 else given

    saves = tuple(
        replace(
            one,
            sources=tuple(dict.fromkeys(map(handle, one.sources))),
            see_also=tuple(dict.fromkeys(map(handle, one.see_also))),
        )
        for one in answer.saves
    )
    retirements: list[Retirement] = []
    for one in answer.retirements:
        gone = handle(one.handle)
        heirs = [] if one.replaced_by else [save.name.strip() for save in saves if gone in save.sources]
        successor = heirs[0] if len(heirs) == 1 else one.replaced_by
        retirements.append(replace(one, handle=gone, replaced_by=successor))
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


def answer_form(name: str, *, sources: str, retires: bool) -> ResponseFormat:
    """Return the JSON to answer with.

    Args:
        name: What the form is called.
        sources: What the list of cited handles is called.
        retires: Whether the answer may retire skills.
    """
    item = {"name": _TEXT, "summary": _TEXT, "content": {"type": ["string", "null"]}, sources: _TEXTS}
    lists: dict[str, Any] = {}
    if retires:
        item["seeAlso"] = _TEXTS
        lists["toDelete"] = _list_of({"name": _TEXT, "replacedBy": _TEXT, "reason": _TEXT})
    lists["toSave"] = _list_of(item)
    return ResponseFormat(name=name, schema=_object(lists))


def _list_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _object(fields)}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def _draft(place: int, item: object, sources: str) -> SkillDraft | Refusal:
    where = f"item {place} of toSave"
    if not isinstance(item, dict):
        return Refusal(Refused.INVALID_CONTENT, f"{where} is no object")
    fields = cast("dict[str, object]", item)
    name, summary, content = fields.get("name"), fields.get("summary"), fields.get("content")
    cited, related = _texts(fields.get(sources)), _texts(fields.get("seeAlso"))
    if not isinstance(name, str) or not name.strip():
        return Refusal(Refused.INVALID_CONTENT, f"{where} has no name")
    if content is not None and not isinstance(content, str):
        return Refusal(Refused.INVALID_CONTENT, f"{where} has no text as its content")
    if cited is None or related is None:
        return Refusal(Refused.INVALID_CONTENT, f"{where} names its skills in another way than as a list of texts")
    return SkillDraft(
        place=place,
        name=name,
        summary=summary if isinstance(summary, str) else None,
        content=content,
        sources=tuple(dict.fromkeys(_handle(one) for one in cited)),
        see_also=tuple(dict.fromkeys(one.strip() for one in related)),
    )


def _retirement(place: int, item: object) -> Retirement | Refusal:
    if isinstance(item, str):
        return Retirement(handle=_handle(item), replaced_by="", reason="")
    where = f"item {place} of toDelete"
    if not isinstance(item, dict):
        return Refusal(Refused.INVALID_CONTENT, f"{where} is neither a handle nor an object")
    fields = cast("dict[str, object]", item)
    name, successor, reason = fields.get("name"), fields.get("replacedBy"), fields.get("reason")
    if not isinstance(name, str):
        return Refusal(Refused.INVALID_CONTENT, f"{where} names no skill")
    return Retirement(
        handle=_handle(name),
        replaced_by=_handle(successor) if isinstance(successor, str) else "",
        reason=shorten(reason, _LONGEST_REASON, placeholder="...") if isinstance(reason, str) else "",
    )


def _texts(value: object) -> list[str] | None:
    if value is None:
        return []
    items = cast("list[object]", value) if isinstance(value, list) else [None]
    texts = [item for item in items if isinstance(item, str)]
    return texts if len(texts) == len(items) else None


def _handle(text: str) -> str:
    # Models copy the brackets of the line, or its spaces.
    return text.strip().removeprefix("[").removesuffix("]").strip()
