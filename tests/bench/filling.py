"""Fills a data folder: `python -m tests.bench.filling FOLDER SIZE [LOCOMO]`."""

import sys
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from agentcore import AgentHostBuilder, MemoryEntry, Scope
from agentcore.stores import UnitOfWork
from tests.bench.corpus import generated, words_of
from tests.bench.processes import answer

_CHUNK = 2_000


def _add(unit: UnitOfWork, *, chunk: list[MemoryEntry]) -> None:
    unit.entries.add(chunk)


async def fill(folder: Path, size: int, locomo: Path | None) -> dict[str, Any]:
    """Write *size* generated entries straight into the store: `remember` would fold the copies at once."""
    host = AgentHostBuilder(folder).with_memory().build()
    async with host:
        entries = generated(words_of(locomo), size, now=host.clock.now())
        while chunk := list(islice(entries, _CHUNK)):
            await host.storage.write(Scope.default(), partial(_add, chunk=chunk))
        return {"entries": await host.memory.count()}


if __name__ == "__main__":
    answer(fill(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None))
