"""The recall index beside other engines, and the public recall: one table, and our aims."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson

from tests.bench.figures import Figure
from tests.bench.processes import fresh
from tests.bench.recall import corpus
from tests.bench.recall.engines import ENGINES
from tests.bench.stores import Stores

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_QUICK = (1_000, 10_000)
_BASELINE, _OURS, _NUMPY, _TANTIVY, _FTS5 = "rank-bm25", "ours", "bm25s (NumPy)", "tantivy", "SQLite FTS5"
_EXTRA = 1_000

_MS = {100_000: 0.4, 1_000_000: 1.6}
_SPREAD = 4.0
_TIMES_BASELINE = 150.0
_ADD_US = 15.0
_MB = 60.0

Measured = dict[tuple[str, int], dict[str, Any]]


def figures(stores: Stores) -> list[Figure]:
    """Measure every engine at every size, print the table, and return what we aim at."""
    sizes = stores.sizes or (_QUICK if stores.quick else _SIZES)
    material = corpus.material(stores.locomo)
    measured: Measured = {}
    with tempfile.TemporaryDirectory(prefix="recall-") as folder:
        documents, queries = Path(folder) / "documents.txt", Path(folder) / "queries.json"
        corpus.kept(documents, material.turns, max(sizes) + _EXTRA)
        queries.write_bytes(orjson.dumps(corpus.queries(material.questions)))
        for size in sizes:
            for name in ENGINES:
                print(f"- {name}, {size:,} ...", file=sys.stderr, flush=True)
                measured[name, size] = fresh("recall", name, documents, queries, size)
    print(f"{table(measured)}\n")
    return [figure for size in sizes for figure in _aims(measured, size)]


def table(measured: Measured) -> str:
    """Return a Markdown table, a line for each engine and size."""
    head = ("documents", "engine", "build s", "memory MB", "p50 ms", "p99 ms", "add us", "remove us")
    lines = [head, tuple("---" for _ in head)]
    for (name, size), one in measured.items():
        changes = [_told(one[what] * 1e6) if what in one else "rebuild" for what in ("add", "remove")]
        costs = (one["build"], one["bytes"] / 1e6, one["p50"] * 1e3, one["p99"] * 1e3)
        lines.append((f"{size:,}", name, *map(_told, costs), *changes))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _aims(measured: Measured, size: int) -> list[Figure]:
    one, baseline, rival = (measured[name, size] for name in (_OURS, _BASELINE, _NUMPY))
    add, at = one["add"], f", {size:,} documents"
    return [
        Figure(f"query p50{at}", one["p50"] * 1e3, "ms", most=_MS.get(size)),
        Figure(f"query p99 against p50{at}", one["p99"] / one["p50"], "x", most=_SPREAD),
        Figure(
            f"rank-bm25's p50 against ours{at}", baseline["p50"] / one["p50"], "x", least=_at(size, _TIMES_BASELINE)
        ),
        Figure(f"our p50 against bm25s' on NumPy{at}", one["p50"] / rival["p50"], "x", most=_against_numpy(size)),
        Figure(f"bulk build against rank-bm25's{at}", one["build"] / baseline["build"], "x", most=1.5),
        Figure(f"add until found{at}", add * 1e6, "us", most=_ADD_US),
        Figure(f"tantivy's commit against it{at}", measured[_TANTIVY, size]["add"] / add, "x", least=500),
        Figure(f"FTS5's insert against it{at}", measured[_FTS5, size]["add"] / add, "x", least=5),
        Figure(f"memory{at}", one["bytes"] / 1e6, "MB", most=_at(size, _MB)),
    ]


def _at(size: int, target: float) -> float | None:
    return target if size == 100_000 else None


def _against_numpy(size: int) -> float:
    return 1.0 if size >= 100_000 else 2.0


def _told(value: float) -> str:
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
