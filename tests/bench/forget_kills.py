"""Kills a process that forgets, erases, backs up or undoes: `python -m tests.bench.forget_kills --times 200`.

After each kill a host opens the folder. Either nothing was forgotten or all of it, to the last byte of every file; a
backup is whole or not there; what an undo leaves is what was before it or what is after it, to the byte.
"""

import argparse
import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from agentcore import AgentHostBuilder, Host
from agentcore.clock import SystemClock
from agentcore.domain import Scope, SourceKind, SourceRef
from agentcore.ids import RandomIds
from agentcore.stores.sql.backup import backup_folder, examined
from dream.interfaces.exchange import export_scope, import_file
from dream.options import DreamOptions, SchedulingOptions

ANA, BEN, EVA = (Scope("acme", "agent", name) for name in ("ana", "ben", "eva"))
ENTRIES = 3_000
SECRET = "zymurgist"
DEEDS = ("forget", "erase", "backup", "undo")
FOLDED = 60
BY_HAND = DreamOptions(schedule=SchedulingOptions(enabled=False))


def built(folder: Path) -> Host:
    """Return a host of the folder."""
    return AgentHostBuilder(folder).with_memory().with_conversation_log().with_feedback().with_dreaming(BY_HAND).build()


@dataclass(frozen=True)
class Kept:
    """What exports hold that no kill may change: of Ben, and of Eva before and after the undo of her dream."""

    ben: bytes
    dreamt: bytes
    undone: bytes


async def fill(folder: Path) -> Kept:
    """Fill a folder with three scopes; one of them has dreamt, of the others one is to stay as it is."""
    async with built(folder) as host:
        for scope in (ANA, BEN):
            here = host.for_scope(scope)
            await here.memory.remember_many([f"Fact {number} of {scope.observed}." for number in range(ENTRIES)])
        here = host.for_scope(ANA)
        turn = await here.conversation.append(session_id="s", role="user", content=f"I am a {SECRET}.")
        await here.memory.remember(f"Ana is a {SECRET}.", sources=(SourceRef(SourceKind.TURN, turn.id),))
        twice = folder / "twice.md"
        twice.write_text("".join(f"- Eva knows fact {number}.\n" for number in range(FOLDED)) * 2)
        await import_file(host.storage, EVA, twice, clock=SystemClock(), ids=RandomIds())
        twice.unlink()
        eva = host.for_scope(EVA)
        undone = await exported(host, EVA)
        await eva.dreams.run(passes=["exact-fold"])
        return Kept(await exported(host, BEN), await exported(host, EVA), undone)


async def exported(host: Host, scope: Scope) -> bytes:
    """Return the export of a scope."""
    lines: list[bytes] = []
    await export_scope(host.storage, scope, lines.append)
    return b"".join(lines)


async def do(folder: Path, deed: str) -> None:
    """Forget the secret, erase its scope, back up, or undo Eva's dream; told on stdout when it begins."""
    async with built(folder) as host:
        (dreamt,) = await host.for_scope(EVA).dreams.runs()
        memory = host.for_scope(ANA).memory
        (hit,) = await memory.recall(SECRET)
        print("begun", flush=True)
        if deed == "erase":
            await host.erase(ANA)
        elif deed == "backup":
            await host.backup()
        elif deed == "undo":
            await host.for_scope(EVA).dreams.undo(dreamt.run_id)
        else:
            await memory.forget(hit.entry.id)


async def judged(folder: Path, deed: str, kept: Kept) -> str:
    """Open the folder and tell whether nothing or all of it happened; AssertionError if it is anything between."""
    async with built(folder) as host:
        assert await exported(host, BEN) == kept.ben
        eva = await exported(host, EVA)
        assert eva in {kept.dreamt, kept.undone}, (deed, _differences(eva, kept))
        memory = host.for_scope(ANA).memory
        count, found = await memory.count(status=None), bool(await memory.recall(SECRET))
        said = await host.for_scope(ANA).conversation.recall(SECRET)
        whole = (count, found, bool(said)) == (ENTRIES + 1, True, True)
        gone = (count, found, said) == (0 if deed == "erase" else ENTRIES, False, [])
        assert whole or gone, (deed, count, found, len(said))
    copies = [*backup_folder(folder).glob("*.agentcore-backup.db")]
    assert all(examined(one).entries == 2 * ENTRIES + 1 + 2 * FOLDED for one in copies)
    if gone:
        assert _holding(folder) == []
    done = {"backup": bool(copies), "undo": eva == kept.undone}.get(deed, gone)
    return f"{deed}: {'all of it' if done else 'nothing of it'}"


def _differences(eva: bytes, kept: Kept) -> list[list[bytes]]:
    """Return the lines that neither what was before an undo nor what is after it has."""
    lines = set(eva.splitlines())
    return [sorted(lines.symmetric_difference(one.splitlines()))[:4] for one in (kept.dreamt, kept.undone)]


def _holding(folder: Path) -> list[str]:
    """Return the files that still hold the secret."""
    return [path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def kill_once(filled: Path, deed: str, kept: Kept, after: float) -> str:
    """Have a process do it on a copy of the folder, kill it, and judge what is left."""
    with tempfile.TemporaryDirectory(prefix="forget-kill-") as temporary:
        folder = Path(temporary) / "data"
        shutil.copytree(filled, folder)
        command = [sys.executable, "-m", "tests.bench.forget_kills", "--do", deed, "--folder", str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(after)
            os.kill(process.pid, signal.SIGKILL)
        return asyncio.run(judged(folder, deed, kept))


def kills(times: int, seed: int = 1, longest: float = 0.5) -> Counter[str]:
    """Kill so many processes, at instants that *seed* chooses; return what was left how often.

    Args:
        times: How many.
        seed: What the chance begins with.
        longest: Seconds within which a process is killed once it has begun: more on a machine that is busy.
    """
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="forget-kills-") as temporary:
        filled = Path(temporary) / "filled"
        kept = asyncio.run(fill(filled))
        found: Counter[str] = Counter()
        for number in range(times):
            deed = DEEDS[number % len(DEEDS)]
            found[kill_once(filled, deed, kept, chosen.uniform(0, longest))] += 1
        return found


def main() -> None:
    """Kill as often as was asked for, and print what was left."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.forget_kills")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.5)
    parser.add_argument("--do", choices=DEEDS)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.do is not None:
        asyncio.run(do(asked.folder, asked.do))
        return
    for what, count in sorted(kills(asked.times, asked.seed, asked.longest).items()):
        print(f"{what}: {count}")


if __name__ == "__main__":
    main()
