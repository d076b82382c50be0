"""Documents and questions for every engine: real turns first, then turns mixed from a seed."""

import itertools
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from agentcore.recall import Tokenizer
from tests.bench.corpus import EXAMPLES

_SEED = 20_260_101
_QUESTIONS = 200
_MIXED = 50
_RARE_WORDS = 200_000
_FROM_TURNS, _FROM_ALL = 0.60, 0.98

QUESTIONS = "questions"
"""What people ask: the kind of query that aims are about."""
LENGTHS = (1, 3, 10, 30)
"""Terms of the mixed queries."""
EXTRA = 1_000
"""Documents beyond those that are built, to be added one by one."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the benchmark is made of.

    Args:
        turns: The words of each real turn that has 10 to 40.
        questions: What people ask about them.
    """

    turns: list[list[str]]
    questions: list[str]


def material(locomo: Path | None) -> Material:
    """Read turns of 10 to 40 words and the questions about them; of the example conversation both, without a file."""
    if locomo is None:
        said = [orjson.loads(line)["content"].split() for line in EXAMPLES.read_bytes().splitlines()]
        rng = random.Random(_SEED)
        asked = [" ".join(rng.sample(turn, min(len(turn), 7))) for turn in rng.choices(said, k=_QUESTIONS)]
        return Material(said, asked)
    samples: list[dict[str, Any]] = orjson.loads(locomo.read_bytes())
    sessions = [part for sample in samples for part in sample["conversation"].values() if isinstance(part, list)]
    said = [f"{turn['speaker']}: {turn['text']}".split() for session in sessions for turn in session]
    asked = [question["question"] for sample in samples for question in sample["qa"]]
    return Material(
        [turn for turn in said if 10 <= len(turn) <= 40],
        random.Random(_SEED).sample([question for question in asked if 5 <= len(question.split()) <= 10], _QUESTIONS),
    )


def documents(turns: list[list[str]], size: int) -> Iterator[list[str]]:
    """Yield the terms of *size* documents as the default tokenizer makes them.

    After the turns themselves come mixed ones of 10 to 40 words: 60 % from two to four turns, 38 % from all of them,
    2 % from a long tail of rare words.
    """
    rng = random.Random(_SEED)
    tokenizer = Tokenizer()
    words = [word for turn in turns for word in turn]
    rare = [f"rare{number}" for number in range(_RARE_WORDS)]
    weights = list(itertools.accumulate(1.0 / (number + 1.0) for number in range(_RARE_WORDS)))
    for number in range(size):
        if number < len(turns):
            yield tokenizer.tokens(" ".join(turns[number]))
            continue
        near = [word for turn in rng.choices(turns, k=rng.randint(2, 4)) for word in turn]
        kinds = [rng.random() for _ in range(rng.randint(10, 40))]
        picked = [
            rng.choice(near)
            if kind < _FROM_TURNS
            else (rng.choice(words) if kind < _FROM_ALL else rng.choices(rare, cum_weights=weights)[0])
            for kind in kinds
        ]
        yield tokenizer.tokens(" ".join(picked))


def queries(material: Material) -> dict[str, list[list[str]]]:
    """Return the terms of the questions, and of mixed queries of so many distinct terms, by kind.

    A mixed one has terms of one real turn, or of several where one has too few: what is said together is asked for.
    """
    rng = random.Random(_SEED)
    tokenizer = Tokenizer()
    asked = {QUESTIONS: [_distinct(tokenizer.query_tokens(question)) for question in material.questions]}
    for length in LENGTHS:
        asked[kind_of(length)] = [_mixed(rng, tokenizer, material.turns, length) for _ in range(_MIXED)]
    return asked


def kind_of(length: int) -> str:
    """Return what queries of so many terms are called."""
    return f"{length} term{'s' if length > 1 else ''}"


def _mixed(rng: random.Random, tokenizer: Tokenizer, turns: list[list[str]], length: int) -> list[str]:
    said: list[str] = []
    while len(said) < length:
        said = _distinct([*said, *tokenizer.tokens(" ".join(rng.choice(turns)))])
    return rng.sample(said, length)


def _distinct(terms: list[str]) -> list[str]:
    """Return each term once: engines differ in what a repeated one of a query is worth."""
    return list(dict.fromkeys(terms))


def kept(path: Path, turns: list[list[str]], size: int) -> None:
    """Write the first *size* documents to a file, one a line, terms between spaces."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{' '.join(terms)}\n" for terms in documents(turns, size))


def read(path: Path, size: int) -> list[list[str]]:
    """Return the first *size* documents of such a file; equal terms are one string, as for an engine that interns."""
    with path.open(encoding="utf-8") as file:
        return [[sys.intern(term) for term in line.split()] for line in itertools.islice(file, size)]
