"""Tells a year of one person to the memory, has it dream three times, and prints what the card rests on.

    python -m tests.bench.year

The client and the server are real; the answers are those of `tests/data/year`, written as a capable model would give
them. The server finds what an answer cites in the question that it really gets: what is not shown is not answered, and
an answer that no question of its dream could take is an error at the end.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import orjson

from agentcore import AgentHostBuilder
from agentcore.domain.card import CardLine
from agentcore.domain.memory import MemoryEntry
from agentcore.hosting.host import Host
from agentcore.llm import ChatOptions
from agentcore.testing import ChatServer, ManualClock
from dream.options import DreamOptions, Preset
from dream.passes.inference_checks import true_conclusions
from tests.dream.rereading import reread

YEAR: Final = Path(__file__).parents[1] / "data" / "year"
_LINE: Final = re.compile(r'^\[(\w+)\] (.*?)("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_PARTS: Final = re.compile(r'^# Part "([\w-]+)"', re.MULTILINE)
_EMPTY: Final[Mapping[str, dict[str, Any]]] = {
    "episodes": {"toSave": []},
    "preferences": {"toSave": []},
    "skill-gaps": {"toSave": []},
}
_GONE: Final = "This does not hold any longer: "
_BOTH: Final = "These cannot both be true at one time: "


class NotShownError(Exception):
    """No question of a dream showed what an answer cites."""


@dataclass(slots=True)
class YearModel:
    """A model that answers from a file; lives as long as its year.

    Args:
        answers: Its answers by the dream.
    """

    answers: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
    dream: str = ""
    given: set[bytes] = field(default_factory=set[bytes])

    def __call__(self, request: Any) -> str:
        """Answer one question by what it shows."""
        system, user = (str(one["content"]) for one in request.body["messages"])
        return orjson.dumps(self._answer(system, user)).decode()

    def left(self) -> list[Mapping[str, Any]]:
        """Return the answers of the dream that no question could take."""
        every = [one for some in self.answers[self.dream].values() for one in some]
        return [one for one in every if orjson.dumps(one) not in self.given]

    def _answer(self, system: str, user: str) -> dict[str, Any]:
        if user.startswith('Answer with {"readings"'):
            return self._readings(user)
        shown = _shown(user)
        if "Memory entries:" in user:
            return {"toDelete": self._take("replaced", shown), "toSave": []}
        if '"patterns":' in user:
            return {"search": [], "patterns": self._take("patterns", shown)}
        if '"conclusions":' in user:
            return {"search": [], "conclusions": self._take("conclusions", shown), "card": self._take("card", shown)}
        facts = {"facts": self._take("facts", shown)}
        parts = _PARTS.findall(system)
        return {name: facts if name == "fact-mining" else _EMPTY[name] for name in parts} if parts else facts

    def _take(self, kind: str, shown: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the answers of a kind whose every citation the question shows, with its handles."""
        taken: list[dict[str, Any]] = []
        for one in self.answers[self.dream][kind]:
            made = _HANDLED[kind](one, shown)
            if made is not None:
                self.given.add(orjson.dumps(one))
                taken.append(made)
        return taken

    def _readings(self, user: str) -> dict[str, Any]:
        """Return what a second reader finds: that of conclusions those follow that are in the file, and no others."""
        if '"follows"' not in user:
            return orjson.loads(reread(user))
        records = {handle: orjson.loads(text) for handle, _, text in _LINE.findall(user) if handle.startswith("r")}
        told = [one for kinds in self.answers.values() for some in kinds.values() for one in some]
        known = {*(one.get("content", "") for one in told), *true_conclusions()}
        rows: list[list[str]] = []
        for handle, named, quoted in _LINE.findall(user):
            said = orjson.loads(quoted)
            if handle not in records and (said in known or said.startswith((_GONE, _BOTH))):
                rows.append(
                    [handle, "follows", *(records[one] for one in re.findall(r"r\d+", named.partition("(")[0]))]
                )
            elif handle not in records:
                rows.append([handle, "may"])
        return {"readings": rows}


def _shown(user: str) -> dict[str, str]:
    """Return the handles of what a question shows, by its text."""
    return {orjson.loads(text): handle for handle, _, text in _LINE.findall(user)}


def _handles(texts: Sequence[str], shown: Mapping[str, str]) -> list[str] | None:
    found = [next((handle for said, handle in shown.items() if text in said), None) for text in texts]
    return None if None in found else [one for one in found if one is not None]


def _fact(one: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any] | None:
    handles = _handles(one["cites"], shown)
    said = {name: one[name] for name in ("content", "subject", "topic", "quote")}
    return None if handles is None else {**said, "category": "people/nora", "tags": [], "sourceTurns": handles}


def _replaced(one: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any] | None:
    if one["old"] not in shown or one["by"] not in shown:
        return None
    return {"id": shown[one["old"]], "reason": one["reason"], "supersededBy": shown[one["by"]]}


def _premised(one: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any] | None:
    handles = _handles(one["premises"], shown)
    known = {name: one[name] for name in ("existing", "line") if name in one}
    if handles is None or not all(text in shown for text in known.values()):
        return None
    usual = {"content": None, "pattern": None, "against": [], "existing": None, "line": None}
    return {**usual, **one, "premises": handles, **{name: shown[text] for name, text in known.items()}}


_HANDLED: Final = {"facts": _fact, "replaced": _replaced, "conclusions": _premised, "card": _premised,
                   "patterns": _premised}  # fmt: skip


async def live(host: Host, clock: ManualClock, model: YearModel) -> None:
    """Tell the year, and dream when it is time."""
    for one in orjson.loads((YEAR / "talks.json").read_bytes()):
        if "dream" in one:
            clock.set(datetime.fromisoformat(one["dream"]))
            model.dream = one["dream"]
            await host.dreams.run()
            if model.left():
                raise NotShownError(f"{model.dream}: no question showed what {model.left()[0]} cites")
            continue
        clock.set(datetime.fromisoformat(one["at"]))
        for speaker, text in one["turns"]:
            role = "assistant" if speaker == "assistant" else "user"
            who = None if role == "assistant" else speaker
            await host.conversation.append(session_id=one["session"], role=role, content=text, speaker=who)


async def evidence_of(host: Host, line: CardLine) -> list[str]:
    """Return what a line of the card goes back to: its entries, and the sentences that these rest on."""
    told: list[str] = []
    for ref in line.sources:
        entry = await host.memory.get(ref.id)
        assert entry is not None
        told.append(f"{entry.content} [{entry.level.value}, {entry.verdict.value}]")
        told += [f'  {one.said_at:%Y-%m-%d} {one.speaker or one.source}: "{one.sentence}"' for one in entry.evidence]
    return told


async def premises_of(host: Host, conclusion: MemoryEntry) -> list[str]:
    """Return what a conclusion rests on."""
    found = [await host.memory.get(one.entry_id) for one in conclusion.premises]
    return [f"{entry.created_at:%Y-%m-%d} {entry.status.value}: {entry.content}" for entry in found if entry]


@asynccontextmanager
async def a_year(folder: Path) -> AsyncIterator[tuple[Host, ChatServer]]:
    """Return a host with the preset `peer` after its year, and the server that its client asked."""
    model = YearModel(orjson.loads((YEAR / "answers.json").read_bytes()))
    clock = ManualClock(datetime.fromisoformat("2024-06-01T00:00:00Z"))
    async with ChatServer(repeat(model)) as server:
        chat = ChatOptions(base_url=server.base_url, model="a-model")
        builder = AgentHostBuilder(folder, clock=clock).with_memory().with_conversation_log().with_llm(chat)
        async with builder.with_dreaming(DreamOptions.preset(Preset.PEER), in_background=False).build() as host:
            await live(host, clock, model)
            yield host, server


async def main() -> None:
    """Print the card with what each line rests on, the conclusions, and how an answer ends the open question."""
    with TemporaryDirectory() as folder:
        async with a_year(Path(folder)) as (host, server):
            for line in await host.card.lines():
                print(line, *(f"    {one}" for one in await evidence_of(host, line)), sep="\n")
            for entry in await host.memory.list(limit=100):
                if entry.is_conclusion:
                    sure = f" {entry.pattern.value}, confidence {entry.confidence}" if entry.pattern else ""
                    resting = [f"    {one}" for one in await premises_of(host, entry)]
                    print(f"[{entry.level.value}{sure}] {entry.content}", *resting, sep="\n")
            for asked in await host.desk.questions():
                print(f"open: {asked.question.text}", *(f"    {one.content}" for one in asked.members), sep="\n")
                kept = next(one for one in asked.members if "no allergies" in one.content)
                await host.desk.answer(asked.question.id, keep=kept.id, why="She told me.")
                print(f"answered: {kept.content} Open questions: {len(await host.desk.questions())}")
            print(f"{server.calls} calls")


if __name__ == "__main__":
    asyncio.run(main())
