"""What was measured, as Markdown."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from tests.bench.recall import corpus
from tests.bench.recall.entrants import OURS

Measured: TypeAlias = dict[tuple[str, int], dict[str, Any]]
"""What each engine cost at each size; `failed` alone where it could not be measured."""

_COSTS = (
    "build s",
    "memory MB",
    "first query ms",
    "p50 ms",
    "p99 ms",
    "add us",
    "add and ask ms",
    "remove us",
    "right",
)


def engines(measured: Measured) -> str:
    """Return a line for each engine and size: what building, asking and changing cost, and how right it was."""
    return _table(
        ("documents", "engine", *_COSTS),
        [(f"{size:,}", name, *_costs(one)) for (name, size), one in measured.items()],
    )


def kinds(measured: Measured) -> str:
    """Return a line for each engine and size: p50 and p99 of each kind of query."""
    names = [
        *measured[OURS, next(size for name, size in measured if name == OURS)].get("kinds", {corpus.QUESTIONS: {}})
    ]
    lines: list[Sequence[str]] = []
    for (name, size), one in measured.items():
        spans = [one["kinds"][kind] for kind in names] if "kinds" in one else []
        told = [f"{in_short(span['p50'] * 1e3)} / {in_short(span['p99'] * 1e3)}" for span in spans]
        fewest = min((span["queries"] for span in spans), default=0)
        lines.append((f"{size:,}", name, *(told or [""] * len(names)), f"{fewest}"))
    return _table(("documents", "engine", *(f"{kind}: p50 / p99 ms" for kind in names), "fewest asked"), lines)


def in_short(value: float) -> str:
    """Return a number with three digits that count."""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _costs(one: dict[str, Any]) -> Sequence[str]:
    if "failed" in one:
        return (one["failed"], *[""] * (len(_COSTS) - 1))
    asked = one["kinds"][corpus.QUESTIONS]
    fixed = (one["build"], one["bytes"] / 1e6, one["first"] * 1e3, asked["p50"] * 1e3, asked["p99"] * 1e3)
    changes = ("built anew",) * 3
    if "add" in one:
        changes = (in_short(one["add"] * 1e6), in_short(one["found"] * 1e3), in_short(one["remove"] * 1e6))
    return (*map(in_short, fixed), *changes, f"{one['right']:.1%}" if "right" in one else "")


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
