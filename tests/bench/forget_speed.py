"""How long a forget takes as more is stored: `python -m tests.bench.forget_speed --entries 1000 100000`.

Each entry cites a turn of its own and keeps the sentence that it rests on. The search for what else says it is apart.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from agentcore import AgentHostBuilder, Host
from agentcore.domain import Evidence, EvidenceVerdict, MemoryEntry, Scope, SourceKind, SourceRef, Turn
from agentcore.stores.storage import UnitOfWork

NOON = datetime(2025, 6, 1, 12, tzinfo=UTC)
_AT_ONCE = 2_000
_BOATS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove")
_PIERS = ("haven", "inlet", "jetty", "knoll", "larch", "moor", "nook", "ocean", "quay", "reef", "sound")


async def filled(host: Host, count: int) -> None:
    """Store so many turns, and an entry for each."""
    for begin in range(0, count, _AT_ONCE):
        numbers = range(begin, min(count, begin + _AT_ONCE))
        await host.storage.write(Scope.default(), partial(_add, numbers=numbers))


def _add(unit: UnitOfWork, numbers: range) -> None:
    unit.turns.add([_turn(number) for number in numbers])
    unit.entries.add([_entry(number) for number in numbers])


def _fact(number: int) -> str:
    boat, pier = _BOATS[number % len(_BOATS)], _PIERS[number % len(_PIERS)]
    return f"Person {number} keeps a {boat} boat number {number * 7} at the {pier} pier"


def _turn(number: int) -> Turn:
    at = NOON + timedelta(seconds=number)
    said = f"{_fact(number)}. We talked about the weather too."
    given = {"id": f"t{number}", "scope": Scope.default(), "session_id": f"s{number // 20}", "role": "user"}
    return Turn(content=said, occurred_at=at, recorded_at=at, **given)


def _entry(number: int) -> MemoryEntry:
    at = NOON + timedelta(seconds=number)
    source = SourceRef(SourceKind.TURN, f"t{number}")
    piece = Evidence(source=source, sentence=f"{_fact(number)}.", said_at=at, verdict=EvidenceVerdict.PROVEN)
    new = MemoryEntry(id=f"e{number:08}", scope=Scope.default(), content=f"{_fact(number)} since spring", **_dates(at))
    return replace(new, sources=(source,), evidence=(piece,))


def _dates(at: datetime) -> dict[str, datetime]:
    return {"created_at": at, "recorded_at": at, "last_seen_at": at}


async def measured(folder: Path, count: int, times: int) -> list[float]:
    """Return the seconds of each forget, in a folder of so many entries."""
    async with AgentHostBuilder(folder).with_memory().with_conversation_log().build() as host:
        await filled(host, count)
        taken: list[float] = []
        for number in range(times + 1):
            begun = time.perf_counter()
            await host.memory.forget(f"e{(number + 1) * (count // (times + 2)):08}")
            taken.append(time.perf_counter() - begun)
        return taken[1:]


def main() -> None:
    """Print the median of each size, and how many times the first it is."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.forget_speed")
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--times", type=int, default=9)
    options = parser.parse_args()
    first = 0.0
    print("| entries and turns | forget, median | least to most | times the first |\n|---|---|---|---|")
    for count in options.entries:
        with tempfile.TemporaryDirectory(prefix="forget-speed-") as temporary:
            taken = asyncio.run(measured(Path(temporary) / "data", count, options.times))
        middle = statistics.median(taken) * 1000
        first = first or middle
        least, most = min(taken) * 1000, max(taken) * 1000
        print(f"| {count:,} | {middle:.1f} ms | {least:.1f} to {most:.1f} ms | {middle / first:.1f} |", flush=True)


if __name__ == "__main__":
    main()
