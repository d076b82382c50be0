"""An index cut from texts beside the same read from its file: `python -m tests.bench.recall.opening DOCUMENTS SIZE`."""

import gc
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from agentcore.domain import Decay
from agentcore.recall import (
    Ranking,
    RecallOptions,
    ScopeIndex,
    Tokenizer,
    UnusableSnapshotError,
    read_snapshot,
    write_snapshot,
)
from agentcore.stores import FILING_MARK, FeedPosition, IndexRow
from tests.bench.recall.engines import K

_AT_ONCE = 200
_SCOPE = "a/b/c"
_COMPARED = 50


def measure(documents: Path, size: int) -> dict[str, Any]:
    """Build, write, read and compare; then damage the file.

    Raises:
        RuntimeError: what was read answers otherwise, or the damage went unnoticed.
    """
    with documents.open(encoding="utf-8") as file:
        texts = list(islice(file, size))
    index = ScopeIndex(Tokenizer(), RecallOptions())
    began = time.perf_counter()
    for start in range(0, size, _AT_ONCE):
        part = enumerate(texts[start : start + _AT_ONCE], start=start)
        index.take([IndexRow(key, f"{text}{FILING_MARK}general", 0.5, 0, live=True) for key, text in part])
    measured = {"cut": time.perf_counter() - began}
    kept = index.kept()
    gc.collect()
    with tempfile.TemporaryDirectory(prefix="opening-") as folder:
        path = Path(folder) / "a.index"
        began = time.perf_counter()
        write_snapshot(path, kept, FeedPosition(7), scope=_SCOPE)
        measured |= {"written": time.perf_counter() - began, "bytes": path.stat().st_size}
        began = time.perf_counter()
        again = ScopeIndex(Tokenizer(), RecallOptions())
        again.adopt(read_snapshot(path, scope=_SCOPE))
        measured["read"] = time.perf_counter() - began
        if any(_ranked(again, text) != _ranked(index, text) for text in texts[:_COMPARED]):
            raise RuntimeError("what was read does not answer as what was written")
        return measured | {"refused": _damaged(path)}


def _ranked(index: ScopeIndex, query: str) -> Ranking:
    return index.rank(query, decay=Decay(), now_us=0, limit=K)


def _damaged(path: Path) -> float:
    """Change one bit of the file and return how long it takes to be noticed."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 1]))
    began = time.perf_counter()
    try:
        read_snapshot(path, scope=_SCOPE)
    except UnusableSnapshotError:
        return time.perf_counter() - began
    raise RuntimeError("the damage went unnoticed")


if __name__ == "__main__":
    print(orjson.dumps(measure(Path(sys.argv[1]), int(sys.argv[2]))).decode())
