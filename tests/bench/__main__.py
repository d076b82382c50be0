"""Measures and prints: `python -m tests.bench [--quick] [--locomo FILE] [cycle] [decay] [breathing] ...`."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import (
    breathing,
    context,
    cycle,
    decay,
    model,
    near_duplicates,
    passes,
    promotion,
    remembering,
    schedule,
    serving,
    startup,
    thirty_days,
)
from tests.bench.figures import Figure, table
from tests.bench.machine import described
from tests.bench.recall import comparison
from tests.bench.stores import Stores

_ALL: dict[str, Callable[[Stores], list[Figure]]] = {
    "cycle": cycle.figures,
    "decay": decay.figures,
    "near-duplicates": near_duplicates.figures,
    "breathing": breathing.figures,
    "startup": startup.figures,
    "model": model.figures,
    "passes": passes.figures,
    "thirty-days": thirty_days.figures,
    "remembering": remembering.figures,
    "context": context.figures,
    "promotion": promotion.figures,
    "recall": comparison.figures,
    "schedule": schedule.figures,
    "serving": serving.figures,
}

_FEWEST_DOCUMENTS = 100
"""Fewer are no collection: some engines refuse to give ten answers."""


def main() -> None:
    """Measure what was asked for and print one table; say on stderr what is under way."""
    asked = _arguments()
    print(described(), flush=True)
    with tempfile.TemporaryDirectory(prefix="agentcore-bench-") as temporary:
        folder = asked.stores or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        stores = Stores(folder, asked.locomo, quick=asked.quick, sizes=asked.sizes)
        print(f"- Words: {asked.locomo.name if asked.locomo else 'docs/examples/conversation.jsonl'}\n", flush=True)
        found: list[Figure] = []
        for name in asked.names or _ALL:
            print(f"{name} ...", file=sys.stderr, flush=True)
            found += _ALL[name](stores)
    print(table(found))
    missed = sum(figure.is_met is False for figure in found)
    print(f"\n{missed} of {sum(figure.is_met is not None for figure in found)} targets missed.")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure, and compare with the targets.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(_ALL)}")
    parser.add_argument("--quick", action="store_true", help="10,000 entries where it would be more; a minute in all")
    parser.add_argument(
        "--locomo", "--data", type=Path, help="take the words of this LoCoMo file instead of the example's"
    )
    parser.add_argument("--stores", type=Path, help="keep the filled data folders here for the next time")
    parser.add_argument("--sizes", type=_sizes, default=(), help="compare recall at these, as in 1k,100k,1m")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(_ALL))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(_ALL)}")
    return asked


def _sizes(text: str) -> tuple[int, ...]:
    """Read sizes such as `1k,100000,1m`."""
    thousands = {"k": 1_000, "m": 1_000_000}
    try:
        found = [int(part.rstrip("km")) * thousands.get(part[-1:], 1) for part in text.lower().split(",")]
    except ValueError:
        found = []
    if not found or min(found) < _FEWEST_DOCUMENTS:
        raise argparse.ArgumentTypeError(f"give sizes of {_FEWEST_DOCUMENTS} or more, as in 1k,100k,1m, not {text!r}")
    return tuple(found)


if __name__ == "__main__":
    main()
