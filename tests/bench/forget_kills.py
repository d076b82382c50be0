"""Kills a process that forgets or erases, again and again: `python -m tests.bench.forget_kills --times 200`.

After each kill a host opens the folder, and either nothing was forgotten or all of it, to the last byte of every file.
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
from pathlib import Path

from agentcore import AgentHostBuilder, Host
from agentcore.domain import Scope, SourceKind, SourceRef
from dream.interfaces.exchange import export_scope

ANA, BEN = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben")
ENTRIES = 3_000
SECRET = "zymurgist"
DEEDS = ("forget", "erase")
_LONGEST = 1.5
"""Seconds within which a process is killed once it has begun."""


def built(folder: Path) -> Host:
    """Return a host of the folder."""
    return AgentHostBuilder(folder).with_memory().with_conversation_log().with_feedback().build()


async def fill(folder: Path) -> bytes:
    """Fill a folder with two scopes; return the export of the one that stays."""
    async with built(folder) as host:
        for scope in (ANA, BEN):
            here = host.for_scope(scope)
            await here.memory.remember_many([f"Fact {number} of {scope.observed}." for number in range(ENTRIES)])
        here = host.for_scope(ANA)
        turn = await here.conversation.append(session_id="s", role="user", content=f"I am a {SECRET}.")
        await here.memory.remember(f"Ana is a {SECRET}.", sources=(SourceRef(SourceKind.TURN, turn.id),))
        return await exported(host, BEN)


async def exported(host: Host, scope: Scope) -> bytes:
    """Return the export of a scope."""
    lines: list[bytes] = []
    await export_scope(host.storage, scope, lines.append)
    return b"".join(lines)


async def do(folder: Path, deed: str) -> None:
    """Forget the secret, or erase its scope; told on stdout when it begins."""
    async with built(folder) as host:
        print("begun", flush=True)
        if deed == "erase":
            await host.erase(ANA)
        else:
            memory = host.for_scope(ANA).memory
            (hit,) = await memory.recall(SECRET)
            await memory.forget(hit.entry.id)


async def judged(folder: Path, deed: str, kept: bytes) -> str:
    """Open the folder and tell whether nothing or all of it happened; AssertionError if it is anything between."""
    async with built(folder) as host:
        assert await exported(host, BEN) == kept
        memory = host.for_scope(ANA).memory
        count, found = await memory.count(status=None), bool(await memory.recall(SECRET))
        said = await host.for_scope(ANA).conversation.recall(SECRET)
        whole = (count, found, bool(said)) == (ENTRIES + 1, True, True)
        gone = (count, found, said) == (0 if deed == "erase" else ENTRIES, False, [])
        assert whole or gone, (deed, count, found, len(said))
    if gone:
        assert _holding(folder) == []
    return f"{deed}: {'all of it' if gone else 'nothing of it'}"


def _holding(folder: Path) -> list[str]:
    """Return the files that still hold the secret."""
    return [path.name for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def kill_once(filled: Path, deed: str, kept: bytes, after: float) -> str:
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


def kills(times: int, seed: int = 1) -> Counter[str]:
    """Kill so many processes, at instants that *seed* chooses; return what was left how often."""
    chosen = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="forget-kills-") as temporary:
        filled = Path(temporary) / "filled"
        kept = asyncio.run(fill(filled))
        found: Counter[str] = Counter()
        for number in range(times):
            deed = DEEDS[number % len(DEEDS)]
            found[kill_once(filled, deed, kept, chosen.uniform(0, _LONGEST))] += 1
        return found


def main() -> None:
    """Kill as often as was asked for, and print what was left."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.forget_kills")
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--do", choices=DEEDS)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    if asked.do is not None:
        asyncio.run(do(asked.folder, asked.do))
        return
    for what, count in sorted(kills(asked.times, asked.seed).items()):
        print(f"{what}: {count}")


if __name__ == "__main__":
    main()
