"""Throws random and mutated answers at the passes that ask a model: `python -m tests.bench.fuzz [--answers N]`.

Each answer goes through extraction, the pass and the step writer of a real store, and is then taken back. Two things
are counted that must not happen: an exception, and a change that nothing supports (`tests/dream/unsupported.py`).
"""

import argparse
import asyncio
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.bench.fuzz_documents import documented
from tests.bench.fuzz_passes import PREPARES
from tests.bench.fuzz_tables import Findings, tables

_ABOUT = {"memories": (), "others": PREPARES, "documents": (documented,)}
_TABLES = 20
_PART = 2_000


async def fuzzed(seed: int, answers: int, about: str = "memories") -> Findings:
    """Judge so many answers, in turn about each of several batches; the same for the same seed."""
    findings = Findings()
    prepares = _ABOUT[about]
    async with tables(seed, min(_TABLES, max(5, len(prepares), answers // 50)), prepares) as found:
        sources = [table.answers(seed * 1_000 + place) for place, table in enumerate(found)]
        for number in range(answers):
            place = number % len(found)
            await found[place].judge(sources[place].next(), findings)
    return findings


def part(task: tuple[int, int, str]) -> Findings:
    """Judge a part in a process of its own."""
    return asyncio.run(fuzzed(*task))


def together(parts: list[Findings]) -> Findings:
    """Add up what several processes found."""
    whole = Findings(codes=sum((one.codes for one in parts), Counter[str]()))
    for name in ("answers", "read", "applied", "changes"):
        setattr(whole, name, sum(getattr(one, name) for one in parts))
    whole.unsupported = [fault for one in parts for fault in one.unsupported]
    whole.errors = [error for one in parts for error in one.errors]
    return whole


def main() -> None:
    """Print what became of the answers; exit with 1 if anything happened that must not."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fuzz", description=__doc__)
    parser.add_argument("--answers", type=int, default=100_000, help="how many (default 100,000)")
    parser.add_argument("--seed", type=int, default=7, help="what they follow from (default 7)")
    parser.add_argument("--processes", type=int, default=2)
    what = "facts and memories (the default), episodes, preferences, skills and wisps, or MEMORY.md"
    parser.add_argument("--about", choices=tuple(_ABOUT), default="memories", help=what)
    asked = parser.parse_args()
    sizes = [min(_PART, asked.answers - start) for start in range(0, asked.answers, _PART)]
    began = time.perf_counter()
    parts: list[Findings] = []
    with ProcessPoolExecutor(asked.processes) as pool:
        for one in pool.map(part, [(asked.seed + place, size, asked.about) for place, size in enumerate(sizes)]):
            parts.append(one)
            print(f"{sum(done.answers for done in parts):,} answers", file=sys.stderr, flush=True)
    whole = together(parts)
    seconds = time.perf_counter() - began
    print(f"| answers | {whole.answers:,} in {seconds:.0f} s, seed {asked.seed} |\n|---|---|")
    print(f"| JSON objects among them | {whole.read:,} |")
    print(f"| with changes that a pass proposed | {whole.applied:,} |\n| records changed | {whole.changes:,} |")
    for code, count in sorted(whole.codes.items()):
        print(f"| {code} | {count:,} |")
    print(f"| exceptions | {len(whole.errors)} |\n| unsupported changes | {len(whole.unsupported)} |")
    for told in (whole.errors + whole.unsupported)[:20]:
        print(told, file=sys.stderr)
    sys.exit(bool(whole.errors or whole.unsupported))


if __name__ == "__main__":
    main()
