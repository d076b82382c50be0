"""What the recall index is meant to reach, beside what was measured."""

from collections.abc import Mapping
from typing import Any

from tests.bench.figures import Figure
from tests.bench.recall import corpus
from tests.bench.recall.entrants import BASELINE, FTS5, NUMPY, OURS, TANTIVY, TANTIVY_FILE
from tests.bench.recall.tables import Measured

_P50_MS = {100_000: 0.4, 1_000_000: 1.6}
_SPREAD = 4.0
_TIMES_BASELINE = {100_000: 150.0}
_LARGE = 100_000
_AGAINST_NUMPY_LARGE, _AGAINST_NUMPY = 1.0, 2.0
_BUILD = 1.5
_ADD_US = 15.0
_TIMES_COMMIT, _TIMES_INSERT = 500.0, 5.0
_MB = {100_000: 60.0}
_PUBLIC_MS = {100_000: 1.0}
_ALL = 1.0


def aims(measured: Measured, size: int) -> list[Figure]:
    """Return our figures at one size with their targets; without those of engines that could not be measured."""
    one = measured[OURS, size]
    if "failed" in one:
        return []
    at = f", {size:,} documents"
    asked = one["kinds"][corpus.QUESTIONS]
    p50, add = asked["p50"], one["add"]
    against_numpy = _AGAINST_NUMPY_LARGE if size >= _LARGE else _AGAINST_NUMPY
    return [
        Figure(f"query p50{at}", p50 * 1e3, "ms", most=_P50_MS.get(size)),
        Figure(f"query p99 against p50{at}", asked["p99"] / p50, "x", most=_SPREAD),
        *(
            Figure(f"rank-bm25's p50 against ours{at}", other / p50, "x", least=_TIMES_BASELINE.get(size))
            for other in _p50(measured[BASELINE, size])
        ),
        *(
            Figure(f"our p50 against bm25s' on NumPy{at}", p50 / other, "x", most=against_numpy)
            for other in _p50(measured[NUMPY, size])
        ),
        *(
            Figure(f"bulk build against rank-bm25's{at}", one["build"] / other, "x", most=_BUILD)
            for other in _of(measured[BASELINE, size], "build")
        ),
        Figure(f"add until found{at}", add * 1e6, "us", most=_ADD_US),
        *(
            Figure(f"{name}'s commit against it{at}", other / add, "x", least=_TIMES_COMMIT)
            for name in (TANTIVY, TANTIVY_FILE)
            for other in _of(measured[name, size], "add")
        ),
        *(
            Figure(f"the quickest rebuild against it{at}", other / add, "x", least=_TIMES_COMMIT)
            for other in _quickest_rebuild(measured, size)
        ),
        *(
            Figure(f"FTS5's insert against it{at}", other / add, "x", least=_TIMES_INSERT)
            for other in _of(measured[FTS5, size], "add")
        ),
        Figure(f"memory{at}", one["bytes"] / 1e6, "MB", most=_MB.get(size)),
        Figure(f"answers that an exhaustive search gives too{at}", one.get("right", 0.0), least=_ALL),
    ]


def openings(one: Mapping[str, Any], size: int) -> list[Figure]:
    """Return what it costs to have an index of one size."""
    at = f", {size:,} entries"
    return [
        Figure(f"texts cut into words and indexed{at}", one["cut"], "s"),
        Figure(f"- the same index read from its file{at}", one["read"], "s"),
        Figure(f"- cutting against reading{at}", one["cut"] / one["read"], "x"),
        Figure(f"- writing the file{at}", one["written"], "s"),
        Figure(f"- its size{at}", one["bytes"] / 1e6, "MB"),
        Figure(f"- until damage to it is found{at}", one["refused"], "s"),
    ]


def public(built: Mapping[str, Any], read: Mapping[str, Any], damaged: Mapping[str, Any], size: int) -> list[Figure]:
    """Return what hosts measured: one that built the index, one that read its file, one whose file was damaged.

    Raises:
        RuntimeError: a host used a damaged file, or said nothing of it.
    """
    if (read["refused"], damaged["refused"]) != ([], ["its checksum is wrong"]):
        raise RuntimeError(f"of a sound file and a damaged one was said: {read['refused']}, {damaged['refused']}")
    at = f", {size:,} entries"
    return [
        Figure(f"public recall p50{at}", read["p50"] * 1e3, "ms", most=_PUBLIC_MS.get(size)),
        Figure(f"public recall p99{at}", read["p99"] * 1e3, "ms"),
        Figure(f"first recall, which cuts every text into words{at}", built["first"], "s"),
        Figure(f"- the index read from its file{at}", read["first"], "s"),
        Figure(f"- the file damaged, said so, the index built anew{at}", damaged["first"], "s"),
        Figure(f"- closing, which writes it{at}", built["closing"], "s"),
    ]


def _of(one: Mapping[str, Any], what: str) -> list[float]:
    return [one[what]] if what in one else []


def _p50(one: Mapping[str, Any]) -> list[float]:
    return [one["kinds"][corpus.QUESTIONS]["p50"]] if "kinds" in one else []


def _quickest_rebuild(measured: Measured, size: int) -> list[float]:
    """Return the quickest build of those that have no other way to take a change."""
    found = [one["build"] for (_, at), one in measured.items() if at == size and "build" in one and "add" not in one]
    return [min(found)] if found else []
