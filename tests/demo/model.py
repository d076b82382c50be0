"""A model for the demo that answers from a script; it reads its prompts as a model would, by handle."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import orjson

from agentcore.testing import ServedRequest
from dream.interfaces.benchmark import Record, records_in
from tests.demo import facts, habits, orders
from tests.dream.rereading import is_second_reading, reread

_LIES = (*(fact.content for fact in facts.FALSE), orders.INVENTING.content)
_PART = re.compile(r'^# Part "([\w-]+)"$', re.MULTILINE)
_REPAIR = "\nRefused items:\n"
"""Stands in a question that asks for items anew."""


def answer(request: ServedRequest) -> str:
    """Answer a prompt of a dream on the demo's memory."""
    question = request.body["messages"][-1]["content"]
    if is_second_reading(question):
        return reread(question, _is_untrue)
    shown = list(records_in(request.prompt))
    if parts := _PART.findall(request.prompt):
        return _written({name: _OF_PARTS[name](shown) for name in parts})
    word = next((word for word in _BY_CONTRACT if f'"{word}"' in request.prompt), None)
    told = _by_records(shown, question) if word is None else _BY_CONTRACT[word](shown)
    return _written(told)


def _by_records(shown: Sequence[Record], question: str) -> Mapping[str, Any]:
    """Answer a prompt that is known by what it shows."""
    if any(record.handle[0] == "w" for record in shown):
        return _failures(shown)
    turns = [record for record in shown if record.handle[0] == "t"]
    if turns:
        return {"facts": list(_facts(turns))}
    entries = [record for record in shown if record.handle[0] == "e" and "category" in record.attributes]
    signals = [record for record in shown if record.handle[0] == "f"]
    if signals and not entries:
        return {"toDelete": [], "toSave": list(_lessons(signals))}
    return _orders(entries, is_repair=_REPAIR in question)


def _is_untrue(text: str, told: str) -> bool:
    """Tell whether a statement is one that the careless writer made up: the reader is careful."""
    del told
    return any(lie in text for lie in _LIES)


def _facts(turns: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for fact in (*facts.TRUE, *facts.FALSE):
        cited = [_beginning(turns, text) for text in fact.turns]
        if all(cited) and _has_new(cited):
            found = {
                "content": fact.content,
                "category": fact.category,
                "tags": list(fact.tags),
                "importance": fact.importance,
                "sourceTurns": [record.handle for group in cited for record in group],
                "quote": fact.quote,
            }
            yield found if fact.subject_time is None else {**found, "subjectTime": fact.subject_time}


def _said(shown: Sequence[Record], told: Sequence[habits.Said]) -> Iterator[dict[str, Any]]:
    """Tell what new turns show, each where all its turns are shown."""
    for one in told:
        cited = [_beginning((record for record in shown if record.handle[0] == "t"), text) for text in one.turns]
        if all(cited) and _has_new(cited):
            item: dict[str, Any] = {"content": one.content, "tags": [], "importance": 0.6, "quote": one.quote}
            handles = [record.handle for group in cited for record in group]
            if one.event is not None:
                yield item | {"eventType": one.event, "actor": "user", "sourceTurns": handles}
            else:
                asked = {"sentiment": one.sentiment, "requiresUserPermission": one.permission}
                yield item | asked | {"sourceIds": handles}


def _missing(shown: Sequence[Record]) -> Iterator[dict[str, Any]]:
    """Write the skill that is missing, where two sessions or more ask for it."""
    gap = habits.GAP
    asking = [record for text in gap.turns for record in _beginning(shown, text) if record.handle[0] == "t"]
    if len({record.attributes.get("session", record.handle) for record in asking}) > 1:
        handles = [record.handle for record in asking]
        yield {"name": gap.name, "summary": gap.summary, "content": gap.content, "sourceTurns": handles}


def _rewritten(shown: Sequence[Record], text: habits.SkillText) -> Mapping[str, Any]:
    """Write a skill anew, where all it is made of is shown; the other sources go."""
    handles = {record.attributes["name"]: record.handle for record in shown if record.handle[0] == "s"}
    if not handles.keys() >= set(text.sources):
        return {"toSave": [], "toDelete": []}
    saved = {"name": text.name, "summary": text.summary, "content": text.content, "seeAlso": []}
    gone = [handles[name] for name in text.sources if name != text.name]
    return {
        "toSave": [saved | {"sourceNames": [handles[name] for name in text.sources]}],
        "toDelete": [{"name": handle, "replacedBy": text.name, "reason": "the same minutes"} for handle in gone],
    }


def _failures(shown: Sequence[Record]) -> Mapping[str, Any]:
    """Say why wisps fail, and tell the skill behind those whose steps are wrong."""
    skills = {record.attributes["name"]: record.handle for record in shown if record.handle[0] == "s"}
    classes: list[dict[str, str]] = []
    updates: list[dict[str, str]] = []
    for failure in orders.FAILURES:
        for record in _beginning([record for record in shown if record.handle[0] == "w"], failure.description):
            classes.append({"pattern": record.handle, "classification": failure.classification})
            if failure.skill in skills:
                updates.append(
                    {"pattern": record.handle, "skill": skills[failure.skill], "annotation": failure.annotation}
                )
    return {"patterns": classes, "skillUpdates": updates}


def _lessons(feedback: Sequence[Record]) -> Iterator[dict[str, Any]]:
    for lesson in orders.LESSONS:
        sources = [record.handle for text in lesson.feedback for record in _beginning(feedback, text)]
        if sources:
            yield _saved(lesson.content, lesson.category, sources)


def _orders(entries: Sequence[Record], *, is_repair: bool) -> Mapping[str, Any]:
    mine = [record for record in entries if not record.is_settled]
    saved: list[dict[str, Any]] = []
    deleted: list[Any] = []
    place = count()
    for merge in orders.MERGES:
        groups = [_beginning(mine, text) for text in merge.sources]
        sources = [record for group in groups for record in group]
        if all(groups) and len(sources) > 1:
            content = merge.content if merge.first is None or is_repair else merge.first
            saved.append(_saved(content, sources[0].attributes["category"], [record.handle for record in sources]))
            index = next(place)
            over = [record for text in merge.over for record in _beginning(mine, text)]
            deleted += [_deleted(record, "another rate since", index) for record in over]
    used = {record for item in saved for record in item["sourceIds"]}
    for order in orders.SUPERSEDED:
        heirs = [record for record in _beginning(entries, order.new) if record.handle not in used]
        if heirs:
            deleted += [_deleted(record, order.reason, heirs[0].handle) for record in _beginning(mine, order.old)]
    deleted += [_deleted(record, drop.reason, None) for drop in orders.DROPS for record in _beginning(mine, drop.text)]
    if _beginning(mine, orders.BEWITCHING):
        gone = {item["id"] for item in deleted}
        deleted += [record.handle for record in mine if record.handle not in used | gone]
    return {"toSave": saved, "toDelete": deleted}


def _has_new(cited: Sequence[Sequence[Record]]) -> bool:
    return any("read-before" not in record.attributes for group in cited for record in group)


def _beginning(records: Iterable[Record], text: str) -> list[Record]:
    return [record for record in records if record.text.startswith(text)]


def _saved(content: str, category: str, sources: Sequence[str]) -> dict[str, Any]:
    return {"content": content, "category": category, "tags": [], "importance": None, "sourceIds": list(sources)}


def _deleted(record: Record, reason: str, successor: str | int | None) -> dict[str, Any]:
    return {"id": record.handle, "reason": reason, "supersededBy": successor}


def _written(document: Mapping[str, Any]) -> str:
    return orjson.dumps(document).decode()


_BY_CONTRACT: Mapping[str, Callable[[Sequence[Record]], Mapping[str, Any]]] = {
    "claims": lambda _: {"claims": []},
    "readings": lambda _: {"readings": []},
    "themes": lambda _: {"themes": []},
    "edits": lambda _: {"edits": []},
    "rating": lambda _: {"rating": "good", "summary": "Ines asked for something and got it."},
    "replacedBy": lambda shown: _rewritten(shown, habits.MERGED),
    "sourceNames": lambda shown: _rewritten(shown, habits.EXPANDED),
    "summary": lambda shown: {"toSave": list(_missing(shown))},
    "eventType": lambda shown: {"toSave": list(_said(shown, habits.EPISODES))},
    "sentiment": lambda shown: {"toSave": list(_said(shown, habits.PREFERENCES))},
}
"""What answers a prompt whose directive names this field; the first that does, for later fields occur in several."""

_OF_PARTS: Mapping[str, Callable[[Sequence[Record]], list[dict[str, Any]]]] = {
    "fact-mining": lambda shown: list(_facts([record for record in shown if record.handle[0] == "t"])),
    "episodes": lambda shown: list(_said(shown, habits.EPISODES)),
    "preferences": lambda shown: list(_said(shown, habits.PREFERENCES)),
    "skill-gaps": lambda shown: list(_missing(shown)),
}
"""What answers the part of a reader in a question that readers share."""
