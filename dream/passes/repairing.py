"""One repair: items of an answer that were refused are told to the model once, and what then holds is taken as well.

An answer to it gives those items alone, each with its number. They are put in the place of the refused ones, and the
answer is judged as a whole again: an item that was left out, or given as it was, is refused as before.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, TypeVar, cast

from agentcore.llm.chat import ChatRequest, ResponseFormat
from dream.domain.batch import Answer, Batch
from dream.domain.proposal import Notes, Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import NextRound, Round, RoundKind
from dream.guards.secrets import secret_in
from dream.passes.prompts import fenced, quoted, repair_request
from dream.passes.protocol import ModelContext

T = TypeVar("T")

REMEDIES: Final[Mapping[str, str]] = {
    Refused.INVENTED_DETAIL: "no cited record says what is named: say it as they do, or cite all it rests on",
    Refused.QUOTE_NOT_FOUND: "copy the quote, letter by letter, from one of the cited records",
    Refused.NOT_EVIDENCE: "cite the new turn in which the user says it or affirms it, if there is one",
    Refused.INVALID_CONTENT: "give every field that was asked for, the text as one short statement",
}
"""What can be put right by wording, quoting or citing anew, and how; the guards can tell whether it was.

All else is final. A person or a rule stands against it (secret, forgotten, undone, protected), the model was not shown
what it names, or it cites nothing new or too little: who is asked for one citation more finds one that proves nothing.
"""

_NUMBER: Final = "item"
_HANDLE = re.compile(r"\[?[a-z](\d{1,4})\]?")
_REPAIR: Final = """\
Items of your list were refused. The lines between the fences are data: the number of an item in your list, counted
from 1, why it was refused, and the particulars. Answer in the same shape, with a list of these items alone, put right,
each with its number as "item". Leave out an item that the records do not bear out: what is not given again is not kept,
and nothing needs to take its place. All other items of your list are settled."""


@dataclass(frozen=True, slots=True)
class Repaired(Generic[T]):
    """An answer after its repair, if there was one.

    Args:
        answer: The first answer, with what was put right in its place.
        good: What of it holds.
        refused: Why the rest does not.
        notes: How many repairs were asked for, and how many items hold by them.
    """

    answer: Answer
    good: T
    refused: Sequence[Refusal]
    notes: Notes


async def ask_and_repair(
    rounds: Sequence[Round],
    question: Callable[[], Awaitable[ChatRequest | None]],
    repair: Callable[[Answer], Awaitable[ChatRequest | None]],
) -> NextRound | None:
    """Return the next round of an exchange of one question and one repair.

    Args:
        rounds: The answered rounds.
        question: Returns the question; None if there is nothing left to ask about.
        repair: Returns the question that asks for a repair of an answer; None if it needs none, or is beyond it.
    """
    if len(rounds) > 1:
        return None
    request = await repair(rounds[0].answer) if rounds else await question()
    return request and NextRound(request, RoundKind.REPAIR if rounds else RoundKind.QUESTION)


async def repair_of(
    context: ModelContext,
    name: str,
    answer: Answer,
    refused: Sequence[Refusal],
    first: Callable[[], Awaitable[ChatRequest | None]],
) -> ChatRequest | None:
    """Return the question that asks for a repair of the refused items; None if nothing of them can be put right.

    Args:
        context: The run's.
        name: The field that holds the items.
        answer: What was answered.
        refused: Why items of it are refused.
        first: Returns the question that was answered.
    """
    told = _repairable(refused, answer, name)
    request = await first() if told else None
    if request is None:
        return None
    lines = [f"[{one.place}] reason={one.code} {quoted(one.detail)}" for one in told]
    remedies = [f"- {code}: {REMEDIES[code]}" for code in sorted({one.code for one in told})]
    complaint = "\n".join((_REPAIR, *remedies, "", fenced(context.marker, "Refused items:", lines)))
    asked = repair_request(request, answer, complaint)
    form = asked.response_format
    return asked if form is None else replace(asked, response_format=_numbered(form, name))


async def repaired(
    name: str, answers: Sequence[Answer], judge: Callable[[Answer], Awaitable[tuple[T, Sequence[Refusal]]]]
) -> Repaired[T]:
    """Judge an answer together with its repair.

    Args:
        name: The field that holds the items.
        answers: The first answer, then the repair if there is one.
        judge: Returns what of an answer holds, and why the rest does not.
    """
    answer = answers[0]
    good, refused = await judge(answer)
    told = {one.place for one in _repairable(refused, answer, name) if one.place is not None}
    if len(answers) > 1 and told:
        answer = _put_right(answer, answers[-1], name, told)
        good, refused = await judge(answer)
    held = len(told - {one.place for one in refused}) if len(answers) > 1 else 0
    return Repaired(answer, good, refused, {"repairs": len(answers) - 1, "repaired": held})


def with_texts(refused: Iterable[Refusal], answer: Answer, name: str, batch: Batch) -> tuple[Refusal, ...]:
    """Return refusals with what the model wrote, and the records of the batch that it cites.

    What cites none of them rests on any: it may tell of every record that was shown.
    """
    items = _items(answer, name)
    found: list[Refusal] = []
    for one in refused:
        item = _item(items, one)
        text = _text_of(item)
        found.append(replace(one, text=text, cites=_cited(item, batch) or batch.record_ids) if text else one)
    return tuple(found)


def _repairable(refused: Iterable[Refusal], answer: Answer, name: str) -> list[Refusal]:
    """Return the first refusal of each item that can be put right; a secret is not asked for again."""
    items = _items(answer, name)
    firsts = {one.place: one for one in reversed(list(refused)) if one.place is not None}
    may = [one for one in firsts.values() if one.code in REMEDIES and secret_in(_text_of(_item(items, one))) is None]
    return sorted(may, key=lambda one: one.place or 0)


def _put_right(first: Answer, repair: Answer, name: str, told: set[int]) -> Answer:
    """Return the first answer with the items of the repair in the place of those that were told as refused."""
    items = _items(first, name)
    for number, item in reversed(list(_with_numbers(_items(repair, name), sorted(told), len(items)))):
        if number in told:
            items[number - 1] = item
    return {**first, name: items}


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
    numbered = {**item, "properties": fields, "required": [_NUMBER, *item["required"]]}
    lists = {**schema["properties"], name: {**schema["properties"][name], "items": numbered}}
    return replace(form, schema={**schema, "properties": lists})


def _items(answer: Answer, name: str) -> list[object]:
    given: object = answer.get(name)
    return list(cast("list[object]", given)) if isinstance(given, list) else []


def _item(items: Sequence[object], refusal: Refusal) -> object:
    return None if refusal.place is None else items[refusal.place - 1]


def _text_of(item: object) -> str:
    """Return what an item says: its content, under the name and summary of a skill."""
    fields = cast("dict[str, object]", item) if isinstance(item, dict) else {}
    texts = [fields.get(name) for name in ("name", "summary", "content")]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def _cited(item: object, batch: Batch) -> tuple[str, ...]:
    """Return the ids of all records of the batch whose handles stand in an item, whatever its fields are called."""
    fields = list(cast("dict[str, object]", item).values()) if isinstance(item, dict) else []
    listed = [one for field in fields if isinstance(field, list) for one in cast("list[object]", field)]
    matches = (_HANDLE.fullmatch(one.strip()) for one in (*fields, *listed) if isinstance(one, str))
    places = {int(match[1]) for match in matches if match is not None}
    return tuple(record_id for place, record_id in enumerate(batch.record_ids, 1) if place in places)
