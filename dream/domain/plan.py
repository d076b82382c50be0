"""Plan: the journal of a run that was tried on a copy."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.records import RecordKind
from dream.domain.cluster import ClusterChanges, SettledCluster
from dream.domain.declaration import Reads
from dream.domain.journal import JournalRow
from dream.domain.report import RunReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run would do, in the words of its journal.

    Args:
        plan_id: What `dream run --plan` takes.
        created_at: When it was made.
        report: The report of the trial run.
        rows: The journal of the trial run.
        cursors: Where each pass would have looked up to.
        reads: What these cursors count.
        settled: Reopened ids that each pass would have dealt with.
        clusters: What would have become of each pass's settled clusters.
    """

    plan_id: str
    created_at: datetime
    report: RunReport
    rows: tuple[JournalRow, ...]
    cursors: Mapping[str, int]
    reads: Mapping[str, Reads]
    settled: Mapping[str, tuple[str, ...]]
    clusters: Mapping[str, ClusterChanges]

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
            "cursors": dict(self.cursors),
            "reads": dict(self.reads),
            "settled": dict(self.settled),
            "clusters": {
                name: {"settled": [one.to_json() for one in changes.settled], "unsettled": changes.unsettled}
                for name, changes in self.clusters.items()
            },
        }

    @classmethod
    def from_content(cls, plan_id: str, created_at: datetime, report: RunReport, content: Mapping[str, Any]) -> "Plan":
        """Read what `content` wrote."""
        rows = tuple(_from_content(report, created_at, values) for values in content["rows"])
        return cls(
            plan_id=plan_id,
            created_at=created_at,
            report=report,
            rows=rows,
            cursors=content["cursors"],
            # A plan of an earlier version does not say it: its cursors keep what they count.
            reads={name: Reads(reads) for name, reads in content.get("reads", {}).items()},
            settled={name: tuple(ids) for name, ids in content["settled"].items()},
            clusters={
                name: ClusterChanges(
                    tuple(map(SettledCluster.from_json, values["settled"])), tuple(values["unsettled"])
                )
                for name, values in content.get("clusters", {}).items()
            },
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
