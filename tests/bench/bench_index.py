"""What the recall index costs, side by side with rank-bm25 on the same tokens.

    python tests/bench/bench_index.py                  # 10,000 and 100,000 documents
    python tests/bench/bench_index.py 1000000 --no-baseline

The corpus is made from a seed: a Zipf-Mandelbrot vocabulary of 48,000 words, documents of 10 to 30 terms as a
tokenizer without stop words leaves them, one in twenty a near copy of an earlier one.
"""

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from agentcore.recall.index import Bm25Index
from agentcore.recall.neighbours import similar

VOCABULARY = 48_000
NEAR_COPIES = 0.05


class Baseline(Protocol):
    """What is used of rank-bm25, which ships no types."""

    def get_scores(self, query: list[str], /) -> NDArray[np.float64]:
        """The score of every document."""
        ...


def corpus(size: int, seed: int = 20_260_101) -> list[list[str]]:
    """Token lists of a seeded corpus."""
    rng = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(VOCABULARY)]
    shares = 1.0 / (np.arange(VOCABULARY) + 20.0)
    lengths = rng.integers(10, 31, size)
    draws = np.searchsorted(np.cumsum(shares / shares.sum()), rng.random(int(lengths.sum())))
    picks: list[int] = np.minimum(draws, VOCABULARY - 1).tolist()
    copied = rng.random(size) < NEAR_COPIES
    documents: list[list[str]] = []
    start = 0
    sizes: list[int] = lengths.tolist()
    for number, length in enumerate(sizes):
        fresh = [words[pick] for pick in picks[start : start + length]]
        start += length
        if copied[number] and number:
            original = documents[int(rng.integers(number))]
            fresh = [fresh[0], *original[1:-1], fresh[1]]
        documents.append(fresh)
    return documents


def questions(documents: list[list[str]], count: int, seed: int = 7) -> list[list[str]]:
    """Queries of 3 to 6 terms, each from one document."""
    rng = np.random.default_rng(seed)
    chosen: list[int] = rng.integers(len(documents), size=count).tolist()
    return [rng.choice(documents[pick], size=int(rng.integers(3, 7)), replace=False).tolist() for pick in chosen]


def milliseconds(work: Callable[[int], object], count: int) -> NDArray[np.float64]:
    """How long `work(0)` to `work(count - 1)` take, each."""
    taken = np.empty(count)
    for number in range(count):
        started = time.perf_counter()
        work(number)
        taken[number] = time.perf_counter() - started
    return taken * 1e3


def spread(taken: NDArray[np.float64]) -> str:
    """Median and 99th percentile."""
    return f"{np.percentile(taken, 50):.3f} / {np.percentile(taken, 99):.3f}"


def build(documents: Iterable[list[str]]) -> Bm25Index:
    """An index with the documents under 0, 1, 2, ..."""
    index = Bm25Index()
    for key, tokens in enumerate(documents):
        index.add(key, tokens)
    return index


def measure_index(documents: list[list[str]], queries: list[list[str]]) -> dict[str, str]:
    """The figures of our index."""
    size = len(documents)
    started = time.perf_counter()
    index = build(documents)
    rows = {"build s": f"{time.perf_counter() - started:.2f}"}
    index.top(queries[0], 10)
    rows["query p50 / p99 ms"] = spread(milliseconds(lambda n: index.top(queries[n], 10), len(queries)))
    asked = np.random.default_rng(3).integers(size, size=min(size, 500)).tolist()
    found: list[int] = []
    taken = milliseconds(lambda n: found.append(len(similar(index, asked[n]))), len(asked))
    rows["neighbours p50 / p99 ms"] = spread(taken)
    rows["neighbours found"] = f"{sum(found)} for {len(asked)}"
    extra = corpus(2_000, seed=5)
    taken = milliseconds(lambda n: index.add(size + n, extra[n]), len(extra)) * 1e3
    rows["add p50 / p99 us"] = spread(taken)
    taken = milliseconds(lambda n: index.remove(size + n), len(extra)) * 1e3
    rows["remove p50 / p99 us"] = spread(taken)
    started = time.perf_counter()
    index.compact()
    rows["compact s"] = f"{time.perf_counter() - started:.2f}"
    rows["nbytes MB"] = f"{index.nbytes / 1e6:.1f}"
    del index
    tracemalloc.start()
    index = build(documents)
    rows["traced MB"] = f"{tracemalloc.get_traced_memory()[0] / 1e6:.1f}"
    tracemalloc.stop()
    return rows


def measure_baseline(documents: list[list[str]], queries: list[list[str]]) -> dict[str, str]:
    """The figures of rank-bm25."""
    build_baseline = cast("Callable[[list[list[str]]], Baseline]", import_module("rank_bm25").BM25Okapi)
    started = time.perf_counter()
    baseline = build_baseline(documents)
    rows = {"build s": f"{time.perf_counter() - started:.2f}"}

    def ask(number: int) -> object:
        scores = baseline.get_scores(queries[number])
        best = np.argpartition(scores, -10)[-10:]
        return best[np.argsort(-scores[best])]

    rows["query p50 / p99 ms"] = spread(milliseconds(ask, min(len(queries), 30)))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--no-baseline", action="store_true")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    for size in options.sizes:
        documents = corpus(size)
        queries = questions(documents, 300)
        ours = measure_index(documents, queries)
        theirs = {} if options.no_baseline else measure_baseline(documents, queries)
        print(f"\n{size:,} documents, {sum(map(len, documents)) / size:.1f} terms each")
        print(f"{'':26}{'index':>18}{'rank-bm25':>20}")
        for name, figure in ours.items():
            print(f"{name:26}{figure:>18}{theirs.get(name, '-'):>20}")


if __name__ == "__main__":
    main()
