"""How well true texts are told from faulty ones: merges by the coverage guard, statements by their passes.

python -m tests.bench.guards                   # the tables of docs/reference/merge-coverage.md
python -m tests.bench.guards --wrong all       # and each text that is judged wrongly
python -m tests.bench.guards --set words       # the judge of words on the statements of tests/data/statements
python -m tests.bench.guards --set verified    # and what a second reading lets in of them
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from agentcore.recall import Tokenizer
from dream.guards import Coverage, builtin_vocabulary, coverage
from tests.bench import reading_desk, second_readings, statement_set, statements

PAIRS = Path(__file__).parents[1] / "dream" / "guards" / "data" / "merge-pairs.jsonl"
LABELS = ("faithful", "dropped", "invented", "negation", "number")


@dataclass(frozen=True, slots=True)
class Pair:
    """One merge with what it is known to be."""

    sources: tuple[str, ...]
    merged: str
    label: str
    language: str
    split: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A pair and what the guard found."""

    pair: Pair
    found: Coverage

    @property
    def right(self) -> bool:
        """A faithful merge passes, every other is refused."""
        return self.found.faithful == (self.pair.label == "faithful")


def pairs() -> list[Pair]:
    """Read the labelled pairs."""
    rows = [orjson.loads(line) for line in PAIRS.read_bytes().splitlines()]
    return [Pair(tuple(row["sources"]), row["merged"], row["label"], row["language"], row["split"]) for row in rows]


def frequencies(texts: Iterable[str]) -> Callable[[str], int]:
    """Count how many of the texts hold each term of the recall index."""
    tokenizer = Tokenizer()
    counts = Counter(term for text in texts for term in set(tokenizer.tokens(text)))
    return lambda term: counts[term]


def judged(given: Iterable[Pair]) -> list[Judged]:
    """Let the guard judge each pair, with the sources of all pairs as the store."""
    listed = list(given)
    frequency = frequencies({text for pair in listed for text in pair.sources})
    vocabulary = builtin_vocabulary()
    return [
        Judged(pair, coverage(pair.sources, pair.merged, vocabulary, document_frequency=frequency)) for pair in listed
    ]


def share(results: Iterable[Judged], label: str, split: str = "", language: str = "") -> tuple[int, int]:
    """Return how many pairs of a label were judged rightly, and how many there are."""
    chosen = [
        one.right
        for one in results
        if one.pair.label == label and one.pair.split.startswith(split) and one.pair.language.startswith(language)
    ]
    return sum(chosen), len(chosen)


def precision(results: Iterable[Judged], split: str = "") -> tuple[int, int]:
    """Return how many refusals were deserved, and how many refusals there were."""
    refused = [one.right for one in results if not one.found.faithful and one.pair.split.startswith(split)]
    return sum(refused), len(refused)


def _cell(part: tuple[int, int]) -> str:
    return f"{part[0]}/{part[1]} ({100 * part[0] / part[1]:.1f} %)" if part[1] else "-"


def table(results: list[Judged]) -> str:
    """Return the figures as a Markdown table."""
    titles = {"faithful": "faithful merges passed", **{name: f"{name}: refused" for name in LABELS[1:]}}
    lines = ["| | dev | test (held out) | all |", "|---|---|---|---|"]
    for label in LABELS:
        cells = " | ".join(_cell(share(results, label, split)) for split in ("dev", "test", ""))
        lines.append(f"| {titles[label]} | {cells} |")
    cells = " | ".join(_cell(precision(results, split)) for split in ("dev", "test", ""))
    return "\n".join([*lines, f"| refusals that were deserved | {cells} |"])


def by_language(results: list[Judged]) -> str:
    """Return the figures per language as a Markdown table."""
    lines = ["| language | faithful passed | faults refused |", "|---|---|---|"]
    for language in dict.fromkeys(one.pair.language for one in results):
        faults = [share(results, label, language=language) for label in LABELS[1:]]
        total = (sum(part[0] for part in faults), sum(part[1] for part in faults))
        lines.append(f"| {language} | {_cell(share(results, 'faithful', language=language))} | {_cell(total)} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", choices=("dev", "test", "all"), help="print wrongly judged pairs of a split")
    parser.add_argument(
        "--set", choices=("own", "words", "verified"), default="own", help="what is judged, and by whom"
    )
    parser.add_argument("--desk", type=Path, help="with verified: the folder of a model's questions and answers")
    parser.add_argument("--keep", action="store_true", help="with a desk: keep its readings in tests/data/statements")
    asked = parser.parse_args()
    if asked.set == "verified":
        if asked.desk is not None and asked.keep:
            reading_desk.keep(asked.desk)
        print(second_readings.tables() if asked.desk is None else reading_desk.at_desk(asked.desk))
        return
    if asked.set == "words":
        found = statement_set.measured()
        print(statement_set.tables(found))
        times = statement_set.seconds_each()
        middle, most = (1000 * times[int(share * len(times))] for share in (0.5, 0.99))
        print(f"\nmilliseconds a judgement: median {middle:.2f}, 99 of 100 under {most:.2f}")
        if asked.wrong in {"dev", "all"}:
            print(*(one.account for one in found["development"] if statement_set.is_wrong(one)), sep="\n")
        return
    results = judged(pairs())
    told = statements.measured()
    print(table(results), by_language(results), statements.table(told), sep="\n\n")
    for one in results:
        if not one.right and asked.wrong in {one.pair.split, "all"}:
            print("\n", one.pair.label, *one.pair.sources, f"-> {one.pair.merged}", sep="\n  ")
            print("  lost:", *one.found.lost, "invented:", *one.found.invented)
    for split in {"dev": ["dev"], "test": ["held out"], "all": [*told]}.get(asked.wrong, []):
        print(*statements.wrong(told[split]), sep="\n")


if __name__ == "__main__":
    main()
