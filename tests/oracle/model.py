"""The oracle's model: rules that answer each pass from what its prompt shows, and a list of every request."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from itertools import combinations
from typing import Any

import orjson

from agentcore.llm import ChatRequest
from agentcore.testing import ScriptedChatClient, ServedRequest
from dream.domain.verification import VERIFY
from dream.interfaces.benchmark import Record, records_in
from tests.demo import facts
from tests.demo.model import answer as demo_answer
from tests.dream.dreaming import VerifyingChatClient
from tests.dream.rereading import reread

_REPAIR = "\nRefused items:\n"
"""Stands in a question that asks for items anew."""
_ALIKE = 0.45
_FAILURE = re.compile(r'^- failure of (s\d+): .*?("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

_REWORDED = re.compile(r'^\[s\w+\] [^"]*"(?:# |> |.*\\" and no longer \\")', re.MULTILINE)
"""Stands in second readings of what the host put together from an answer: procedures, and what gave way to what."""

Rule = Callable[[ChatRequest], Any]


def by_rule(request: ChatRequest) -> str:
    """Answer a request of a dream by the rule of its pass."""
    shown = list(records_in(_prompt(request)))
    return orjson.dumps(_RULES[request.purpose](request, shown)).decode()


def by_demo(request: ChatRequest) -> str:
    """Answer as the demo's model does, which knows the examples of the documentation."""
    body = {"messages": [{"role": one.role, "content": one.content} for one in request.messages]}
    return demo_answer(ServedRequest(path="", headers={}, body=body))


def asking(rule: Rule) -> ScriptedChatClient:
    """Return a model that answers each request by *rule*, and when it reads that again, finds it said, but for lies."""
    reader = VerifyingChatClient((), denies=[fact.content for fact in facts.FALSE])

    async def answered(request: ChatRequest) -> Any:
        if request.purpose == VERIFY:
            question = request.messages[-1].content
            return reread(question) if _REWORDED.search(question) else reader.reading(question)
        given = rule(request)
        answer = await given if isawaitable(given) else given
        if isinstance(answer, str):
            reader.remember(answer)
        return answer

    def for_ever() -> Iterator[Rule]:
        while True:
            yield answered

    return ScriptedChatClient(for_ever())


def _prompt(request: ChatRequest) -> str:
    return "\n\n".join(message.content for message in request.messages)


def _of(shown: Iterable[Record], letter: str) -> list[Record]:
    return [record for record in shown if record.handle[0] == letter]


def _new_turns(shown: Iterable[Record]) -> Iterator[tuple[Record, str]]:
    """Yield what users newly said, sentence by sentence."""
    for turn in _of(shown, "t"):
        if turn.attributes.get("role") == "user" and "read-before" not in turn.attributes:
            for sentence in _SENTENCE_END.split(turn.text):
                yield turn, sentence


def _facts(_: ChatRequest, shown: Sequence[Record]) -> Any:
    return {"facts": [_fact(turn, sentence) for turn, sentence in _new_turns(shown) if _tells(sentence)]}


def _tells(sentence: str) -> bool:
    return sentence.startswith(("I ", "My ", "We ", "Our ")) and sentence.endswith(".")


def _fact(turn: Record, sentence: str) -> dict[str, Any]:
    # One that nobody said: a number is put in, and the guards refuse it.
    told = sentence.replace("budget", "budget of 9,400 euros") if "budget" in sentence else sentence
    return {
        "content": f"{turn.attributes.get('speaker', 'The user')} said: {told}",
        "category": "people/ana" if "speaker" in turn.attributes else "general",
        "tags": ["said"],
        "importance": 0.6,
        "sourceTurns": [turn.handle],
        "quote": sentence,
    }


def _episodes(_: ChatRequest, shown: Sequence[Record]) -> Any:
    known = [record for record in _of(shown, "e") if "decided" in record.text]
    saved: list[dict[str, Any]] = []
    for turn, sentence in _new_turns(shown):
        if sentence.startswith("Again:") and known:
            saved.append({"existing": known[0].handle, "sourceTurns": [turn.handle], "quote": sentence})
        elif "decided" in sentence:
            event = {"eventType": "decision", "actor": "user", "importance": 0.6, "tags": ["decision"]}
            saved.append({"content": sentence, "sourceTurns": [turn.handle], "quote": sentence, **event})
    return {"toSave": saved}


def _preferences(_: ChatRequest, shown: Sequence[Record]) -> Any:
    turns = [turn for turn in _of(shown, "t") if turn.attributes.get("role") == "user"]
    loud = [turn for turn in turns if "without asking me" in turn.text and "read-before" not in turn.attributes]
    short = [turn for turn in turns if "shorter" in turn.text.lower()]
    saved = [
        _preference("The user wants to be asked first: nothing without asking.", [turn], "without asking me", 1)
        for turn in loud
    ]
    if short and any("read-before" not in turn.attributes for turn in short):
        saved.append(_preference("The user wants shorter answers.", short, "horter", 0))
    return {"toSave": saved, "toDelete": []}


def _preference(content: str, turns: Sequence[Record], quote: str, irritated: int) -> dict[str, Any]:
    return {
        "content": content,
        "sentiment": "irritated" if irritated else "frustrated",
        "tags": ["style"],
        "importance": 0.7,
        "requiresUserPermission": bool(irritated),
        "sourceIds": [turn.handle for turn in turns],
        "quote": quote,
    }


def _gaps(_: ChatRequest, shown: Sequence[Record]) -> Any:
    asked = [turn for turn in _of(shown, "t") if "packing list" in turn.text.lower()]
    if len({turn.attributes["session"] for turn in asked}) < 2:
        return {"toSave": []}
    content = "1. Ask where the trip goes.\n2. Write the packing list, by bag.\n3. Put papers first."
    made = {"name": "packing-list", "summary": "Write a packing list for a trip", "content": content}
    return {"toSave": [made | {"sourceTurns": [turn.handle for turn in asked]}]}


def _skills(_: ChatRequest, shown: Sequence[Record]) -> Any:
    skills = _of(shown, "s")
    for one, other in combinations(skills, 2):
        same = one.attributes.get("summary") == other.attributes.get("summary")
        if same and one.attributes["name"].split("/")[0] == other.attributes["name"].split("/")[0]:
            lines = dict.fromkeys([*one.text.splitlines(), *other.text.splitlines()])
            saved = {"name": one.attributes["name"], "summary": one.attributes["summary"], "content": "\n".join(lines)}
            saved |= {"sourceNames": [one.handle, other.handle], "seeAlso": []}
            gone = {"name": other.handle, "replacedBy": one.attributes["name"], "reason": "the same task"}
            return {"toSave": [saved], "toDelete": [gone]}
    return {"toSave": [], "toDelete": []}


def _optimized(request: ChatRequest, shown: Sequence[Record]) -> Any:
    told: dict[str, list[str]] = {}
    for handle, text in _FAILURE.findall(request.messages[1].content):
        told.setdefault(handle, []).append(orjson.loads(text).splitlines()[0])
    saved = [
        {
            "name": skill.attributes["name"],
            "summary": skill.attributes["summary"],
            "content": "\n".join([skill.text, *(f"- {line}" for line in dict.fromkeys(told[skill.handle]))]),
            "sourceNames": [skill.handle],
            "seeAlso": [],
        }
        for skill in _of(shown, "s")
        if skill.handle in told
    ]
    return {"toSave": saved, "toDelete": []}


def _wisps(_: ChatRequest, shown: Sequence[Record]) -> Any:
    patterns = _of(shown, "w")
    classes = [{"pattern": one.handle, "classification": "structural"} for one in patterns]
    told = "What a step returns stands under `output`."
    updates = [
        {"pattern": pattern.handle, "skill": skill.handle, "annotation": told}
        for pattern, skill in zip(patterns, _of(shown, "s"), strict=False)
    ]
    return {"patterns": classes, "skillUpdates": updates}


def _themes(_: ChatRequest, shown: Sequence[Record]) -> Any:
    entries = _of(shown, "e")
    new = [one for one in entries if "told-before" not in one.attributes]
    if len(entries) < 2 or not new:
        return {"themes": []}
    other = next(one for one in entries if one is not new[0])
    text = f"{new[0].text.rstrip('.')}; {other.text}"
    return {"themes": [{"text": text, "sourceIds": [new[0].handle, other.handle]}]}


def _edits(_: ChatRequest, shown: Sequence[Record]) -> Any:
    items = _of(shown, "i")
    edits = [
        {"op": "archive", "items": [one.handle], "reason": "done", "text": None, "target": None}
        for one in items
        if "(done)" in one.text
    ]
    for one, other in combinations([one for one in items if "(done)" not in one.text], 2):
        if _are_alike(one, other):
            text = {"op": "merge", "items": [one.handle, other.handle], "text": _joined(one, other)}
            edits.append(text | {"reason": "both say nearly the same", "target": None})
            break
    return {"edits": edits}


def _rating(_: ChatRequest, __: Sequence[Record]) -> Any:
    return {"rating": "fair", "summary": "Ana had to ask twice for what she wanted."}


def _consolidated(request: ChatRequest, shown: Sequence[Record]) -> Any:
    if _of(shown, "f") and not _of(shown, "e"):
        return {"toDelete": [], "toSave": [_lesson(one) for one in _of(shown, "f")]}
    mine = [one for one in _of(shown, "e") if not one.is_settled]
    is_repair = _REPAIR in request.messages[-1].content
    saved: list[dict[str, Any]] = []
    gone: list[Any] = [one.handle for one in mine if "mood" in one.text]
    used = set(gone)
    for one, other in combinations(mine, 2):
        if used.isdisjoint({one.handle, other.handle}) and _are_alike(one, other):
            used |= {one.handle, other.handle}
            if " instead of " in other.text:
                gone.append({"id": one.handle, "reason": "changed since", "supersededBy": other.handle})
            else:
                # The first answer about an allergy loses half of it; the repair puts it back.
                content = one.text if "allergic" in one.text and not is_repair else _joined(one, other)
                saved.append(_merge(content, one, other))
    return {"toSave": saved, "toDelete": gone}


def _lesson(feedback: Record) -> dict[str, Any]:
    content = feedback.text.splitlines()[0]
    return {"content": content, "category": "anti-patterns/mail", "tags": [], "sourceIds": [feedback.handle]}


def _merge(content: str, one: Record, other: Record) -> dict[str, Any]:
    category = one.attributes.get("category", "general")
    handles = [one.handle, other.handle]
    return {"content": content, "category": category, "tags": [], "sourceIds": handles, "reason": "the same"}


def _are_alike(one: Record, other: Record) -> bool:
    if any(one.attributes.get(name) != other.attributes.get(name) for name in ("category", "subject")):
        return False
    return len(one.words & other.words) >= _ALIKE * len(one.words | other.words)


def _joined(one: Record, other: Record) -> str:
    if other.words <= one.words:
        return one.text
    return other.text if one.words <= other.words else f"{one.text.rstrip('. ')}. {other.text}"


_RULES: Mapping[str, Callable[[ChatRequest, Sequence[Record]], Any]] = {
    "fact-mining": _facts,
    "episodes": _episodes,
    "preferences": _preferences,
    "skill-gaps": _gaps,
    "skill-consolidation": _skills,
    "skill-optimization": _optimized,
    "wisp-failures": _wisps,
    "rem": _themes,
    "document-consolidation": _edits,
    "memory-consolidation": _consolidated,
    "session-evaluator": _rating,
}
"""What answers each pass, by the purpose of the request."""
