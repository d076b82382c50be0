"""Checks what engines found: `python -m tests.bench.recall.verifying DOCUMENTS QUERIES ANSWERS SIZE`."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from agentcore.recall import Bm25Index, Formula, Postings, QueryCost, Scoring
from tests.bench.recall import corpus
from tests.bench.recall.__main__ import checked
from tests.bench.recall.engines import K
from tests.bench.recall.entrants import ENTRANTS

_ROUNDING = 1.0 - 1e-5
"""bm25s keeps scores in 32 bits."""


def share(postings: Postings, formula: Formula, queries: list[list[str]], answers: list[list[int]]) -> float:
    """Return how many of the places among the best were given to documents that are worth one.

    A document is worth one if its score by the formula, every document scored, reaches the last of the best: which of
    equals an engine takes is its own affair.

    Args:
        postings: All documents, each under its place.
        formula: How the engine scores.
        queries: What was asked; as many as there are answers count.
        answers: The documents that the engine found for each, best first.
    """
    scoring = Scoring(postings, formula, epsilon=0.25, cost=QueryCost())
    worth_it = places = 0
    for terms, found in zip(queries, answers, strict=False):
        slots, scores = scoring.sum(scoring.weighted(terms))
        wanted = min(K, len(slots))
        if wanted == 0:
            continue
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted] * _ROUNDING
        worth_it += len(set(found) & set(slots[scores >= least].tolist()))
        places += wanted
    return worth_it / places if places else 1.0


def main() -> None:
    """Print what share of the places each engine gave rightly."""
    documents, asked, answers, size = sys.argv[1:]
    index = Bm25Index()
    index.update_many(range(int(size)), corpus.read(Path(documents), int(size)))
    queries = checked(orjson.loads(Path(asked).read_bytes()))
    given: dict[str, Any] = orjson.loads(Path(answers).read_bytes())
    shares = {name: share(index.postings, ENTRANTS[name].formula, queries, found) for name, found in given.items()}
    print(orjson.dumps(shares).decode())


if __name__ == "__main__":
    main()
