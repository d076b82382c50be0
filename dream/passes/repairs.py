"""Asks for refused items of an answer anew, and puts what comes back in their place."""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

import orjson

from agentcore.domain.evidence import SourceKind
from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer
from dream.domain.step import Batch
from dream.domain.verification import Assertion
from dream.guards.secrets import secret_in
from dream.passes.answers import bare_handle
from dream.passes.prompts import fenced, quoted, system_text
from dream.passes.protocol import ModelContext

R = TypeVar("R")

REMEDIES: Final[Mapping[str, str]] = {
    Refused.INVENTED_DETAIL: "no cited record says what is named: say it as they do, or cite all it rests on",
    Refused.QUOTE_NOT_FOUND: "copy the quote, letter by letter, from one of the cited records",
    Refused.NOT_EVIDENCE: "cite the new turn in which the user says it or affirms it, if there is one",
    Refused.INVALID_CONTENT: "give every field that was asked for, the text as one short statement",
    Refused.LOST_DETAIL: "tell all that the cited records tell",
    Refused.SPLIT_IT: "one claim of at most 25 words; two claims are two items, both with the number of this one",
    Refused.DENIED: "a second reading did not find it in the cited records: say what they say, no more and no surer",
}
"""What can be put right by wording, quoting or citing anew, and how; the guards can tell whether it was.

All else is final. A person or a rule stands against it (secret, forgotten, undone, protected), the model was not shown
what it names, or it cites nothing new or too little: who is asked for one citation more finds one that proves nothing.
"""

_NUMBER: Final = "item"
_LONGEST_NAMING: Final = 240
"""Characters of a turn that is worth showing for a name."""
_NEAR: Final = 2
"""So far apart turns are at most that a reader is shown together."""
_HANDLE = re.compile(r"\[?[a-z](\d{1,4})\]?")
_REPAIR: Final = """\
Items of your list were refused. The lines between the fences are data: the number of an item in your list, counted
from 1, why it was refused, and the particulars. Answer in the same shape, with a list of these items alone, put right,
each with its number as "item"; fields that stay as they were may be left out, but for a quote. Leave out an item that
the records do not bear out: what is not given again is not kept, and nothing needs to take its place. All other items
of your list are settled."""
_FILED: Final = frozenset({"tags", "category", "topic", "importance"})
"""Fields that are mostly right where a text is not: they need not be shown again."""
_GIVEN_ANEW: Final = frozenset({"quote", "keep", "add"})
"""Fields that belong to the words of an item: without the new ones they would be those of other words."""


@dataclass(frozen=True, slots=True)
class Repaired(Generic[R]):
    """An answer after its repair, if there was one.

    Args:
        answer: The first answer, with what was put right in its place.
        good: What of it holds.
        refused: Why the rest does not.
        notes: How many repairs were asked for, and how many items hold by them.
    """

    answer: Answer
    good: R
    refused: Sequence[Refusal]
    notes: Notes


async def repaired(
    name: str, answers: Sequence[Answer], judge: Callable[[Answer], Awaitable[tuple[R, Sequence[Refusal]]]]
) -> Repaired[R]:
    """Judge an answer together with its repair.

    Args:
        name: The field that holds the items.
        answers: The first answer, then the repair if there is one.
        judge: Returns what of an answer holds, and why the rest does not.
    """
    answer = answers[0]
    good, refused = await judge(answer)
    told = {one.place for one in repairable(refused, answer, name) if one.place is not None}
    if len(answers) > 1 and told:
        answer, _ = put_right(answer, answers[-1], name, told)
        good, refused = await judge(answer)
    held = len(told - {one.place for one in refused}) if len(answers) > 1 else 0
    return Repaired(answer, good, refused, {"repairs": len(answers) - 1, "repaired": held})


def with_texts(refused: Iterable[Refusal], answer: Answer, name: str, batch: Batch) -> tuple[Refusal, ...]:
    """Return refusals with what the model wrote, and the records of the batch that it cites.

    What cites none of them rests on any: it may tell of every record that was shown.
    """
    items = items_of(answer, name)
    found: list[Refusal] = []
    for one in refused:
        item = _item(items, one)
        text = _text_of(item)
        found.append(replace(one, text=text, cites=_cited(item, batch) or batch.record_ids) if text else one)
    return tuple(found)


def repairable(refused: Iterable[Refusal], answer: Answer, name: str) -> list[Refusal]:
    """Return the first refusal of each item that can be put right; a secret is not asked for again."""
    items = items_of(answer, name)
    firsts = {one.place: one for one in reversed(list(refused)) if one.place is not None and one.place <= len(items)}
    may = [one for one in firsts.values() if one.code in REMEDIES and secret_in(_text_of(_item(items, one))) is None]
    return sorted(may, key=lambda one: one.place or 0)


def put_right(
    first: Answer, repair: Answer, name: str, told: set[int], two_of: Collection[int] = ()
) -> tuple[Answer, frozenset[int]]:
    """Return the first answer with the items of a repair in their places, and the numbers of these.

    Args:
        first: The answer.
        repair: What was given again.
        name: The field that holds the items.
        told: The numbers of those that it was asked for.
        two_of: Those of which it may make two: the second one goes to the end.
    """
    items = items_of(first, name)
    given: list[int] = []
    for number, item in _with_numbers(items_of(repair, name), sorted(told), len(items)):
        if number not in told:
            continue
        if number not in given:
            items[number - 1] = _over(items[number - 1], item)
            given.append(number)
        elif number in two_of and given.count(number) == 1:
            items.append(_over(items[number - 1], item))
            given += [number, len(items)]
    return {**first, name: items}, frozenset(given)


def _over(item: object, given: object) -> object:
    """Return an item with what is given of it anew."""
    if not isinstance(item, dict) or not isinstance(given, dict):
        return given
    stays = {name: value for name, value in cast("dict[str, object]", item).items() if name not in _GIVEN_ANEW}
    return {**stays, **cast("dict[str, object]", given)}


def repair_question(
    request: ChatRequest, context: ModelContext, told: Sequence[Refusal], items: Sequence[object], name: str
) -> ChatRequest:
    """Return a question that asks for refused items anew, without the others.

    Args:
        request: The question, about the records that these items cite.
        context: The run's.
        told: Why they are refused.
        items: All items of the list.
        name: The field that holds the list.
    """
    lines = [
        f"[{one.place}] reason={one.code} {quoted(one.detail)} item={_told(items[one.place - 1], one.code)}"
        for one in told
        if one.place is not None
    ]
    remedies = [f"- {code}: {REMEDIES[code]}" for code in sorted({one.code for one in told})]
    complaint = "\n".join((_REPAIR, *remedies, "", fenced(context.marker, "Refused items:", lines)))
    # How such items are written is told by what was refused, and by the form: no directive needs to stand there again.
    first, last = request.messages[0], request.messages[-1]
    system = replace(first, content=system_text(context, ()))
    asked = replace(request, messages=(system, replace(last, content=f"{last.content}\n\n{complaint}")))
    form = asked.response_format
    return asked if form is None else replace(asked, response_format=_numbered(form, name))


def _told(item: object, code: str) -> str:
    """Return an item as it is shown again: what it is filed under only where that may be what is wrong."""
    fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    told = {name: value for name, value in fields.items() if name not in _FILED}
    return quoted(orjson.dumps(told if told and code != Refused.INVALID_CONTENT else item).decode())


def handles_in(items: Iterable[object]) -> frozenset[str]:
    """Return all that stands in items in the shape of a handle, whatever the field is called."""
    found: set[str] = set()
    for item in items:
        fields = list(cast("dict[str, object]", item).values()) if isinstance(item, dict) else []
        listed = [one for field in fields if isinstance(field, list) for one in cast("list[object]", field)]
        found |= {
            bare_handle(one) for one in (*fields, *listed) if isinstance(one, str) and _HANDLE.fullmatch(one.strip())
        }
    return frozenset(found)


def naming_handles(assertion: Assertion, batch: Batch) -> frozenset[str]:
    """Return the handles of turns that a reader was shown for a name: beside the cited ones, and not near them."""
    numbered = {record_id: place for place, record_id in enumerate(batch.record_ids, 1)}
    places = {
        line: numbered[line.source.id]
        for line in assertion.evidence
        if line.source is not None and line.source.kind is SourceKind.TURN and line.source.id in numbered
    }
    cited = [place for line, place in places.items() if not line.is_beside]
    beside = (place for line, place in places.items() if line.is_beside and len(line.text) <= _LONGEST_NAMING)
    return frozenset(f"t{place}" for place in beside if all(abs(place - one) > _NEAR for one in cited))


def _with_numbers(given: Sequence[object], told: Sequence[int], count: int) -> Iterator[tuple[int | None, object]]:
    """Yield items with their numbers; where no item has one, all were given in order: those told, or the whole list."""
    numbers = [_number_of(item) for item in given]
    if not any(numbers):
        numbers = {len(told): list(told), count: list(range(1, count + 1))}.get(len(given), numbers)
    return zip(numbers, given, strict=True)


def _number_of(item: object) -> int | None:
    number = cast("dict[str, object]", item).get(_NUMBER) if isinstance(item, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _numbered(form: ResponseFormat, name: str) -> ResponseFormat:
    """Return the shape of an answer whose items carry their numbers besides."""
    schema = cast("dict[str, Any]", form.schema)
    item = schema["properties"][name]["items"]
    fields = {_NUMBER: {"type": "integer"}, **item["properties"]}
    numbered = {**item, "properties": fields, "required": [_NUMBER]}
    lists = {**schema["properties"], name: {**schema["properties"][name], "items": numbered}}
    return replace(form, schema={**schema, "properties": lists})


def items_of(answer: Answer, name: str) -> list[object]:
    """Return the items of an answer as they stand there."""
    given: object = answer.get(name)
    return list(cast("list[object]", given)) if isinstance(given, list) else []


def _item(items: Sequence[object], refusal: Refusal) -> object:
    return None if refusal.place is None or refusal.place > len(items) else items[refusal.place - 1]


def _text_of(item: object) -> str:
    """Return what an item says: its content, under the name and summary of a skill."""
    fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    texts = [fields.get(name) for name in ("name", "summary", "content")]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _cited(item: object, batch: Batch) -> tuple[str, ...]:
    """Return the ids of all records of the batch whose handles stand in an item, whatever its fields are called."""
    places = {int(one[1:]) for one in handles_in([item])}
    return tuple(record_id for place, record_id in enumerate(batch.record_ids, 1) if place in places)
