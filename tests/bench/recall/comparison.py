"""The recall index beside other engines, how it opens, and the public recall: tables, and our aims."""

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from tests.bench.figures import Figure
from tests.bench.processes import fresh
from tests.bench.recall import corpus
from tests.bench.recall.aims import aims, openings, public
from tests.bench.recall.entrants import ENTRANTS
from tests.bench.recall.tables import Measured, engines, kinds
from tests.bench.stores import Stores

_SIZES = (1_000, 10_000, 100_000, 1_000_000)
_QUICK = (1_000, 10_000)
_PUBLIC_AT = 100_000
_KEPT_FROM = 20_000
"""Entries from which an index is kept in a file."""

_SECONDS = 300.0
_BYTES_PER_DOCUMENT = 6_000
"""More than any engine took with its documents while it was built."""
_RIVALS = ("rank-bm25", "bm25s", "numba", "tantivy")


def figures(stores: Stores) -> list[Figure]:
    """Measure every engine at every size, print the tables, and return what we aim at."""
    sizes = stores.sizes or (_QUICK if stores.quick else _SIZES)
    material = corpus.material(stores.locomo)
    measured: Measured = {}
    opened: dict[int, dict[str, Any]] = {}
    print(f"- Compared with: {', '.join(f'{name} {version(name)}' for name in _RIVALS)}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="recall-") as temporary:
        documents, queries = Path(temporary) / "documents.txt", Path(temporary) / "queries.json"
        corpus.kept(documents, material.turns, max(sizes) + corpus.EXTRA)
        queries.write_bytes(orjson.dumps(corpus.queries(material)))
        for size in sizes:
            measured |= {(name, size): _one(name, documents, queries, size) for name in ENTRANTS}
            _check(measured, documents, queries, size)
            if size >= _KEPT_FROM:
                _tell(f"opening, {size:,}")
                opened[size] = fresh("recall.opening", documents, size)
    print(f"{engines(measured)}\n\n{kinds(measured)}\n")
    found = [figure for size in sizes for figure in aims(measured, size)]
    found += [figure for size, one in opened.items() for figure in openings(one, size)]
    return found + (_public(stores, _PUBLIC_AT) if _PUBLIC_AT in sizes else [])


def _one(name: str, documents: Path, queries: Path, size: int) -> dict[str, Any]:
    """Measure one engine; what kept it from being measured stands under `failed`."""
    _tell(f"{name}, {size:,}")
    free = _available_bytes()
    if free < size * _BYTES_PER_DOCUMENT:
        return {"failed": f"not measured: {free / 1e9:.0f} GB of memory are free"}
    try:
        return fresh("recall", name, documents, queries, size, within=_SECONDS)
    except TimeoutError:
        return {"failed": f"not done within {_SECONDS:.0f} s"}
    except RuntimeError as error:
        return {"failed": str(error).rstrip().rpartition("\n")[2]}


def _check(measured: Measured, documents: Path, queries: Path, size: int) -> None:
    """Note what share of what each engine found is right."""
    _tell(f"checking answers, {size:,}")
    given = {name: measured[name, size].pop("answers", None) for name in ENTRANTS}
    answers = documents.with_name("answers.json")
    answers.write_bytes(orjson.dumps({name: found for name, found in given.items() if found is not None}))
    for name, right in fresh("recall.verifying", documents, queries, answers, size).items():
        measured[name, size]["right"] = right


def _public(stores: Stores, size: int) -> list[Figure]:
    """Measure the public recall three times: one host builds the index, the next read its file, then a damaged one."""
    words = [] if stores.locomo is None else [stores.locomo.resolve()]
    with stores.copied(size) as folder:
        _tell(f"public recall, {size:,}")
        built, read = (fresh("recall.public", folder, *words) for _ in range(2))
        for path in (folder / "recall").iterdir():
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        return public(built, read, fresh("recall.public", folder, *words), size)


def _available_bytes() -> int:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


def _tell(what: str) -> None:
    print(f"- {what} ...", file=sys.stderr, flush=True)
