"""The public recall on a filled folder: `python -m tests.bench.recall.public FOLDER [LOCOMO]`."""

import logging
import sys
import time
from pathlib import Path
from typing import Any

from agentcore import AgentHostBuilder
from tests.bench.figures import quantile
from tests.bench.processes import answer
from tests.bench.recall import corpus

_PASSES = 5


class _Refusals(logging.Handler):
    """Keeps why files of indexes were not used."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the reason."""
        if record.getMessage() == "recall_snapshot_refused":
            self.reasons.append(record.__dict__["reason"])


async def measure(folder: Path, questions: list[str]) -> dict[str, Any]:
    """Time the first recall, which builds the index or reads its file, and then each question alone."""
    refusals = _Refusals()
    logging.getLogger("agentcore").addHandler(refusals)
    host = AgentHostBuilder(folder).with_memory().build()
    async with host:
        began = time.perf_counter()
        await host.memory.recall(questions[0])
        first = time.perf_counter() - began
        passes = [[await _seconds(host.memory.recall, question) for question in questions] for _ in range(_PASSES)]
        began = time.perf_counter()
    closing = time.perf_counter() - began
    taken = [min(times) for times in zip(*passes, strict=True)]
    spread = {"p50": quantile(taken, 0.5), "p99": quantile(taken, 0.99)}
    return spread | {"first": first, "closing": closing, "refused": refusals.reasons}


async def _seconds(work: Any, question: str) -> float:
    began = time.perf_counter()
    await work(question)
    return time.perf_counter() - began


if __name__ == "__main__":
    locomo = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    answer(measure(Path(sys.argv[1]), corpus.material(locomo).questions))
