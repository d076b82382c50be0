"""Decay: the pass, the read beneath it, and the arithmetic against a loop.

`python -m tests.bench.decay FOLDER` measures one filled folder in this process.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agentcore import AgentHostBuilder, Decay, Host, Scope
from agentcore.domain import to_micros
from agentcore.stores import ReadView
from tests.bench.figures import Figure, middle
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_PASS = "importance-decay"
_PASS_SECONDS = 1.0
_ARITHMETIC = 40.0
_REPETITIONS = 5
_SLOW_REPETITIONS = 3


async def measure(folder: Path) -> dict[str, Any]:
    """Time runs of the pass alone, reads of the columns, and both ways to compute on what was read."""
    host = AgentHostBuilder(folder).with_memory().with_dreaming().build()
    async with host:
        runs = [await _run(host) for _ in range(_REPETITIONS)]
        reads = [await _read(host) for _ in range(_REPETITIONS)]
        now = host.clock.now()
        base, seen = await host.storage.read(Scope.default(), _columns)
    now_us, decay = to_micros(now), Decay()
    vectors = [_seconds(lambda: decay.values(base, seen, now_us)) for _ in range(_REPETITIONS)]
    loops = [_seconds(lambda: looped(decay, base, seen, now_us)) for _ in range(_SLOW_REPETITIONS)]
    same = bool(np.allclose(decay.values(base, seen, now_us), looped(decay, base, seen, now_us), rtol=0, atol=1e-12))
    return {"runs": runs, "reads": reads, "vectors": vectors, "loops": loops, "entries": len(base), "same": same}


async def _run(host: Host) -> float:
    began = time.perf_counter()
    await host.dreams.run(passes=[_PASS])
    return time.perf_counter() - began


async def _read(host: Host) -> float:
    began = time.perf_counter()
    await host.storage.read(Scope.default(), _columns)
    return time.perf_counter() - began


def _columns(view: ReadView) -> tuple[Any, Any]:
    return view.entries.importance_columns(last_seen_before=view.now - view.decay.grace)


def looped(decay: Decay, base: Any, seen: Any, now_us: int) -> list[Any]:
    """Compute the same one NumPy scalar after the other, as a loop over the columns would."""
    grace, half_life = decay.grace.total_seconds() * 1e6, decay.half_life.total_seconds() * 1e6
    return [
        value
        if value <= decay.floor
        else np.maximum(decay.floor, value * np.exp2(-np.maximum(0, now_us - last - grace) / half_life))
        for value, last in zip(base, seen, strict=True)
    ]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def figures(stores: Stores) -> list[Figure]:
    """Measure in a process of its own."""
    size = 10_000 if stores.quick else 1_000_000
    with stores.copied(size) as folder:
        measured = fresh("decay", folder)
    if not measured["same"]:
        raise RuntimeError("the loop and the vectors disagree")
    entries = measured["entries"]
    ratio = min(measured["loops"]) / min(measured["vectors"])
    return [
        middle(f"decay pass over {size:,} entries, run alone", measured["runs"], "s", most=_PASS_SECONDS),
        middle(f"- the read beneath it ({entries:,} past their grace)", measured["reads"], "s"),
        middle(f"- the arithmetic on {entries:,} entries", [one * 1e3 for one in measured["vectors"]], "ms"),
        middle("- the same in a loop over NumPy scalars", [one * 1e3 for one in measured["loops"]], "ms"),
        Figure("- loop against arithmetic, best of each", ratio, "x", least=_ARITHMETIC),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
