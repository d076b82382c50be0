"""Kills a dream at random instants and looks at what is left: `python -m tests.bench.kill [POINTS] [SEED]`.

A server process imports everything once and forks for each dream, so that a kill costs little more than the dream.
Every victim dreams on a copy of one store and is ended by SIGKILL after a random part of the time a whole dream
takes; then another dream goes on. What that leaves must be, byte for byte, what an uninterrupted dream leaves.
"""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentcore import AgentHostBuilder
from agentcore.domain.memory import MemoryEntry
from agentcore.domain.scope import Scope
from agentcore.hosting.host import Host
from agentcore.testing import SequentialIds
from dream.interfaces.exchange.export import export_file

AS_OF = datetime(2025, 6, 14, 9, tzinfo=UTC)
ENTRIES = 300
_STEP = 8


@dataclass(frozen=True)
class Deaths:
    """What the kills came to: how far the victims got, and what was wrong afterwards."""

    points: int
    met: Counter[str]
    wrong: list[str]


def host(folder: Path) -> Host:
    """A host on *folder* whose dreams take many small steps."""
    builder = AgentHostBuilder(folder).with_memory()
    return builder.with_dreaming(lambda options: options.replace(step_size=_STEP)).build()


async def fill(folder: Path) -> None:
    """Store texts of which every third is a copy of another."""
    ids = SequentialIds("entry")

    def entry(number: int) -> MemoryEntry:
        said = AS_OF - timedelta(days=number % 90, minutes=number)
        text = f"Note {number % 200} says that the {('depot', 'clinic', 'school')[number % 3]} opens at {number % 24}"
        return MemoryEntry(
            id=ids.new(), scope=Scope.default(), content=text, created_at=said, recorded_at=AS_OF, last_seen_at=said
        )

    entries = [entry(number) for number in range(200)]
    copies = [replace(entry(number), own_count=1 + number % 4) for number in range(ENTRIES - 200)]
    async with host(folder) as opened:
        await opened.storage.write(Scope.default(), lambda unit: unit.entries.add([*entries, *copies]))


async def dream(folder: Path) -> None:
    """Go on with what was interrupted, and dream."""
    async with host(folder) as opened:
        await opened.dreams.run(now=AS_OF)


async def export(folder: Path) -> bytes:
    """Return everything the store holds."""
    target = folder / "export.jsonl"
    async with host(folder) as opened:
        await export_file(opened.storage, Scope.default(), target)
    return target.read_bytes()


def serve() -> None:
    """Fork a dream per line `FOLDER SECONDS`, kill it after so long, and say what became of it."""
    for line in sys.stdin:
        folder, seconds = line.rsplit(" ", 1)
        began = time.perf_counter()
        child = os.fork()
        if child == 0:
            asyncio.run(dream(Path(folder)))
            os._exit(0)
        met = "finished"
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if float(seconds) and time.perf_counter() - began > float(seconds):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                met = "killed"
                break
            time.sleep(0.0005)
        print(met, time.perf_counter() - began, flush=True)


class Executioner:
    """A server of dreams that do not end well; lives as long as the context `executioner`."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, folder: Path, seconds: float = 0.0) -> tuple[str, float]:
        """Dream on *folder*, killed after *seconds* unless that is 0; return what happened and how long it took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("The server has no pipes: start it with executioner().")
        self._process.stdin.write(f"{folder} {seconds}\n")
        self._process.stdin.flush()
        met, took = self._process.stdout.readline().split()
        return met, float(took)


@contextmanager
def executioner() -> Iterator[Executioner]:
    """Start the server, and end it with the context."""
    command = [sys.executable, "-m", "tests.bench.kill", "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Executioner(process)
        finally:
            process.kill()


def kill_often(points: int, seed: int, place: Path) -> Deaths:
    """Kill *points* dreams and compare what each leaves, once another went on, with an uninterrupted one."""
    chance = random.Random(seed)
    template = place / "template"
    asyncio.run(fill(template))
    met: Counter[str] = Counter()
    wrong: list[str] = []
    with executioner() as server:
        whole = shutil.copytree(template, place / "whole")
        server.run(whole)
        expected = asyncio.run(export(whole))
        timed = shutil.copytree(template, place / "timed")
        _, usual = server.run(timed)
        for point in range(points):
            folder = shutil.copytree(template, place / f"victim-{point}")
            fate, took = server.run(folder, seconds=chance.uniform(0.02, usual))
            met[fate] += 1
            server.run(folder)
            if asyncio.run(export(folder)) != expected:
                wrong.append(f"point {point} ({fate} after {took * 1000:.0f} ms): another store")
            wrong += [f"point {point}: {problem}" for problem in unsound(folder)]
            shutil.rmtree(folder)
    return Deaths(points, met, wrong)


def unsound(folder: Path) -> list[str]:
    """Return what the database itself finds wrong."""
    with closing(sqlite3.connect(folder / "agentcore.db")) as connection:
        integrity = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        dangling = [str(row) for row in connection.execute("PRAGMA foreign_key_check")]
        doubled = connection.execute(
            "SELECT record_id FROM journal GROUP BY run_id, record_id, number HAVING count(*) > 1",
        )
        return integrity + dangling + [f"{row[0]} is in the journal twice" for row in doubled]


def main(points: int, seed: int) -> int:
    """Print what *points* kills came to; 1 if anything was lost or doubled."""
    with tempfile.TemporaryDirectory() as place:
        began = time.perf_counter()
        deaths = kill_often(points, seed, Path(place))
    print("| points | killed under way | finished first | lost or doubled | seconds |\n|---|---|---|---|---|")
    print(
        f"| {deaths.points} | {deaths.met['killed']} | {deaths.met['finished']} | {len(deaths.wrong)} "
        f"| {time.perf_counter() - began:.0f} |"
    )
    print(*deaths.wrong, sep="\n")
    return 1 if deaths.wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        sys.exit(main(*(int(argument) for argument in (sys.argv[1:] + ["500", "7"][len(sys.argv) - 1 :]))))
