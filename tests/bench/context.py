"""What it costs a turn to be given its context, and a question its filter.

`python -m tests.bench.context FOLDER` replays the example conversation on a filled folder in this process and reports
milliseconds per turn, and per filtered and unfiltered recall.
"""

import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson

from agentcore import AgentHostBuilder
from agentcore.domain import Purpose
from tests.bench.figures import Figure, quantile
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_SIZES = (10_000, 100_000)
_TALK = Path(__file__).parents[2] / "docs/examples/conversation.jsonl"
_BUDGET = 1_000
_TURNS = 300
_WARM = 10
_RARE = "bench/rare"


async def measure(folder: Path) -> dict[str, Any]:
    """Talk, each turn with its context; then ask the same with a filter and without."""
    said = [orjson.loads(line) for line in _TALK.read_bytes().splitlines()]
    texts = [str(said[place % len(said)]["content"]) for place in range(_TURNS)]
    host = AgentHostBuilder(folder).with_memory().with_conversation_log().with_skills().build()
    async with host:
        await host.memory.remember_many([f"A rare note on {text}"[:200] for text in texts[:20]], category=_RARE)
        turns: list[float] = []
        tokens: list[int] = []
        for place, text in enumerate(texts):
            began = time.perf_counter()
            given = await host.context.for_turn(f"talk {place // 50}", text, budget_tokens=_BUDGET)
            turns.append((time.perf_counter() - began) * 1e3)
            tokens.append(given.tokens)
            await host.conversation.append(session_id=f"talk {place // 50}", role="user", content=text)
        plain = await _timed(texts, lambda text: host.memory.recall(text, purpose=Purpose.PREVIEW))
        rare = await _timed(texts, lambda text: host.memory.recall(text, purpose=Purpose.PREVIEW, category=_RARE))
        said_before = await _timed(texts, host.conversation.recall)
    if max(tokens) > _BUDGET or not any(tokens):
        raise AssertionError(f"The budget of {_BUDGET} was not kept or not used: {max(tokens)}")
    return {"turn": turns[_WARM:], "plain": plain, "rare": rare, "said": said_before}


async def _timed(texts: list[str], ask: Callable[[str], Awaitable[object]]) -> list[float]:
    taken: list[float] = []
    for text in texts:
        began = time.perf_counter()
        await ask(text)
        taken.append((time.perf_counter() - began) * 1e3)
    return taken[_WARM:]


def figures(stores: Stores) -> list[Figure]:
    """Measure on each size in a process of its own."""
    found: list[Figure] = []
    for size in _SIZES[: 1 if stores.quick else None]:
        with stores.copied(size) as folder:
            taken = fresh("context", folder)
        names = {
            "turn": f"context of a turn, {size:,} entries, {_BUDGET:,} tokens",
            "plain": f"recall, {size:,} entries",
            "rare": "- with a filter that admits 20 of them",
            "said": f"recall of turns, {_TURNS} of them",
        }
        for name, what in names.items():
            found += [Figure(f"{what}: {100 * share:g} %", quantile(taken[name], share), "ms") for share in (0.5, 0.99)]
    return found


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
