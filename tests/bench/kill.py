"""Kills dreams and undos at random points: `python -m tests.bench.kill [POINTS] [SEED]` prints what came of it.

The machinery, and what has to be true of a store whose process was killed, stand in `tests/dream/processes/killing.py`,
which the suite uses for fewer points.
"""

import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.dream.processes.killing import Death, ForkServer, Grave, fork_server

_SHARES = {"dream": 0.7, "undo": 0.3}


@dataclass(frozen=True)
class Row:
    """What the kills of one kind of work came to."""

    work: str
    statements: int
    deaths: list[Death]

    def cells(self) -> list[str]:
        """The row of the table."""
        at_statement = [death for death in self.deaths if death.statement is not None]
        return [
            self.work,
            str(self.statements),
            str(len(self.deaths)),
            str(len(at_statement)),
            str(sum(death.was_killed for death in self.deaths)),
            str(sum(bool(death.faults) for death in self.deaths)),
            f"{1_000 * median(death.seconds for death in self.deaths):.0f}",
        ]


_HEAD = ["work", "statements", "points", "at a statement", "killed under way", "lost or doubled", "ms per point"]


def killed(server: ForkServer, work: str, points: int, seed: int) -> Row:
    """Kill one kind of work at so many points."""
    with tempfile.TemporaryDirectory() as folder:
        grave = Grave(server, Path(folder), work=work)
        chance = random.Random(f"{work} {seed}")
        return Row(work, grave.truth.statements, [grave.kill_somewhere(chance) for _ in range(points)])


def main(points: int, seed: int) -> int:
    """Print a table; 1 if anything was lost or doubled."""
    began = time.perf_counter()
    with fork_server() as server:
        rows = [killed(server, work, round(share * points), seed) for work, share in _SHARES.items()]
    for cells in (_HEAD, ["---"] * len(_HEAD), *(row.cells() for row in rows)):
        print(f"| {' | '.join(cells)} |")
    faults = [death for row in rows for death in row.deaths if death.faults]
    print(f"\nSeed {seed}, {time.perf_counter() - began:.0f} s.", *faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    asked = [int(argument) for argument in sys.argv[1:]]
    sys.exit(main(*(asked + [500, 7][len(asked) :])))
