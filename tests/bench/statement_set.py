"""How the judge of words judges the statements of `tests/data/statements`: `python -m tests.bench.guards --set words`.

Each statement is judged with its evidence alone. A merge, a rewrite and a skill must tell all of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from math import sqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson

from dream.guards.verdict import EvidenceText, Verdict, judge

FOLDER = Path(__file__).parents[1] / "data" / "statements"
HALVES = {"development": "development.jsonl", "held out": "held-out.jsonl"}
FORMS = ("fact", "merge", "rewrite", "skill")
NATURAL = "natural"
"""The form of what `natural-*.jsonl` holds: facts, with the errors that models make."""
ANSWERED = "answered"
"""The form of what `answered-*.jsonl` holds: facts that a model answered, and what is made from them."""

_Z = 1.959964
"""Quantile of the normal distribution for bounds of 95 %."""


@dataclass(frozen=True, slots=True)
class Case:
    """One statement with its evidence and what it is known to be.

    Args:
        form: Of its case.
        language: Of its case.
        fault: The class of its fault; "" if it is true.
        statement: It.
        evidence: What it is made from.
    """

    form: str
    language: str
    fault: str
    statement: str
    evidence: tuple[EvidenceText, ...]

    @property
    def whole(self) -> bool:
        """Whether it must tell all of its evidence."""
        return self.form not in {"fact", ANSWERED, NATURAL}


@dataclass(frozen=True, slots=True)
class Told:
    """What was found of one statement.

    Args:
        form: Of its case.
        language: Of its case.
        fault: The class of its fault; "" if it is true.
        verdict: The verdict.
        account: Case, statement and what refutes it in some lines; "" of the half that is held out.
    """

    form: str
    language: str
    fault: str
    verdict: Verdict
    account: str


def rows(half: str) -> list[dict[str, Any]]:
    """Read the cases of a half, the answered ones and those with natural errors in the same form as the others."""
    name = HALVES[half]
    natural = [
        {**row, "form": NATURAL, "honest": row["true"], "faulty": row["false"]}
        for row in _lines(FOLDER / f"{NATURAL}-{name}")
    ]
    files = (name, f"more-{name}", f"answered-{name}")
    return [*(row for file in files for row in _lines(FOLDER / file)), *natural]


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
    """Yield each statement of a half with its evidence."""
    for row in rows(half):
        evidence = tuple(_evidence(one) for one in row["evidence"])
        for text in row["honest"]:
            yield Case(row["form"], row["language"], "", text, evidence)
        for one in row["faulty"]:
            yield Case(row["form"], row["language"], one["class"], one["statement"], evidence)


def _evidence(row: Mapping[str, Any]) -> EvidenceText:
    said_at = datetime.fromisoformat(f"{row['date']}T09:00:00Z")
    speaker = row["speaker"] or None
    return EvidenceText(text=row["text"], speaker=speaker, is_person=row["role"] != "assistant", said_at=said_at)


def measured() -> dict[str, list[Told]]:
    """Judge every statement."""
    return {half: [_told(half, case) for case in statements(half)] for half in HALVES}


def _told(half: str, case: Case) -> Told:
    found = judge(case.statement, case.evidence, whole=case.whole)
    account = _account(case, found.verdict, map(str, found.details)) if half == "development" else ""
    return Told(case.form, case.language, case.fault, found.verdict, account)


def _account(case: Case, verdict: Verdict, details: Iterable[str]) -> str:
    said = [f"    {one.speaker or ''} {one.said_at:%Y-%m-%d}: {one.text}" for one in case.evidence]
    title = f"{case.form} {case.language} {case.fault or 'honest'}: {verdict} {'; '.join(details)}"
    return "\n".join([title, *said, f"  -> {case.statement}"])


def is_wrong(told: Told) -> bool:
    """Tell whether words alone misjudged it: a proven fault, or a refuted true one."""
    return told.verdict is (Verdict.PROVEN if told.fault else Verdict.REFUTED)


def seconds_each(repeat: int = 3) -> list[float]:
    """Return how long each judgement takes on the development half, sorted: the best of some."""
    found: list[float] = []
    for case in statements("development"):
        best = float("inf")
        for _ in range(repeat):
            started = perf_counter()
            judge(case.statement, case.evidence, whole=case.whole)
            best = min(best, perf_counter() - started)
        found.append(best)
    return sorted(found)


def tables(found: Mapping[str, Sequence[Told]]) -> str:
    """Return the figures as Markdown: per form, language and class, both halves side by side."""
    made = {half: [one for one in told if one.form != NATURAL] for half, told in found.items()}
    natural = {half: [one for one in told if one.form == NATURAL] for half, told in found.items()}
    return "\n\n".join(
        [
            _table("form", found, lambda one: one.form),
            _table("language", found, lambda one: one.language),
            _table("class", made, lambda one: one.fault, only_faults=True),
            _table("natural errors: class", natural, lambda one: one.fault, only_faults=True),
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


_COLUMNS = ((True, Verdict.PROVEN), (True, Verdict.REFUTED), (False, Verdict.PROVEN), (False, Verdict.REFUTED))


def _table(
    title: str,
    found: Mapping[str, Sequence[Told]],
    name_of: Callable[[Told], str],
    *,
    only_faults: bool = False,
) -> str:
    columns = [one for one in _COLUMNS if one[0] or not only_faults]
    heads = [f"{'faults' if faulty else 'true'} {verdict}, {half}" for half in found for faulty, verdict in columns]
    lines = [f"| {title} | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    known = {name_of(one) for told in found.values() for one in told}
    names = [one for one in (*FORMS, ANSWERED, NATURAL) if one in known] or sorted(known - {""})
    for name in (*names, "all"):
        mine = {half: [one for one in told if name in {name_of(one), "all"}] for half, told in found.items()}
        cells = [
            _share([one.verdict is verdict for one in mine[half] if bool(one.fault) == faulty])
            for half in found
            for faulty, verdict in columns
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(hits: Sequence[bool]) -> str:
    """Return how many, with its share and the bounds of that; what is neither proven nor refuted is undecided."""
    if not hits:
        return "-"
    count = sum(hits)
    low, high = wilson(count, len(hits))
    return f"{count} of {len(hits)}, {100 * count / len(hits):.1f} % ({100 * low:.1f} to {100 * high:.1f})"


__all__ = ["FOLDER", "FORMS", "HALVES", "Case", "Told", "halves", "is_wrong", "measured", "rows", "seconds_each"]
__all__ += ["statements", "tables", "wilson"]
