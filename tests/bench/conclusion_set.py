"""A labelled set of conclusions, written without sight of the rules, and what the host makes of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from agentcore.domain.conclusion import Premise
from agentcore.domain.memory import Level, MemoryEntry
from agentcore.domain.scope import Scope
from agentcore.domain.text import fold_key
from agentcore.testing.contracts.samples import of_level
from dream.domain.proposal import Refusal
from dream.guards.names import builtin_vocabulary
from dream.passes.answers import read_item
from dream.passes.conflicts import SideEvidence
from dream.passes.exchange_state import Item
from dream.passes.inference.judging import Drawn, InferenceRules, judge_deductions, judge_patterns
from dream.passes.inference.prompt import DeductionItem, PatternItem, RecordHandles
from tests.bench.conclusion_readings import is_accepted, readings

SET: Final = Path(__file__).parents[1] / "data" / "conclusions" / "conclusions.jsonl"
STRUCTURAL: Final = frozenset({"unseen_premise", "too_much_against", "circle", "one_occasion_twice"})
"""Classes of faults that the host alone can see, whatever a reader says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conclusion with the entries that a model was shown.

    Args:
        case_id: Its name.
        kind: What it is a case of.
        language: Two letters.
        is_pattern: Whether it is an induction.
        is_good: Whether it ought to be taken.
        half: `a` was seen while the rules were written, `b` was not.
        row: What the file says.
    """

    case_id: str
    kind: str
    language: str
    is_pattern: bool
    is_good: bool
    half: str
    row: Mapping[str, Any]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Case":
        """Read a row."""
        return cls(
            case_id=row["id"],
            kind=row["class"],
            language=row["lang"],
            is_pattern=row["kind"] == "induction",
            is_good=row["good"],
            half=row["half"],
            row=row,
        )

    def judged(self) -> Item[Drawn] | Refusal:
        """Return what the host hands to a reader, or why it refuses it."""
        shown = _shown(self.row["premises"])
        rules = _rules(shown)
        handle = {one["handle"]: f"e{place}" for place, one in enumerate(self.row["premises"], 1)}
        cites = [handle.get(one, f"e9{one[1:]}") for one in self.row["cites"]]
        if self.is_pattern:
            against = [handle.get(one, one) for one in self.row["against"]]
            answer = {"content": self.row["statement"], "pattern": self.row["pattern"], "premises": cites,
                      "against": against, "existing": None}  # fmt: skip
            pattern = read_item(PatternItem, 1, answer)
            return pattern if isinstance(pattern, Refusal) else _first(judge_patterns([pattern], rules))
        answer = {"kind": "implication", "content": self.row["statement"], "premises": cites}
        deduction = read_item(DeductionItem, 1, answer)
        return deduction if isinstance(deduction, Refusal) else _first(judge_deductions([deduction], rules))


def cases() -> Iterator[Case]:
    """Yield the cases of the set."""
    for line in SET.read_bytes().splitlines():
        yield Case.of(orjson.loads(line))


def measured() -> list[tuple[Case, Refusal | None]]:
    """Return each case, and why the host refuses it; None if it hands it to a reader."""
    judged = ((case, case.judged()) for case in cases())
    return [(case, one if isinstance(one, Refusal) else None) for case, one in judged]


def tables() -> str:
    """Return what becomes of both halves, honest conclusions and near misses, by their class.

    Handed on is what the host alone has a reader check; written is what a recorded reader then finds to follow.
    """
    found, read = measured(), readings()
    heads = [f"half {half}: {what}" for half in HALVES for what in ("handed on", *(("written",) if read else ()))]
    lines = [f"| class | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    for is_good in (True, False):
        every = [one for one in found if one[0].is_good is is_good]
        for kind in sorted({case.kind for case, _ in every}):
            of_kind = [one for one in every if one[0].kind == kind]
            lines.append(f"| {_CALLED[is_good]}: {kind} | {' | '.join(_shares(of_kind, read))} |")
        lines.append(f"| **{_CALLED[is_good]}, all** | {' | '.join(_shares(every, read))} |")
    return "\n".join(lines)


HALVES: Final = ("a", "b")
"""What was seen while the rules were written, and what was not."""
_CALLED: Final = {True: "honest", False: "faulty"}


def _shares(found: Sequence[tuple[Case, Refusal | None]], read: Mapping[str, Mapping[str, Any]]) -> list[str]:
    shares: list[str] = []
    for half in HALVES:
        mine = [one for one in found if one[0].half == half]
        counts = [sum(refusal is None for _, refusal in mine), *([len(written(mine, read))] if read else [])]
        shares += [f"{count} of {len(mine)}" for count in counts]
    return shares


def written(found: Sequence[tuple[Case, Refusal | None]], read: Mapping[str, Mapping[str, Any]]) -> list[Case]:
    """Return the cases that a dream with a recorded reader writes: handed on by the host, and read as following."""
    handed_on = [case for case, refusal in found if refusal is None and case.case_id in read]
    return [case for case in handed_on if is_accepted(case.row, read[case.case_id])]


def _first(judged: tuple[list[Item[Drawn]], list[Refusal]]) -> Item[Drawn] | Refusal:
    items, refused = judged
    return items[0] if items else refused[0]


def _shown(premises: Sequence[Mapping[str, Any]]) -> RecordHandles:
    entries: dict[str, MemoryEntry] = {}
    resting: dict[str, Premise] = {}
    for place, one in enumerate(premises, 1):
        said_at = datetime.fromisoformat(one["date"]).replace(tzinfo=UTC)
        entry_id = f"id{place}"
        entries[f"e{place}"] = MemoryEntry(
            id=entry_id,
            scope=Scope.default(),
            content=one["text"],
            created_at=said_at,
            recorded_at=said_at,
            last_seen_at=said_at,
            **of_level(Level(one["level"])),
        )
        resting[entry_id] = Premise(entry_id, fold_key(one["text"]), said_at, one["session"])
    ids = {handle: entry.id for handle, entry in entries.items()}
    return RecordHandles(ids=ids, entries=entries, premises=resting, fresh=frozenset(entries))


def _rules(shown: RecordHandles) -> InferenceRules:
    entries = list(shown.entries.values())
    return InferenceRules(
        shown=shown,
        depths={entry.id: int(entry.is_conclusion) for entry in entries},
        known={},
        vocabulary=builtin_vocabulary(),
        sides={entry.id: SideEvidence.of([entry]) for entry in entries},
        as_of=max(entry.created_at for entry in entries),
    )
