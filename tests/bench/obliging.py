"""A model that answers at once and finds something to do in every question: the most work for a host."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from agentcore.llm import ChatRequest
from dream.interfaces.benchmark import Record, records_in

Answer = Mapping[str, Any]


def obliging(request: ChatRequest) -> str:
    """Answer the question of any pass."""
    records = list(records_in(request.messages[1].content))
    return orjson.dumps(_ANSWERS[request.purpose](records)).decode()


def _facts(records: Sequence[Record]) -> Answer:
    """Remember every fourth turn as it stands."""
    turns = [one for one in records if one.attributes.get("role") == "user" and not one.is_settled][::2]
    return {
        "facts": [
            {
                "content": one.text,
                "category": "general",
                "tags": [],
                "sourceTurns": [one.handle],
                "quote": one.text[:80],
            }
            for one in turns
        ]
    }


def _merges(records: Sequence[Record]) -> Answer:
    """Join the first four entries two by two, word for word, and drop the next one."""
    entries = [one for one in records if one.handle.startswith("e") and not one.is_settled]
    pairs = [entries[0:2], entries[2:4]] if len(entries) > 5 else []
    saves = [
        {
            "content": " ".join(one.text for one in pair),
            "category": None,
            "tags": [],
            "importance": None,
            "sourceIds": [one.handle for one in pair],
        }
        for pair in pairs
    ]
    return {"toDelete": [one.handle for one in entries[4:5]] if pairs else [], "toSave": saves}


def _episodes(records: Sequence[Record]) -> Answer:
    """Keep every fourth turn as what happened, in its own words."""
    turns = [one for one in records if one.attributes.get("role") == "user" and not one.is_settled][::2]
    return {
        "toSave": [
            {
                "content": f"Ana said: {one.text}",
                "eventType": "conversation",
                "actor": "Ana",
                "tags": [],
                "sourceTurns": [one.handle],
                "quote": one.text[:80],
            }
            for one in turns
        ]
    }


def _preferences(records: Sequence[Record]) -> Answer:
    """Take every fourth turn for a preference that is voiced with great irritation."""
    turns = [one for one in records if one.attributes.get("role") == "user" and not one.is_settled][::2]
    return {
        "toSave": [
            {
                "content": f"The user wants: {one.text}",
                "sentiment": "irritated",
                "tags": [],
                "requiresUserPermission": False,
                "sourceIds": [one.handle],
                "quote": one.text[:80],
            }
            for one in turns
        ]
    }


def _gaps(records: Sequence[Record]) -> Answer:
    """Write one skill, asked for by the first new user's turn and one of another session."""
    turns = [one for one in records if one.attributes.get("role") == "user"]
    new = next((one for one in turns if not one.is_settled), None)
    other = new and next((one for one in turns if one.attributes["session"] != new.attributes["session"]), None)
    if new is None or other is None:
        return {"toSave": []}
    skill = {
        "name": f"asked/{new.attributes['session']}",
        "summary": "what was asked for",
        "content": "1. read what was asked\n2. answer it",
        "sourceTurns": [new.handle, other.handle],
    }
    return {"toSave": [skill]}


def _joined(records: Sequence[Record]) -> Answer:
    """Join the first two skills under the name of the first, word for word."""
    if len(records) < 2:
        return {"toDelete": [], "toSave": []}
    one, other = records[:2]
    saved = _skill(one, f"{one.text}\n{other.text}", [one.handle, other.handle])
    gone = {"name": other.handle, "replacedBy": one.attributes["name"], "reason": "the same errand"}
    return {"toDelete": [gone], "toSave": [saved]}


def _improved(records: Sequence[Record]) -> Answer:
    """Add a step to every second skill."""
    return {
        "toDelete": [],
        "toSave": [_skill(one, f"{one.text}\n- check the outcome", [one.handle]) for one in records[::2]],
    }


def _annotated(records: Sequence[Record]) -> Answer:
    """Tell the first skill of each pattern to look at what was answered."""
    patterns = [one for one in records if one.handle.startswith("w")]
    told = [(one.handle, one.attributes.get("skills", "").split(",")[0]) for one in patterns]
    return {
        "patterns": [{"pattern": handle, "classification": "structural"} for handle, _ in told],
        "skillUpdates": [
            {"pattern": handle, "skill": skill, "annotation": "Look at the answer before the next step."}
            for handle, skill in told
            if skill
        ],
    }


def _skill(record: Record, content: str, sources: list[str]) -> dict[str, Any]:
    name, summary = record.attributes["name"], record.attributes["summary"]
    return {"name": name, "summary": summary, "content": content, "sourceNames": sources, "seeAlso": []}


_ANSWERS: Mapping[str, Callable[[Sequence[Record]], Answer]] = {
    "fact-mining": _facts,
    "memory-consolidation": _merges,
    "episodes": _episodes,
    "skill-gaps": _gaps,
    "skill-consolidation": _joined,
    "skill-optimization": _improved,
    "preferences": _preferences,
    "wisp-failures": _annotated,
}
PASSES = tuple(_ANSWERS)
"""The passes it can answer, in the order of a run."""
