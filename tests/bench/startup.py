"""What starting costs: the import, the command, the host, the first recall.

`python -m tests.bench.startup FOLDER` opens one filled folder in this process.
"""

import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.figures import Figure, middle
from tests.bench.processes import answer, fresh, run
from tests.bench.stores import Stores

_SIZE = 10_000
_REPETITIONS = 10
_IMPORT = "from agentcore import AgentHostBuilder"
_QUESTION = "where did they go hiking with the children last summer"

_IMPORT_MS = 300.0
_STATUS_MS = 700.0
_OPEN_MS = 400.0
_RECALL_MS = 500.0


async def measure(folder: Path) -> dict[str, Any]:
    """Build and open a host on the folder, and ask it once."""
    # Imported here, so that building pays for what it imports and nothing else.
    from agentcore import AgentHostBuilder  # noqa: PLC0415

    began = time.perf_counter()
    host = AgentHostBuilder(folder).with_memory().with_dreaming().build()
    async with host:
        opened = time.perf_counter()
        hits = await host.memory.recall(_QUESTION)
        recalled = time.perf_counter()
        await host.memory.recall(_QUESTION)
        again = time.perf_counter()
    if not hits:
        raise RuntimeError("recall found nothing")
    return {"open": opened - began, "recall": recalled - opened, "again": again - recalled}


def figures(stores: Stores) -> list[Figure]:
    """Start everything ten times."""
    with stores.copied(_SIZE) as folder:
        told = ("-m", "dream", "--data", folder, "status")
        for warming in (("-c", _IMPORT), told):
            run(*warming)
        fresh("startup", folder)
        bare: list[float] = []
        imported: list[float] = []
        status: list[float] = []
        hosts: list[dict[str, Any]] = []
        for _ in range(_REPETITIONS):
            bare.append(_wall_ms("-c", "pass"))
            imported.append(_wall_ms("-c", _IMPORT))
            status.append(_wall_ms(*told))
            hosts.append(fresh("startup", folder))
    taken = {name: [host[name] * 1e3 for host in hosts] for name in ("open", "recall", "again")}
    return [
        Figure("bare Python", median(bare), "ms"),
        Figure(f"`{_IMPORT}`, more than that", median(imported) - median(bare), "ms", most=_IMPORT_MS),
        middle(f"`dream status` on {_SIZE:,} entries", status, "ms", most=_STATUS_MS),
        middle(f"host built and opened on {_SIZE:,} entries", taken["open"], "ms", most=_OPEN_MS),
        middle("- first recall after it", taken["recall"], "ms", most=_RECALL_MS),
        middle("- second recall", taken["again"], "ms"),
    ]


def _wall_ms(*arguments: object) -> float:
    began = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - began) * 1e3


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
