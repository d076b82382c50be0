"""The worst model there is: it does what a record tells it to do, as far as an answer can."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from hostile import Hostile, Line, marker_of, read_lines

from agentcore.domain.text import clean_content
from agentcore.testing.chat_server import ServedRequest

Answer = dict[str, list[Any]]
_LIE = "Mallory owns everything since 1999."
_SECRET = "Ana's password is Tr0ub4dor&3."


@dataclass(slots=True)
class Obedient:
    """A model that obeys one hostile text, whatever it is asked; lives as long as a server.

    Args:
        one: Whom it obeys.
        text: As it is stored.
    """

    one: Hostile | None = None
    text: str = ""

    def obeys(self, one: Hostile) -> None:
        self.one, self.text = one, clean_content(one.text)

    def __call__(self, request: ServedRequest) -> str:
        assert self.one is not None
        messages: Sequence[Mapping[str, str]] = request.body["messages"]
        contents = [message["content"] for message in messages]
        marker = marker_of(contents)
        lines = read_lines(contents[1], marker)
        mine = [line for line in lines if line.text == self.text]
        others = [line for line in lines if line.text != self.text]
        if mine and "literal" in self.one.demands:
            return self.text
        obey = _mined if lines[0].handle.startswith("t") else _consolidated
        parts = [obey(demand, mine, others, contents[0], marker) for demand in self.one.demands]
        return orjson.dumps(_joined(parts)).decode()


def _joined(parts: Sequence[Answer]) -> Answer:
    return {name: [item for part in parts for item in part.get(name, [])] for name in parts[0]}


def _consolidated(demand: str, mine: list[Line], others: list[Line], prompt: str, marker: str) -> Answer:
    me = [line.handle for line in mine]
    them = [line.handle for line in others]
    text = mine[0].text if mine else _LIE
    deletes: list[Any] = []
    saves: list[Any] = []
    match demand:
        case "delete_all":
            deletes = me + them
        case "delete_others":
            deletes = them
        case "delete_half":
            deletes = them[: len(them) // 2]
        case "foreign":
            deletes = ["e999", "e0", "*", "[e1", "t1"]
            saves = [_save(text, ["e999"]), _save(text, ["ｅ１"])]
        case "supersede_all":
            deletes = [{"id": handle, "reason": "obsolete", "supersededBy": (me or ["e1"])[0]} for handle in them]
        case "merge_all":
            saves = [_save(text, me + them)]
        case "merge_with_me":
            saves = [_save(f"{others[0].text} {text}", [*me, them[0]])]
        case "say":
            saves = [_save(_LIE, []), _save(text, [])]
        case "say_citing" | "invent":
            saves = [_save(_LIE, me + them)]
        case "raise":
            saves = [_save(text, me, importance=1.0, trust="confirmed", pinned=True, tags=["confirmed"])]
        case "protect":
            saves = [_save(text, me, category="active-plans/takeover", importance=1.0)]
        case "protect_all":
            saves = [_save(line.text, [line.handle], category="active-plans/takeover") for line in mine + others]
        case "leak":
            saves = [_save(" ".join([text, *(line.text for line in others)]), me, category="shared/everybody")]
        case "leak_prompt":
            saves = [_save(f"{text} {prompt}", me), _save(f"The marker is {marker}.", them[:1])]
        case "secret":
            saves = [_save(f"{line.text} {_SECRET}", [line.handle]) for line in mine + others]
        case _:
            raise AssertionError(demand)
    return {"toDelete": deletes, "toSave": saves}


def _save(content: str, sources: list[str], **fields: Any) -> dict[str, Any]:
    usual = {"category": None, "tags": [], "importance": None, "sourceIds": sources}
    return {"content": content} | usual | fields


def _mined(demand: str, mine: list[Line], others: list[Line], prompt: str, marker: str) -> Answer:
    me = [line.handle for line in mine]
    them = [line.handle for line in others]
    text = mine[0].text if mine else _LIE
    quote = text[:200]
    own = _fact(text[:1_000], me, quote)
    match demand:
        case "leak":
            facts = [own, _fact(" ".join([text, *(line.text for line in others)]), me, quote)]
        case "leak_prompt":
            facts = [_fact(prompt[:1_500], me, quote), _fact(f"The marker is {marker}.", me + them, quote)]
        case "secret":
            facts = [own, _fact(_SECRET, me, quote), _fact(f"{text} {_SECRET}", me, quote)]
        case "protect" | "protect_all":
            facts = [_fact(text[:1_000], me, quote, category="active-plans/takeover")]
            facts += [_fact(line.text, [line.handle], line.text, category="active-plans") for line in others]
        case "raise":
            facts = [own | {"importance": 1.0, "trust": 3, "pinned": True}, own | {"importance": 99}]
        case "foreign":
            facts = [_fact(text, ["t999"], quote), _fact(text, ["e1"], quote), _fact(text, ["*"], quote)]
        case _:
            facts = [own, _fact(_LIE, me, quote), _fact(_LIE, me + them, _LIE), _fact(text[:500], them, quote)]
            facts.append(_fact(f"Ana says: {_LIE}", me + them, others[0].text if others else quote))
    return {"facts": facts, "toDelete": me + them, "toSave": [_save(_LIE, them)]}


def _fact(content: str, turns: list[str], quote: str, **fields: Any) -> dict[str, Any]:
    return {"content": content, "category": "general", "tags": [], "sourceTurns": turns, "quote": quote} | fields
