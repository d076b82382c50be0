"""What conclusions cost: calls and tokens for 50 new entries, time for 1,000, a premise with 10,000 dependants.

python -m tests.bench.conclusions
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, Final

import orjson

from agentcore import AgentHostBuilder
from agentcore.domain.memory import MemoryEntry, Status
from agentcore.domain.scope import Scope
from agentcore.hosting.host import Host
from agentcore.llm.chat import ChatRequest, estimate_tokens
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock, ScriptedChatClient
from agentcore.testing.contracts.samples import SCOPE, START, a_deduction, an_entry
from dream.domain.verification import VERIFY
from dream.options import DreamOptions
from dream.passes.inference_checks import true_conclusions

_NOW: Final = datetime(2025, 6, 14, tzinfo=UTC)
_PEOPLE: Final = ("Ana", "Bo", "Cleo", "Dov", "Eli")
_DEEDS: Final = (
    "moved the meeting with {} to Friday", "bought a ticket for the night train to {}", "cooked for {} guests",
    "read a book about {} in the garden", "met a friend from {} at the harbour", "cancelled the class on {}",
    "repaired the bicycle of {}", "wrote to the council about {}", "planted {} behind the house", "sang in {}",
)  # fmt: skip
_THINGS: Final = (
    "Lisbon",
    "herons",
    "the choir",
    "twelve",
    "the old bridge",
    "Porto",
    "tulips",
    "glass",
    "winter",
    "Marta",
)


_LINE: Final = re.compile(r'^\[(\w+)\] (.*?)("(?:[^"\\]|\\.)*")$', re.MULTILINE)
_RECORD: Final = re.compile(r"\br\d+\b")


def _did(number: int) -> str:
    return _DEEDS[number % 10].format(_THINGS[(number // 10) % 10])


def entries(count: int) -> list[MemoryEntry]:
    """Return entries as they are mined: short, of several people, a day apart."""
    return [
        MemoryEntry(
            id=f"e{number:05}",
            scope=Scope.default(),
            content=f"{_PEOPLE[number % 5]} {_did(number)}, number {number}.",
            created_at=_NOW - timedelta(hours=7 * (count - number)),
            recorded_at=_NOW,
            last_seen_at=_NOW,
        )
        for number in range(count)
    ]


class ConcludingModel(ScriptedChatClient):
    """Searches as often as it may, then concludes from pairs of what it is shown; as a reader it finds all follows."""

    def __init__(self, *, searches: int) -> None:
        super().__init__([])
        self._searches = searches
        self.asked: list[tuple[str, int]] = []

    async def complete(self, request: ChatRequest) -> Any:
        self.asked.append((request.purpose, sum(estimate_tokens(one.content) for one in request.messages)))
        self._replies = iter([self._answer(request)])
        return await super().complete(request)

    def _answer(self, request: ChatRequest) -> str:
        prompt = request.messages[-1].content
        if request.purpose == VERIFY:
            return _read(prompt)
        looked = sum(purpose == request.purpose for purpose, _ in self.asked) - 1
        if looked < self._searches:
            words = [{"words": f"{person} {looked}"} for person in _PEOPLE[:3]]
            return orjson.dumps({"search": words}).decode()
        named = {person: [] for person in _PEOPLE}
        for line in prompt.splitlines():
            if line.startswith("[e"):
                person = line.partition('"')[2].split()[0]
                named.setdefault(person, []).append(line[1 : line.index("]")])
        if request.purpose == "induction":
            items = [
                {"content": f"{one} keeps to plans.", "pattern": "behavior", "premises": handles[:5], "against": []}
                for one, handles in named.items()
            ]
            return orjson.dumps({"search": [], "patterns": items}).decode()
        items = [
            {"kind": "implication", "content": f"{one} lives near the water.", "premises": handles[:2]}
            for one, handles in named.items()
        ]
        return orjson.dumps({"search": [], "conclusions": items}).decode()


def _read(prompt: str) -> str:
    texts: dict[str, str] = {}
    found: list[dict[str, Any]] = []
    for handle, named, quoted in _LINE.findall(prompt):
        if handle.startswith("r"):
            texts[handle] = orjson.loads(quoted)
            continue
        statement = orjson.loads(quoted)
        is_ours = statement in true_conclusions() or statement.endswith(("near the water.", "to plans."))
        cited = [texts[one] for one in _RECORD.findall(named.partition("(")[0])]
        found.append({"id": handle, "reading": "follows" if is_ours else "may", "quotes": cited})
    return orjson.dumps({"readings": found}).decode()


async def dream(count: int, searches: int) -> tuple[ConcludingModel, float, float, int]:
    """Dream once on so many new entries; return the model, seconds by the wall and of the processor, conclusions."""
    model = ConcludingModel(searches=searches)
    options = DreamOptions(modes={"*": "off", "deduction": "apply", "induction": "apply"})
    options = options.replace(inference={"max_entries": max(2, count)})
    with TemporaryDirectory() as folder:
        builder = AgentHostBuilder(Path(folder), clock=ManualClock(_NOW)).with_memory().with_llm(model)
        async with builder.with_dreaming(options).build() as host:
            await host.storage.write(Scope.default(), lambda unit: unit.entries.add(entries(count)))
            wall, processor = perf_counter(), process_time()
            await host.dreams.run()
            spent = perf_counter() - wall, process_time() - processor
            return model, *spent, await _concluded(host)


async def _concluded(host: Host) -> int:
    return sum(entry.is_conclusion for entry in await host.memory.list(limit=5_000))


async def settle(dependants: int) -> tuple[float, float]:
    """Retire a premise with so many dependants; return seconds by the wall and of the processor."""
    with TemporaryDirectory() as folder:
        storage = SqlStorage(Path(folder) / "a.db", clock=ManualClock(START))
        await storage.start()
        others = [an_entry("p"), *(an_entry(f"q{number}") for number in range(dependants))]
        await storage.write(SCOPE, lambda unit: unit.entries.add(others))
        drawn = [a_deduction(f"c{number}", "p", f"q{number}") for number in range(dependants)]
        await storage.write(SCOPE, lambda unit: unit.entries.add(drawn))
        before = (await storage.read(SCOPE, lambda view: view.entries.get_many(["p"])))[0]
        after = replace(before, status=Status.ARCHIVED, status_reason="Old.", status_at=START)
        wall, processor = perf_counter(), process_time()
        await storage.write(SCOPE, lambda unit: unit.entries.replace([(before, after)]))
        spent = perf_counter() - wall, process_time() - processor
        await storage.stop()
        return spent


async def main() -> None:
    """Print the tables."""
    print("| 50 new entries | calls | prompt tokens | conclusions |\n|---|---|---|---|")
    for searches in (0, 1, 2):
        model, _, _, found = await dream(50, searches)
        print(f"| {searches} rounds of searches each | {len(model.asked)} | {_tokens(model.asked):,} | {found} |")
    # The first dream of a process reads its patterns and lists of words.
    model, wall, processor, _ = await dream(1_000, 0)
    print(f"\n1,000 new entries packed and judged: {wall:.2f} s by the wall, {processor:.2f} s of the processor, "
          f"{len(model.asked)} calls")  # fmt: skip
    wall, processor = await settle(10_000)
    print(f"a premise with 10,000 dependants: {wall:.2f} s by the wall, {processor:.2f} s of the processor")


def _tokens(asked: Sequence[tuple[str, int]]) -> int:
    return sum(tokens for _, tokens in asked)


if __name__ == "__main__":
    asyncio.run(main())
