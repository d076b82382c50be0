"""What a start costs: modules imported and processor time of the commonest commands, and of a host built and opened.

Processor time is of the whole process, from its beginning to its end, so a busy machine disturbs it less than the wall
clock; it still does by some tens of percent, which is why a bare Python stands beside it. Bytecode is written to a
folder of its own and read from there, so that neither tree pays for compiling and neither is written to.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

_REPETITIONS = 5

_FILL = """
import asyncio, sys
from agentcore import AgentHostBuilder
async def main():
    async with AgentHostBuilder(sys.argv[1]).with_memory().with_dreaming(in_background=False).build() as host:
        await host.memory.remember_many([f"Ana keeps {n} bees in Sintra" for n in range(20)], category="people/ana")
asyncio.run(main())
"""
_OPEN = """
import asyncio, sys
from agentcore import AgentHostBuilder
async def main():
    async with AgentHostBuilder(sys.argv[1]).with_memory().with_dreaming().build():
        pass
asyncio.run(main())
"""
_COUNT = """
import atexit, sys
atexit.register(lambda: print(len(sys.modules), sum(name.partition(".")[0] in ("agentcore", "dream") for name in
    sys.modules), file=sys.stderr))
"""
_COMMAND = """
import runpy, sys
sys.argv[:1] = ["dream"]
runpy.run_module("dream", run_name="__main__", alter_sys=True)
"""

Start = dict[str, float]


def starts(root: Path) -> dict[str, Start]:
    """Start each of them some times, in turns, on a small store of the tree at *root*."""
    with tempfile.TemporaryDirectory() as place:
        store = str(Path(place) / "store")
        home = _Home(root, Path(place))
        home.run("-c", _FILL, store)
        kinds = {
            "bare Python": ("pass", ()),
            "dream --help": (_COMMAND, ("--help",)),
            "dream --version": (_COMMAND, ("--version",)),
            "dream status": (_COMMAND, ("--data", store, "status")),
            "dream memories": (_COMMAND, ("--data", store, "memories")),
            "dream recall x": (_COMMAND, ("--data", store, "recall", "x")),
            "a host built, opened and closed": (_OPEN, (store,)),
        }
        counted = {name: home.modules(code, told) for name, (code, told) in kinds.items()}
        seconds: dict[str, list[float]] = {name: [] for name in kinds}
        for _ in range(_REPETITIONS):
            for name, (code, told) in kinds.items():
                seconds[name].append(home.run("-c", code, *told)[0])
    return {
        name: {
            "modules": counted[name][0],
            "own modules": counted[name][1],
            "seconds": round(median(taken), 3),
            "least seconds": round(min(taken), 3),
        }
        for name, taken in seconds.items()
    }


class _Home:
    """Starts processes that see one tree, their own bytecode, and nothing of the person's settings."""

    def __init__(self, root: Path, place: Path) -> None:
        settings = ("AGENTCORE_", "DREAM_", "PYTHON", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
        own = {"PYTHONPATH": str(root), "PYTHONPYCACHEPREFIX": str(place / "bytecode"), "HOME": str(place)}
        self._environment = kept | own
        self._place = place

    def modules(self, code: str, told: Sequence[str]) -> tuple[int, int]:
        """Return how many modules stand imported at the end, and how many of them are the project's."""
        _, errors = self.run("-c", _COUNT + code, *told)
        everything, own = errors.splitlines()[-1].split()
        return int(everything), int(own)

    def run(self, *told: str) -> tuple[float, str]:
        """Return the processor seconds of a process, and what it wrote to standard error."""
        with tempfile.TemporaryFile("w+") as errors:
            command = (sys.executable, "-P", *told)
            started = subprocess.Popen(
                command, cwd=self._place, env=self._environment, stdout=subprocess.DEVNULL, stderr=errors
            )
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            said = errors.read()
        if started.returncode:
            raise SystemExit(f"{' '.join(told[2:])} ended with {started.returncode}: {said}")
        return used.ru_utime + used.ru_stime, said
