"""How well statements are told apart: true ones that must get in, and such with exactly one fault that must not.

Written by people who saw the names of the classes and no rule; each is driven through the pass it is meant for, in a
real store, with a model that says just that. `python -m tests.bench.guards` prints the table.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from agentcore.domain import Feedback, FeedbackKind, Skill, Trust, Turn
from agentcore.domain.text import normalise
from agentcore.llm import ChatRequest
from agentcore.recall import Recall
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock, ScriptedChatClient
from dream.passes.episodes import EpisodeExtraction
from dream.passes.fact_mining import FactMining
from dream.passes.memory_consolidation import MemoryConsolidation
from dream.passes.preferences import PreferenceInference
from dream.passes.protocol import ModelPass
from dream.passes.skills.consolidation import SkillConsolidation
from tests.dream.dreaming import NOW, World

FOLDER = Path(__file__).parents[1] / "dream" / "guards" / "data"
SPLITS = {"dev": FOLDER / "statements-dev.jsonl", "held out": FOLDER / "statements-heldout.jsonl"}
SUBJECTS = {2: "denials", 3: "statements of a merge", 5: "what honest texts hold"}

_HANDLE = re.compile(r"^\[(\w+)\]")
_SKILL, _OTHER_SKILL = "a", "b"
_WAITS = frozenset({"unverified", "verifier_unreliable"})
"""What words leave to a second reading, which nobody gives here."""
_ANSWERS = 4
"""So often the model says the same: a repair that is asked for changes nothing."""


@dataclass(frozen=True, slots=True)
class Case:
    """One statement with what it is known to be; `row` is its line of the file."""

    row: Mapping[str, Any]

    @property
    def is_true(self) -> bool:
        """Whether it must get in."""
        return self.row["truth"] == "honest"

    @property
    def statement(self) -> str:
        """What the model says."""
        return self.row.get("statement") or self.row.get("merged") or self.row["rule"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case: whether it got in, and the codes if it did not."""

    case: Case
    got_in: bool
    codes: tuple[str, ...]

    @property
    def is_right(self) -> bool:
        """A true one gets in, or waits for a second reading; any other does not get in."""
        waits = bool(self.codes) and _WAITS.issuperset(self.codes)
        return (self.got_in or waits) if self.case.is_true else not self.got_in


def cases(path: Path) -> list[Case]:
    """Read the cases of a file."""
    return [Case(orjson.loads(line)) for line in path.read_bytes().splitlines()]


async def judged(given: Iterable[Case]) -> list[Outcome]:
    """Drive each case through its pass, in a scope of its own."""
    async with _world() as world:
        return [await _judged(world.elsewhere(), case) for case in given]


@asynccontextmanager
async def _world() -> AsyncIterator[World]:
    clock = ManualClock(NOW)
    storage = SqlStorage(None, clock=clock)
    await storage.start()
    recall = Recall(storage)
    await recall.start()
    yield World(storage, recall, clock)
    await recall.stop()
    await storage.stop()


async def _judged(world: World, case: Case) -> Outcome:
    told = _TELL[case.row["kind"]]
    await told.prepare(world, case.row)
    world = replace(world, chat=ScriptedChatClient([lambda request: _answer(told, request, case.row)] * _ANSWERS))
    report = (await world.run_passes(told.model_pass)).passes[0]
    known = await told.known(world)
    # A merge may keep the entry that says just that: then the others are gone.
    got_in = normalise(case.statement) in map(normalise, known) and len(known) == 1
    return Outcome(case, got_in, tuple(str(one.code) for one in report.refused))


def _answer(told: "_Telling", request: ChatRequest, row: Mapping[str, Any]) -> str:
    return orjson.dumps(told.answer(row, _Handles(request.messages[1].content))).decode()


class _Handles:
    """Finds the handle of a text in a prompt."""

    def __init__(self, prompt: str) -> None:
        self._lines = [line for line in prompt.splitlines() if _HANDLE.match(line)]

    def of(self, text: str) -> str:
        written = orjson.dumps(text).decode()
        whole = [line for line in self._lines if line.endswith(written)]
        found = next(iter(whole or [line for line in self._lines if written[1:-1] in line]))
        match = _HANDLE.match(found)
        assert match is not None
        return match[1]


@dataclass(frozen=True, slots=True)
class _Telling:
    """How cases of one kind are told: their pass, what is stored before, and the answer."""

    model_pass: ModelPass

    async def prepare(self, world: World, row: Mapping[str, Any]) -> None:
        turns = [_turn(world, one) for one in row["turns"]]
        world.clock.set(max(turn.occurred_at for turn in turns) + timedelta(hours=1))
        await world.write(lambda unit: unit.turns.add(turns))

    async def known(self, world: World) -> list[str]:
        """Return what is known after the pass."""
        return [entry.content for entry in await world.active()]

    def answer(self, row: Mapping[str, Any], handles: _Handles) -> Any:
        texts = {one["id"]: one["text"] for one in row["turns"]}
        sources = [handles.of(texts[one]) for one in row["cites"]]
        said = {"content": row["statement"], "quote": row["quote"], "tags": []}
        match row["kind"]:
            case "fact":
                return {"facts": [{**said, "category": "general", "sourceTurns": sources}]}
            case "episode":
                episode = {**said, "eventType": "event", "actor": row["turns"][0]["speaker"], "sourceTurns": sources}
                return {"toSave": [episode]}
            case _:
                preference = {**said, "sentiment": "casual", "requiresUserPermission": False, "sourceIds": sources}
                return {"toSave": [preference]}


class _Merging(_Telling):
    async def prepare(self, world: World, row: Mapping[str, Any]) -> None:
        said = [datetime.fromisoformat(one["at"]) for one in row["sources"]]
        world.clock.set(max(said) + timedelta(days=1))
        await world.add(
            *(world.entry(one["text"], created_at=at) for one, at in zip(row["sources"], said, strict=True))
        )

    def answer(self, row: Mapping[str, Any], handles: _Handles) -> Any:
        sources = [handles.of(one["text"]) for one in row["sources"]]
        item = {"content": row["merged"], "category": None, "tags": [], "importance": None, "sourceIds": sources}
        return {"toDelete": [], "toSave": [item]}


class _Learning(_Telling):
    async def prepare(self, world: World, row: Mapping[str, Any]) -> None:
        now = datetime(2025, 6, 14, tzinfo=UTC)
        world.clock.set(now + timedelta(hours=1))
        one = Feedback(
            id=world.ids.new(),
            scope=world.scope,
            session_id="s",
            kind=FeedbackKind.CORRECTION,
            summary=row["correction"],
            occurred_at=now,
            recorded_at=now,
        )
        await world.write(lambda unit: unit.feedback.append([one]))

    def answer(self, row: Mapping[str, Any], handles: _Handles) -> Any:
        item = {"content": row["rule"], "category": "anti-patterns/work", "sourceIds": [handles.of(row["correction"])]}
        return {"toDelete": [], "toSave": [item]}


class _Tidying(_Telling):
    """Rewrites a skill that is shown beside another one: the pass asks about no skill alone."""

    async def prepare(self, world: World, row: Mapping[str, Any]) -> None:
        at = datetime.fromisoformat(row["at"])
        world.clock.set(at + timedelta(days=1))
        for name, content in ((_SKILL, row["skill"]), (_OTHER_SKILL, "-")):
            skill = Skill(id=world.ids.new(), scope=world.scope, name=name, summary="-", content=content, created_at=at)
            await world.write(lambda unit, skill=skill: unit.skills.add(skill))

    async def known(self, world: World) -> list[str]:
        found = await world.storage.read(world.scope, lambda view: view.skills.named(_SKILL))
        return [] if found is None else [found.content]

    def answer(self, row: Mapping[str, Any], handles: _Handles) -> Any:
        shown = {"name": _SKILL, "summary": "-", "sourceNames": [handles.of(row["skill"])], "seeAlso": []}
        return {"toDelete": [], "toSave": [{**shown, "content": row["statement"]}]}


_TELL = {
    "fact": _Telling(FactMining()),
    "episode": _Telling(EpisodeExtraction()),
    "preference": _Telling(PreferenceInference()),
    "merge": _Merging(MemoryConsolidation()),
    "lesson": _Learning(MemoryConsolidation()),
    "skill": _Tidying(SkillConsolidation()),
}


def _turn(world: World, row: Mapping[str, Any]) -> Turn:
    is_person = row["role"] == "user"
    at = datetime.fromisoformat(row["at"])
    return Turn(
        id=world.ids.new(),
        scope=world.scope,
        content=row["text"],
        session_id=row["session"],
        role=row["role"],
        speaker=row["speaker"] if is_person else None,
        trust=Trust.STATED if is_person else Trust.INFERRED,
        occurred_at=at,
        recorded_at=at,
    )


def table(found: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the figures as a Markdown table: per subject and split, true ones refused and false ones that got in."""
    lines = ["| | true ones refused | false ones that got in |", "|---|---|---|"]
    for split, outcomes in found.items():
        for number, subject in SUBJECTS.items():
            mine = [one for one in outcomes if one.case.row["item"] == number]
            cells = (_cell([one for one in mine if one.case.is_true is truth]) for truth in (True, False))
            lines.append(f"| {subject}, {split} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(outcomes: Sequence[Outcome]) -> str:
    wrong = sum(not one.is_right for one in outcomes)
    return f"{wrong} of {len(outcomes)} ({100 * wrong / len(outcomes):.1f} %)" if outcomes else "-"


def wrong(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield what was judged wrongly, a case in some lines."""
    for one in outcomes:
        if not one.is_right:
            row = one.case.row
            said = row.get("turns") or row.get("sources") or [{"text": row.get("correction") or row["skill"]}]
            heard = [f"    {turn.get('speaker', '')} {turn.get('at', '')[:10]}: {turn['text']}" for turn in said]
            verdict = "got in" if one.got_in else f"refused {', '.join(one.codes)}"
            yield "\n".join(
                [f"{row['id']} {row['kind']} {row['class']}: {verdict}", *heard, f"  -> {one.case.statement}"]
            )


def measured() -> dict[str, list[Outcome]]:
    """Judge the cases of each split whose file is there."""
    return {split: asyncio.run(judged(cases(path))) for split, path in SPLITS.items() if path.exists()}


__all__ = ["SPLITS", "Case", "Outcome", "cases", "judged", "measured", "table", "wrong"]
