"""Reports: what a run did, pass by pass."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.domain.temporal import from_text, to_text
from dream.domain.proposal import Refusal
from dream.domain.reasons import Stop
from dream.domain.rounds import RoundCost

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from dream.domain.proposal import Notes


class Outcome(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    """A pass failed, the budget ended the run, or it was interrupted and is too old to resume."""
    FAILED = "failed"
    """The runner failed, or no pass succeeded."""
    UNCHANGED = "unchanged"
    """There was nothing to do."""
    DEFERRED = "deferred"
    """Another process holds the lease, or the scope is paused."""


class PassOutcome(StrEnum):
    """How a pass ended."""

    APPLIED = "applied"
    PROPOSED = "proposed"
    """It changed nothing itself; what it would change waits for a person."""
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"


class RunKind(StrEnum):
    """What a run was for."""

    DREAM = "dream"
    PLAN = "plan"
    """It applied a stored plan."""
    UNDO = "undo"
    RESTORE = "restore"
    REVIEW = "review"
    """A person approved or rejected what passes had proposed."""
    EDIT = "edit"
    """A person changed entries by hand, or answered a question."""
    SKIPPED = "skipped"
    """Nothing ran: it is the record of windows that passed while nobody watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What one pass did in a run.

    Args:
        name: The pass.
        outcome: How it ended.
        reason: Why it was skipped, unchanged or failed; None when applied.
        backlog: Items left for later runs.
        accepted: Changes made.
        proposed: Change sets that wait for a person.
        purged: Records removed for good by retention.
        looked_at: Items it dealt with.
        refused: Changes not made, with reason codes.
        notes: Findings, plain JSON values.
        calls: Model calls, failed ones included.
        input_tokens: Tokens sent.
        output_tokens: Tokens received.
        seconds: Time it took.
        rounds: What each round of its exchanges cost, by number and kind, where there was more than the first.
    """

    name: str
    outcome: PassOutcome
    reason: str | None = None
    backlog: int = 0
    accepted: int = 0
    proposed: int = 0
    purged: int = 0
    looked_at: int = 0
    refused: tuple[Refusal, ...] = ()
    notes: Notes = field(default_factory=dict[str, Any])
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    rounds: tuple[RoundCost, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        rounds = {"rounds": [one.to_json() for one in self.rounds]} if self.rounds else {}
        return {
            "name": self.name,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "backlog": self.backlog,
            "accepted": self.accepted,
            "proposed": self.proposed,
            "purged": self.purged,
            "looked_at": self.looked_at,
            "refused": [{"code": item.code, "detail": item.detail} for item in self.refused],
            "notes": dict(self.notes),
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds": self.seconds,
            **rounds,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> PassReport:
        """Read what `to_json` wrote."""
        refused = tuple(Refusal(item["code"], item["detail"]) for item in values["refused"])
        rounds = tuple(RoundCost.from_json(one) for one in values.get("rounds", ()))
        typed: dict[str, Any] = {**values, "outcome": PassOutcome(values["outcome"]), "refused": refused}
        typed["rounds"] = rounds
        return cls(**typed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What a run did.

    Args:
        run_id: Its id; empty for a run that did not start.
        scope: Whose memory.
        kind: What it was for.
        outcome: How it ended.
        reason: Why it was deferred or failed.
        changes: Changes made, purges aside.
        purged: Records removed for good.
        as_of: The instant it judged by.
        started_at: When it began.
        finished_at: When it ended; None while it is under way.
        resumed: Whether it went on after an interruption.
        target: The run it undid, the plan it applied.
        passes: Pass by pass, in order.
        directives: Hash of each directive that its model passes sent.
        trigger: What started it, such as `manual` or `interval`; None if that was not kept.
        missed: The windows that it makes up for, in words; None if there are none.
        actor: Who asked for it, such as `person`; None where a schedule did, or that was not kept.
    """

    run_id: str
    scope: Scope
    kind: RunKind = RunKind.DREAM
    outcome: Outcome
    reason: str | None = None
    changes: int = 0
    purged: int = 0
    as_of: datetime
    started_at: datetime
    finished_at: datetime | None = None
    resumed: bool = False
    target: str | None = None
    passes: tuple[PassReport, ...] = ()
    directives: Mapping[str, str] = field(default_factory=dict[str, str])
    trigger: str | None = None
    missed: str | None = None
    actor: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: the document that `dream run --json` prints."""
        return {
            "run_id": self.run_id,
            "scope": str(self.scope),
            "kind": self.kind.value,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "changes": self.changes,
            "purged": self.purged,
            "as_of": to_text(self.as_of),
            "started_at": to_text(self.started_at),
            "finished_at": None if self.finished_at is None else to_text(self.finished_at),
            "resumed": self.resumed,
            "target": self.target,
            "trigger": self.trigger,
            "missed": self.missed,
            "actor": self.actor,
            "directives": dict(self.directives),
            "passes": [item.to_json() for item in self.passes],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> RunReport:
        """Read what `to_json` wrote."""
        typed: dict[str, Any] = {
            **values,
            "scope": Scope.parse(values["scope"]),
            "kind": RunKind(values["kind"]),
            "outcome": Outcome(values["outcome"]),
            "passes": tuple(PassReport.from_json(item) for item in values["passes"]),
        }
        for name in ("as_of", "started_at", "finished_at"):
            typed[name] = None if values[name] is None else from_text(values[name])
        return cls(**typed)

    @property
    def is_over_dream(self) -> bool:
        """Whether it is a dream, by a plan or without one, that came to its end."""
        return self.kind in {RunKind.DREAM, RunKind.PLAN} and self.finished_at is not None

    @property
    def without_room(self) -> tuple[str, ...]:
        """A sentence for each pass that asked nothing, because the budget has no room for a single call."""
        told = (item for item in self.passes if Stop.of(item.reason) is Stop.BUDGET_TOO_SMALL)
        return tuple(f"{item.name} could not ask: {str(item.reason).partition(': ')[2]}." for item in told)

    def with_passes(self, passes: tuple[PassReport, ...], finished_at: datetime) -> RunReport:
        """Return the report of the finished run, its outcome and sums taken from *passes*."""
        return replace(
            self,
            passes=passes,
            finished_at=finished_at,
            changes=sum(item.accepted for item in passes),
            purged=sum(item.purged for item in passes),
            outcome=_outcome(passes),
            reason=_spent(passes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamBrief:
    """A dream in one line, for lists of many.

    Args:
        run_id: The run.
        started_at: When it began.
        outcome: How it ended; None if it has not.
        changes: How many changes it made.
    """

    run_id: str
    started_at: datetime
    outcome: Outcome | None
    changes: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        outcome = None if self.outcome is None else self.outcome.value
        told = {"run_id": self.run_id, "started_at": to_text(self.started_at)}
        return {**told, "outcome": outcome, "changes": self.changes}


def _outcome(passes: tuple[PassReport, ...]) -> Outcome:
    ran = [item for item in passes if item.outcome is not PassOutcome.SKIPPED]
    failed = [item for item in ran if item.outcome is PassOutcome.FAILED]
    if failed:
        return Outcome.FAILED if len(failed) == len(ran) else Outcome.PARTIAL
    if _spent(passes):
        return Outcome.PARTIAL
    busy = any(item.accepted or item.proposed or item.purged or item.looked_at for item in ran)
    return Outcome.COMPLETED if busy else Outcome.UNCHANGED


def _spent(passes: tuple[PassReport, ...]) -> str | None:
    """Return which budget ended the run, in words; None if none did."""
    stops = {item.reason: item.name for item in passes if Stop.of(item.reason)}
    if not stops:
        return None
    reason, name = next(iter(stops.items()))
    bound = _BOUNDS.get(Stop(reason)) if reason in set(Stop) else None
    return reason if bound is None else f"{reason}: {name} has more to do; the next run goes on, or raise model.{bound}"


_BOUNDS = {
    Stop.RUN_BUDGET: "tokens_per_run",
    Stop.DAY_BUDGET: "tokens_per_day",
    Stop.DAY_CALLS: "calls_per_day",
    Stop.HOST_TOKENS: "host_tokens_per_day",
    Stop.HOST_CALLS: "host_calls_per_day",
}
"""The option that each of the bounds stands in."""


class AlarmKind(StrEnum):
    """What is wrong with the newest of the runs."""

    FAILED = "failed"
    """It failed, a pass of it failed, or it was interrupted and never finished."""
    NO_OP = "no_op"
    """It changed nothing, although work was waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Runs in a row that came to nothing.

    Args:
        scope: Whose dreams.
        kind: What is wrong with the newest of them.
        runs: How many there are.
        since: When the first of them began.
        run_id: The newest of them.
        passes: The passes that failed in it, or whose work is still waiting.
    """

    scope: Scope
    kind: AlarmKind
    runs: int
    since: datetime
    run_id: str
    passes: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence for a person; it holds nothing of the memory."""
        dreams = "The last dream" if self.runs == 1 else f"The last {self.runs:,} dreams"
        since = f"since {to_text(self.since)[:16].replace('T', ' ')} UTC"
        names = ", ".join(self.passes) or "the whole run"
        problem = f"failed (the newest in {names})"
        if self.kind is AlarmKind.NO_OP:
            problem = f"came to nothing (the newest changed nothing, with work waiting for {names})"
        command = shlex.join(("dream", "show", self.run_id, "--scope", str(ScopePattern.of(self.scope))))
        return f"{dreams} on {self.scope} {problem}, {since}: `{command}` says why."

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "kind": self.kind.value,
            "runs": self.runs,
            "since": to_text(self.since),
            "run_id": self.run_id,
            "passes": list(self.passes),
            "sentence": self.sentence,
        }


def find_alarm(newest_first: Iterable[RunReport], after: int) -> Alarm | None:
    """Return the alarm that dreams give rise to; None if fewer than *after* in a row came to nothing.

    Args:
        newest_first: Reports of finished dreams; read only as far as they came to nothing.
        after: How many it takes, 1 or more.
    """
    row = list(takewhile(lambda report: _trouble(report) is not None, newest_first))
    if len(row) < after:
        return None
    newest = row[0]
    kind, passes = _trouble(newest) or (AlarmKind.FAILED, ())
    return Alarm(
        scope=newest.scope,
        kind=kind,
        runs=len(row),
        since=row[-1].started_at,
        run_id=newest.run_id,
        passes=passes,
    )


def _trouble(report: RunReport) -> tuple[AlarmKind, tuple[str, ...]] | None:
    """Return what is wrong with a run, and with which of its passes."""
    failed = tuple(item.name for item in report.passes if item.outcome is PassOutcome.FAILED)
    if failed or report.outcome is Outcome.FAILED:
        return AlarmKind.FAILED, failed
    stopped = any(Stop.of(item.reason) for item in report.passes)
    if report.outcome is Outcome.PARTIAL and not stopped:
        return AlarmKind.FAILED, ()  # it was interrupted, and nobody went on with it
    waiting = tuple(item.name for item in report.passes if _is_stuck(item))
    if waiting and not report.changes and not report.purged:
        return AlarmKind.NO_OP, waiting
    return None


def _is_stuck(item: PassReport) -> bool:
    """Tell whether a pass had work and got nowhere with it.

    Looking at entries and finding nothing to change is getting on, as long as there is less to look at afterwards.
    """
    if item.outcome is PassOutcome.SKIPPED or item.accepted or item.proposed or item.purged:
        return False
    all_was_refused = bool(item.calls and item.refused)
    nothing_was_looked_at = bool(item.backlog and not item.looked_at)
    return Stop.of(item.reason) is not None or all_was_refused or nothing_was_looked_at
