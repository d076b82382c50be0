"""How today's guards judge the statements of `tests/data/statements`: `python -m tests.bench.guards --set statements`.

Each statement is driven through the pass it is meant for, alone, with a model that says just that: a fact cites all
turns, and quotes the longest sentence of the turn of a person that shares most words with it.
"""

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from math import sqrt
from pathlib import Path
from typing import Any

import orjson
import regex

from agentcore.recall import Tokenizer
from tests.bench.statements import Case, Outcome, judged, wrong

FOLDER = Path(__file__).parents[1] / "data" / "statements"
HALVES = {"development": "development.jsonl", "held out": "held-out.jsonl"}
FORMS = ("fact", "merge", "rewrite", "skill")
NATURAL = "natural"
"""The form of what `natural-*.jsonl` holds: facts, with the errors that models make."""

_STOP = regex.compile(r"(?<=[.!?\u061f\u2026])\s+|(?<=[\u3002\uff01\uff1f])|\n")
"""Where a sentence ends: after a stop and a space, or after a wide stop."""
_TOKENIZER = Tokenizer()
_PART = 100
"""So many statements are judged by one process before it is asked for the next."""
_Z = 1.959964
"""Quantile of the normal distribution for bounds of 95 %."""


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one statement.

    Args:
        form: Of its case.
        language: Of its case.
        fault: The class of its fault; "" if it is true.
        got_in: Whether it got in.
        codes: Why not.
        account: Case and statement in some lines, if it was judged wrongly; "" of the half that is held out.
    """

    form: str
    language: str
    fault: str
    got_in: bool
    codes: tuple[str, ...]
    account: str


def rows(half: str) -> list[dict[str, Any]]:
    """Read the cases of a half, those with natural errors in the same form as the others."""
    name = HALVES[half]
    natural = [
        {**row, "form": NATURAL, "honest": row["true"], "faulty": row["false"]}
        for row in _lines(FOLDER / f"{NATURAL}-{name}")
    ]
    return [*_lines(FOLDER / name), *natural]


def halves(cases: Iterable[Mapping[str, Any]]) -> tuple[set[str], set[str]]:
    """Split cases in two by the hash of their ids, as many of each language and form in one as in the other.

    Returns:
        The ids of the development half and of the one that is held out.
    """
    kinds: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in cases:
        kinds[row["language"], row.get("form", "")].append(row["id"])
    ordered = [
        one for kind in sorted(kinds) for one in sorted(kinds[kind], key=lambda one: sha256(one.encode()).hexdigest())
    ]
    return set(ordered[::2]), set(ordered[1::2])


def statements(half: str) -> Iterator[Case]:
    """Yield each statement of a half with its evidence, as the passes are driven with it."""
    for row in rows(half):
        for text in row["honest"]:
            yield Case(_row(row, text, ""))
        for one in row["faulty"]:
            yield Case(_row(row, one["statement"], one["class"]))


def measured() -> dict[str, list[Told]]:
    """Judge every statement, in two processes, and tell the progress on the standard error."""
    cases = {half: list(statements(half)) for half in HALVES}
    parts = [
        (half, given[place : place + _PART]) for half, given in cases.items() for place in range(0, len(given), _PART)
    ]
    found: dict[str, list[Told]] = {half: [] for half in HALVES}
    with ProcessPoolExecutor(max_workers=2) as pool:
        outcomes = pool.map(_told, *zip(*parts, strict=True))
        for number, ((half, _), told) in enumerate(zip(parts, outcomes, strict=True), 1):
            found[half] += told
            print(f"\r{number} of {len(parts)} parts judged", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def tables(found: Mapping[str, Sequence[Told]]) -> str:
    """Return the figures as Markdown: per form, language and class, both halves side by side."""
    made = {half: [one for one in told if one.form != NATURAL] for half, told in found.items()}
    natural = {half: [one for one in told if one.form == NATURAL] for half, told in found.items()}
    return "\n\n".join(
        [
            _table("form", made, lambda one: one.form),
            _table("language", made, lambda one: one.language),
            _table("class", made, lambda one: one.fault, only_faults=True),
            _table("natural errors: language", natural, lambda one: one.language),
            _table("natural errors: class", natural, lambda one: one.fault, only_faults=True),
            _codes(found),
        ]
    )


def wilson(count: int, total: int) -> tuple[float, float]:
    """Return the bounds of 95 % of a share (Wilson, "Probable Inference", JASA 22, 1927).

    Example:
        >>> [round(bound, 3) for bound in wilson(0, 100)]
        [0.0, 0.037]
    """
    share, spread = count / total, _Z * _Z / total
    middle = share + spread / 2
    width = _Z * sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, (middle - width) / (1 + spread)), min(1.0, (middle + width) / (1 + spread))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def _row(row: Mapping[str, Any], text: str, fault: str) -> dict[str, Any]:
    kind = "fact" if row["form"] == NATURAL else "merge" if row["form"] == "rewrite" else row["form"]
    given = {"kind": kind, "truth": "faulty" if fault else "honest", "class": fault, "statement": text}
    given |= {name: row[name] for name in ("id", "form", "language")}
    said = [{**one, "at": _at(one["date"], place)} for place, one in enumerate(row["evidence"])]
    match kind:
        case "fact":
            turns = [{**one, "id": f"t{place}", "session": "s"} for place, one in enumerate(said)]
            return {**given, "turns": turns, "cites": [one["id"] for one in turns], "quote": _quote(turns, text)}
        case "merge":
            return {**given, "sources": said, "merged": text}
        case _:
            return {**given, "skill": said[0]["text"], "at": said[0]["at"]}


def _at(day: str, place: int) -> str:
    return (datetime.fromisoformat(f"{day}T09:00:00Z") + timedelta(minutes=place)).isoformat()


def _quote(turns: Sequence[Mapping[str, Any]], text: str) -> str:
    """Return the longest sentence of the turn of a person that shares most words with a statement."""
    words = set(_TOKENIZER.tokens(text))
    said = [one["text"] for one in turns if one["role"] == "user"]
    nearest = max(said, key=lambda one: len(words & set(_TOKENIZER.tokens(one))))
    return max(_STOP.split(nearest), key=len).strip()


def _told(half: str, cases: Sequence[Case]) -> list[Told]:
    return [_of_case(half, one) for one in asyncio.run(judged(cases))]


def _of_case(half: str, one: Outcome) -> Told:
    row = one.case.row
    account = "\n".join(wrong([one])) if half == "development" else ""
    return Told(row["form"], row["language"], row["class"], one.got_in, one.codes, account)


def _table(
    title: str,
    found: Mapping[str, Sequence[Told]],
    name_of: Callable[[Told], str],
    *,
    only_faults: bool = False,
) -> str:
    columns = [("faults let in", True)] if only_faults else [("faults let in", True), ("true ones refused", False)]
    heads = [f"{column}, {half}" for half in found for column, _ in columns]
    lines = [f"| {title} | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    known = {name_of(one) for told in found.values() for one in told}
    names = [one for one in FORMS if one in known] or sorted(known - {""})
    for name in (*names, "all"):
        mine = {half: [one for one in told if name in {name_of(one), "all"}] for half, told in found.items()}
        cells = [
            _wrong([one for one in mine[half] if bool(one.fault) == faulty]) for half in found for _, faulty in columns
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _wrong(told: Sequence[Told]) -> str:
    """Return how many faulty ones got in, or true ones did not, with its share and the bounds of that."""
    if not told:
        return "-"
    count = sum(one.got_in == bool(one.fault) for one in told)
    low, high = wilson(count, len(told))
    return f"{count} of {len(told)}, {100 * count / len(told):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _codes(found: Mapping[str, Sequence[Told]]) -> str:
    """Return why true ones were refused: the first code of each."""
    lines = ["| why true ones were refused | " + " | ".join(found) + " |", f"|{'---|' * (len(found) + 1)}"]
    counts = {
        half: Counter(one.codes[0] if one.codes else "no reason" for one in told if not one.fault and not one.got_in)
        for half, told in found.items()
    }
    codes = sorted({code for count in counts.values() for code in count})
    return "\n".join(
        [*lines, *(f"| `{code}` | {' | '.join(str(counts[half][code]) for half in found)} |" for code in codes)]
    )


__all__ = ["FOLDER", "FORMS", "HALVES", "Told", "halves", "measured", "rows", "statements", "tables", "wilson"]
