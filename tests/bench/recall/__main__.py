"""Measures one engine in a process of its own: `python -m tests.bench.recall ENGINE DOCUMENTS QUERIES SIZE`."""

import gc
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, cast

import orjson

from tests.bench.figures import quantile
from tests.bench.recall import corpus
from tests.bench.recall.engines import ENGINES, Changeable, Engine

P = ParamSpec("P")

_PASSES = 5
_SECONDS = 30.0
_FEWEST = 20
_CHANGES = 1_000
_CHANGE_SECONDS = 10.0


def measure(
    engine: Engine, documents: list[list[str]], more: list[list[str]], queries: list[list[str]]
) -> dict[str, Any]:
    """Return what building, memory, queries and changes cost."""
    gc.collect()
    gc.freeze()
    before = _resident_bytes()
    began = time.perf_counter()
    engine.build(documents)
    build = time.perf_counter() - began
    gc.collect()
    measured: dict[str, Any] = {"build": build, "bytes": _resident_bytes() - before}
    measured |= _asked(engine, queries)
    if hasattr(engine, "add"):
        measured |= _changed(cast("Changeable", engine), len(documents), more)
    return measured | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def _asked(engine: Engine, queries: list[list[str]]) -> dict[str, Any]:
    """Time each query alone, the best of several passes over all of them; slow engines are asked fewer."""
    once = sum(_seconds(engine.ask, terms) for terms in queries[:_FEWEST]) / _FEWEST
    asked = queries[: max(_FEWEST, min(len(queries), int(_SECONDS / _PASSES / once)))]
    passes = [[_seconds(engine.ask, terms) for terms in asked] for _ in range(_PASSES)]
    taken = [min(times) for times in zip(*passes, strict=True)]
    return {"p50": quantile(taken, 0.5), "p99": quantile(taken, 0.99), "queries": len(asked)}


def _changed(engine: Changeable, size: int, more: list[list[str]]) -> dict[str, Any]:
    """Time additions, then the removal of the same."""
    added: list[float] = []
    for number, terms in enumerate(more, start=size):
        added.append(_seconds(engine.add, number, terms))
        if sum(added) > _CHANGE_SECONDS:
            break
    removed = [_seconds(engine.remove, number) for number in range(size, size + len(added))]
    return {"add": quantile(added, 0.5), "add_p99": quantile(added, 0.99), "remove": quantile(removed, 0.5)}


def _seconds(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    began = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - began


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure and print a JSON document."""
    name, documents, queries, size = sys.argv[1:]
    read = corpus.read(Path(documents), int(size) + _CHANGES)
    asked: list[list[str]] = orjson.loads(Path(queries).read_bytes())
    measured = measure(ENGINES[name](), read[: int(size)], read[int(size) :], asked)
    print(orjson.dumps(measured).decode())


if __name__ == "__main__":
    main()
