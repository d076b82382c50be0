"""How much of what else says a fact the search of a forget finds: `python -m tests.bench.forgets`.

Each half of `tests/data/forgets` is one log, so that every fact is looked for among what 100 people said.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentcore import AgentHostBuilder
from agentcore.domain import SourceKind, SourceRef

FOLDER = Path(__file__).parents[1] / "data" / "forgets"
HALVES = {"development": "development.jsonl", "held out": "held-out.jsonl"}
AIMS = {"near-equal": 0.95, "reworded": 0.70, "precision": 0.80}


@dataclass(frozen=True, slots=True)
class Found:
    """What the search found in one half.

    Args:
        there: How many restatements of each kind there are.
        found: How many of them it found.
        wrong: What else it found, by kind.
    """

    there: Counter[str]
    found: Counter[str]
    wrong: Counter[str]

    @property
    def precision(self) -> float:
        """The share of what it found that says the fact."""
        right = self.found.total()
        return right / max(1, right + self.wrong.total())

    def rate(self, kind: str) -> float:
        """The share of the restatements of a kind that it found."""
        return self.found[kind] / self.there[kind]


def cases(half: str) -> list[dict[str, Any]]:
    """Return the lines of a half."""
    return [orjson.loads(line) for line in (FOLDER / HALVES[half]).read_bytes().splitlines()]


async def search(half: str) -> Found:
    """Put a half into one memory, and look for each of its facts."""
    lines = cases(half)
    kinds: dict[str, tuple[int, str]] = {}
    async with AgentHostBuilder(None).with_memory().with_conversation_log().build() as host:

        async def put(number: int, said: dict[str, Any], kind: str) -> str:
            if said["speaker"] == "note":
                record = (await host.memory.remember(said["text"])).id
            else:
                session = f"s{number}"
                turn = await host.conversation.append(
                    session_id=session, role="user", content=said["text"], speaker=said["speaker"]
                )
                record = turn.id
            kinds[record] = (number, kind)
            return record

        facts: list[str] = []
        for number, line in enumerate(lines):
            cited = await put(number, line["cited_turn"], "cited")
            source = SourceRef(SourceKind.TURN, cited)
            facts.append((await host.memory.remember(line["forgotten"], sources=(source,))).id)
            for said in (*line["restatements"], *line["unrelated"]):
                await put(number, said, said["kind"])
        there = Counter(said["kind"] for line in lines for said in line["restatements"])
        found, wrong = Counter[str](), Counter[str]()
        for number, fact in enumerate(facts):
            for one in await host.memory.restatements(fact):
                of, kind = kinds.get(one.id, (-1, "another fact"))
                (found if of == number and kind in there else wrong)[kind] += 1
        return Found(there, found, wrong)


def rows(half: str, found: Found) -> Iterator[str]:
    """Yield the lines that tell what was found in a half."""
    for kind in ("near-equal", "reworded"):
        yield f"| {half} | {kind} found | {found.rate(kind):.1%} of {found.there[kind]} | {AIMS[kind]:.0%} |"
    wrong = ", ".join(f"{count} {kind}" for kind, count in sorted(found.wrong.items()))
    yield f"| {half} | precision | {found.precision:.1%} (wrong: {wrong}) | {AIMS['precision']:.0%} |"


def main() -> None:
    """Print both halves."""
    print("| half | figure | measured | aim |\n|---|---|---|---|")
    for half in HALVES:
        print("\n".join(rows(half, asyncio.run(search(half)))), flush=True)


if __name__ == "__main__":
    main()
