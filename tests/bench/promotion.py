"""Promotion: a sweep over many candidates and all the recalls they had.

`python -m tests.bench.promotion FOLDER` measures one filled folder in this process.
"""

import resource
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, select

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import to_micros
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlUnit, entries, recall_hits
from tests.bench.figures import Figure, middle
from tests.bench.processes import answer, fresh
from tests.bench.stores import Stores

_SECONDS = 2.0
_MEGABYTES = 500.0
_HITS = 10
"""Recalls for each entry, on average."""
_AT_ONCE = 50_000
_REPETITIONS = 5


async def measure(folder: Path) -> dict[str, Any]:
    """Fill in recalls, and time what a sweep does before it writes anything."""
    host = AgentHostBuilder(folder).with_memory().with_dreaming().build()
    async with host:
        candidates = await host.memory.count()
        for _ in range(candidates * _HITS // _AT_ONCE):
            await host.storage.write(Scope.default(), _recall)
        before = _memory()
        runs = [await _sweep(host) for _ in range(_REPETITIONS)]
        standing = await host.dreams.promotion(limit=1)
        hits = await host.storage.read(Scope.default(), lambda view: view.recall_hits.count())
    return {"runs": runs, "megabytes": _memory() - before, "recalled": standing.recalled, "hits": hits}


async def _sweep(host: Host) -> float:
    began = time.perf_counter()
    await host.dreams.promotion(limit=1)
    return time.perf_counter() - began


def _recall(unit: UnitOfWork) -> None:
    """Have random entries recalled by random queries over thirty days."""
    assert isinstance(unit, SqlUnit)
    connection, scope_id = unit.transaction.connection, unit.transaction.scope_id
    ids = connection.execute(select(entries.c.id).where(entries.c.scope_id == scope_id)).scalars().all()
    chance = np.random.default_rng(unit.recall_hits.count())
    now, month = to_micros(unit.now), timedelta(days=30) // timedelta(microseconds=1)
    rows = [
        {
            "scope_id": scope_id,
            "entry_id": ids[entry],
            "query": f"{query:032x}",
            "score": 1.0,
            "rank": rank,
            "recalled_at": now - ago,
        }
        for entry, query, rank, ago in zip(
            chance.integers(0, len(ids), _AT_ONCE).tolist(),
            chance.integers(0, 5_000, _AT_ONCE).tolist(),
            chance.integers(1, 11, _AT_ONCE).tolist(),
            chance.integers(0, month, _AT_ONCE).tolist(),
            strict=True,
        )
    ]
    connection.execute(insert(recall_hits), rows)


def _memory() -> float:
    """Return the most memory the process ever had, in megabytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def figures(stores: Stores) -> list[Figure]:
    """Measure in a process of its own."""
    size = 10_000 if stores.quick else 100_000
    with stores.copied(size) as folder:
        measured = fresh("promotion", folder)
    what = f"{measured['recalled']:,} candidates with {measured['hits']:,} recalls"
    return [
        middle(f"promotion sweep over {what}", measured["runs"], "s", most=_SECONDS),
        Figure("- memory it takes", measured["megabytes"], "MB", most=_MEGABYTES),
    ]


if __name__ == "__main__":
    answer(measure(Path(sys.argv[1])))
