"""Measures one engine in a process of its own: `python -m tests.bench.recall ENGINE DOCUMENTS QUERIES SIZE`."""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, ParamSpec, cast

import orjson

from tests.bench.figures import quantile
from tests.bench.recall import corpus
from tests.bench.recall.engines import Changeable, Engine
from tests.bench.recall.entrants import ENTRANTS

P = ParamSpec("P")

_BUILDS = 9
_BUILD_SECONDS = 0.3
"""A short build is repeated and the median taken: a millisecond is soon lost to something else."""
_PASSES = 3
_FEWEST = 3
_QUESTION_SECONDS, _MIXED_SECONDS = 20.0, 5.0
_CHANGE_SECONDS = 5.0
_CHECKED_SECONDS = 10.0
_CHECKED_QUESTIONS, _CHECKED_MIXED = 20, 5


def measure(
    make: Callable[[], Engine], documents: list[list[str]], more: list[list[str]], queries: dict[str, list[list[str]]]
) -> dict[str, Any]:
    """Return what building, memory, queries and changes cost, and what the engine found.

    Raises:
        RuntimeError: a change did not show in the next query.
    """
    gc.collect()
    gc.freeze()
    engine = make()
    before = _resident_bytes()
    builds = [_seconds(engine.build, documents)]
    gc.collect()
    measured: dict[str, Any] = {"bytes": _resident_bytes() - before}
    while len(builds) < _BUILDS and sum(builds) < _BUILD_SECONDS:
        builds.append(_seconds(make().build, documents))
    measured["build"] = median(builds)
    measured["first"] = _seconds(engine.ask, queries[corpus.QUESTIONS][0])
    measured["kinds"] = {kind: _asked(engine, asked, kind) for kind, asked in queries.items()}
    measured["answers"] = list(_answers(engine, checked(queries)))
    if hasattr(engine, "add"):
        measured |= _changed(cast("Changeable", engine), len(documents), more, queries[corpus.QUESTIONS])
    return measured


def checked(queries: dict[str, list[list[str]]]) -> list[list[str]]:
    """Return the queries whose answers are checked: some of every kind."""
    mixed = (asked[:_CHECKED_MIXED] for kind, asked in queries.items() if kind != corpus.QUESTIONS)
    return [*chain.from_iterable(mixed), *queries[corpus.QUESTIONS][:_CHECKED_QUESTIONS]]


def _asked(engine: Engine, queries: list[list[str]], kind: str) -> dict[str, Any]:
    """Time each query alone, the best of several passes over all of them; slow engines are asked fewer."""
    left = _QUESTION_SECONDS if kind == corpus.QUESTIONS else _MIXED_SECONDS
    taken: list[float] = []
    for terms in queries:
        taken.append(_seconds(engine.ask, terms))
        left -= taken[-1]
        if left < 0 and len(taken) >= _FEWEST:
            break
    once = sum(taken)
    for _ in range(_PASSES - 1):
        if left < once:
            break
        taken = [min(best, _seconds(engine.ask, terms)) for best, terms in zip(taken, queries, strict=False)]
        left -= once
    return {"p50": quantile(taken, 0.5), "p99": quantile(taken, 0.99), "queries": len(taken)}


def _answers(engine: Engine, queries: list[list[str]]) -> Iterator[list[int]]:
    began = time.perf_counter()
    for terms in queries:
        if time.perf_counter() - began < _CHECKED_SECONDS:
            yield engine.best(terms)


def _changed(engine: Changeable, size: int, more: list[list[str]], questions: list[list[str]]) -> dict[str, Any]:
    """Time additions in a row, then additions each with a question after it, then the removal of the same.

    Those in the middle have a term of their own, by which the next query has to find them until they are removed.
    """
    half = len(more) // 2
    added = list(_until(_CHANGE_SECONDS, lambda number: _seconds(engine.add, size + number, more[number]), half))

    def add_and_ask(number: int) -> float:
        key = size + half + number
        taken = _seconds(engine.add, key, [*more[half + number], _mark(key)])
        taken += _seconds(engine.ask, questions[number % len(questions)])
        _require(engine.best([_mark(key)]) == [key], "an addition")
        return taken

    def remove(number: int) -> float:
        key = size + half + number
        taken = _seconds(engine.remove, key)
        _require(not engine.best([_mark(key)]), "a removal")
        return taken

    found = list(_until(_CHANGE_SECONDS, add_and_ask, half))
    removed = list(_until(_CHANGE_SECONDS, remove, len(found)))
    costs = {"add": added, "found": found, "remove": removed}
    return {what: quantile(taken, 0.5) for what, taken in costs.items()} | {"add_p99": quantile(added, 0.99)}


def _until(seconds: float, timed: Callable[[int], float], most: int) -> Iterator[float]:
    """Yield what *timed* gives for 0, 1, 2, ..., until that many seconds are gone."""
    began = time.perf_counter()
    for number in range(most):
        yield timed(number)
        if time.perf_counter() - began > seconds:
            break


def _mark(number: int) -> str:
    """Return a term that this document alone has."""
    return f"added{number}"


def _require(shows: bool, what: str) -> None:
    if not shows:
        raise RuntimeError(f"{what} does not show in the next query")


def _seconds(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    began = time.perf_counter()
    work(*args, **kwargs)
    return time.perf_counter() - began


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Measure and print a JSON document."""
    name, documents, queries, size = sys.argv[1:]
    read = corpus.read(Path(documents), int(size) + corpus.EXTRA)
    asked: dict[str, list[list[str]]] = orjson.loads(Path(queries).read_bytes())
    print(orjson.dumps(measure(ENTRANTS[name], read[: int(size)], read[int(size) :], asked)).decode())


if __name__ == "__main__":
    main()
