"""Describes plans: the steps of a run that was tried on a copy, kept to be taken as they stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from agentcore.domain.records import RecordKind
from dream.domain.change import JournalRow
from dream.domain.step import StepDraft

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from dream.domain.report import RunReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run would do.

    Args:
        plan_id: What `dream run --plan` takes.
        created_at: When it was made.
        report: The report of the trial run.
        rows: The journal of the trial run, for people.
        steps: The steps of the trial run, each with the name of its pass, as they are to be taken.
    """

    plan_id: str
    created_at: datetime
    report: RunReport
    rows: tuple[JournalRow, ...]
    steps: tuple[tuple[str, StepDraft], ...]

    def __str__(self) -> str:
        """Return it for people, a line for each change."""
        head = f"Plan {self.plan_id} for {self.report.scope}: {len(self.rows)} changes"
        return "\n".join([head, *map(str, self.rows)])

    def to_json(self) -> dict[str, Any]:
        """Return the document that `dream plan --json` prints."""
        return {
            "plan_id": self.plan_id,
            **{name: value for name, value in self.report.to_json().items() if name != "run_id"},
            "changes_planned": [row.to_json() for row in self.rows],
        }

    def content(self) -> dict[str, Any]:
        """Return what the store keeps beside the report."""
        return {
            "rows": [_to_content(row) for row in self.rows],
            "steps": [[name, draft.to_json()] for name, draft in self.steps],
        }

    @classmethod
    def from_content(cls, plan_id: str, created_at: datetime, report: RunReport, content: Mapping[str, Any]) -> Plan:
        """Read what `content` wrote."""
        return cls(
            plan_id=plan_id,
            created_at=created_at,
            report=report,
            rows=tuple(_from_content(report, created_at, values) for values in content["rows"]),
            steps=tuple((name, StepDraft.from_json(report.scope, values)) for name, values in content["steps"]),
        )


def _to_content(row: JournalRow) -> dict[str, Any]:
    return {**row.to_json(), "fingerprint": row.fingerprint, "step": row.step}


def _from_content(report: RunReport, recorded_at: datetime, values: Mapping[str, Any]) -> JournalRow:
    def image(name: str) -> str | None:
        value = values[name]
        return None if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()

    return JournalRow(
        scope=report.scope,
        run_id=report.run_id,
        step=values["step"],
        pass_name=values["pass"],
        number=values["number"],
        operation=values["operation"],
        kind=RecordKind(values["kind"]),
        record_id=values["id"],
        before=image("before"),
        after=image("after"),
        reason=values["reason"],
        fingerprint=values["fingerprint"],
        recorded_at=recorded_at,
        scrubbed=False,
    )
