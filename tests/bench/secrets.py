"""How many secrets are found, and how often an ordinary sentence is taken for one.

python -m tests.bench.secrets            # all parts of tests/data/secrets, by class and language
python -m tests.bench.secrets --wrong    # and each text of those for development that is judged wrongly
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final

import orjson

from dream.guards.secrets import secret_in
from tests.bench.machine import described

FOLDER: Final = Path(__file__).parents[1] / "data" / "secrets"
HALVES: Final = ("development", "casual", "shapes", "held-out")
_PARTS: Final = ("Ana moved to Lisbon in May and likes green tea. ", "the password of the door is in the box ", "a-1 ")


@dataclass(frozen=True, slots=True)
class Judged:
    """A text of the set.

    Args:
        text: It.
        kind: Its class.
        language: Its language.
        is_secret: Whether it holds a secret.
        is_found: Whether one is found in it.
    """

    text: str
    kind: str
    language: str
    is_secret: bool
    is_found: bool


def judged(half: str) -> list[Judged]:
    """Return the texts of a part, each with what is found in it."""
    rows = map(orjson.loads, (FOLDER / f"{half}.jsonl").read_bytes().splitlines())
    return [
        Judged(row["text"], row["class"], row["language"], row["secret"], secret_in(row["text"]) is not None)
        for row in rows
    ]


def found(texts: Sequence[Judged]) -> tuple[int, int]:
    """Return how many secrets are found, and of how many."""
    secrets = [one for one in texts if one.is_secret]
    return sum(one.is_found for one in secrets), len(secrets)


def alarms(texts: Sequence[Judged]) -> tuple[int, int]:
    """Return how many ordinary sentences are taken for a secret, and of how many."""
    ordinary = [one for one in texts if not one.is_secret]
    return sum(one.is_found for one in ordinary), len(ordinary)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wrong", action="store_true", help="print what is judged wrongly of what is for development")
    asked = parser.parse_args()
    halves = {half: judged(half) for half in HALVES}
    print(described())
    print("\n| | secrets found | false alarms |\n|---|---|---|")
    for half, texts in halves.items():
        print(f"| {half} | {_share(found(texts))} | {_share(alarms(texts))} |")
    _print_by("class", halves, lambda one: one.kind)
    _print_by("language", halves, lambda one: one.language)
    print(f"\n| text | milliseconds for {_SHORT:,} characters | for {8 * _SHORT:,} | ratio |\n|---|---|---|---|")
    for part in _PARTS:
        short, long = _seconds(part, _SHORT), _seconds(part, 8 * _SHORT)
        print(f"| `{part}` again and again | {1000 * short:.1f} | {1000 * long:.0f} | {long / short:.1f} |")
    if asked.wrong:
        for half in HALVES[:-1]:
            print(*(one for one in halves[half] if one.is_secret != one.is_found), sep="\n")


_SHORT: Final = 10_000


def _seconds(part: str, size: int) -> float:
    text = part * (size // len(part))
    taken: list[float] = []
    for _ in range(3):
        begun = process_time()
        secret_in(text)
        taken.append(process_time() - begun)
    return min(taken)


def _print_by(title: str, halves: dict[str, list[Judged]], key: Callable[[Judged], str]) -> None:
    print(f"\n| {title} | {' | '.join(f'{half}: found' for half in halves)} |\n|---|{'---|' * len(halves)}")
    for name in sorted({key(one) for texts in halves.values() for one in texts if one.is_secret}):
        shares = [_share(found([one for one in texts if key(one) == name])) for texts in halves.values()]
        print(f"| {name} | {' | '.join(shares)} |")


def _share(counted: tuple[int, int]) -> str:
    count, whole = counted
    if not whole:
        return "-"
    return f"{count} of {whole} ({100 * count / whole:.1f} %)"


if __name__ == "__main__":
    main()
