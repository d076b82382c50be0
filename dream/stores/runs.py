"""Runs and their steps."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Row, delete, func, insert, select, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.scope import Scope
from agentcore.stores.sql.schema import change_feed, journal, model_calls, plans, runs, steps
from agentcore.stores.sql.transaction import Transaction, encode
from dream.domain.report import Outcome, RunKind, RunReport
from dream.errors import UnknownRunError


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One committed step of a run.

    Args:
        number: Its place in the run.
        pass_name: The pass.
        batch: Ids and versions it dealt with.
        cursor_before: The pass's cursor before the step; None if it had none.
        cursor_after: The same after it; None if the step left it alone.
        reopened_consumed: Ids it took out of the pass's reopened set.
        report: What the step adds to the pass's report.
        closing: Whether it ends the pass.
    """

    number: int
    pass_name: str
    batch: list[list[Any]]
    cursor_before: int | None
    cursor_after: int | None
    reopened_consumed: list[str]
    report: dict[str, Any]
    closing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that has not finished: what it froze when it began.

    Args:
        run_id: Its id.
        as_of: The instant it judges by.
        started_at: When it began.
        passes: The passes it was to run, in order.
    """

    run_id: str
    as_of: datetime
    started_at: datetime
    passes: tuple[str, ...]


class RunStore:
    """Runs of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = runs.c.scope_id == transaction.scope_id

    def open(self, report: RunReport, frozen: dict[str, Any]) -> None:
        """Record that a run began, with what it froze."""
        self._connection.execute(
            insert(runs).values(
                scope_id=self._transaction.scope_id,
                id=report.run_id,
                kind=report.kind.value,
                target=report.target,
                finished=False,
                as_of=to_micros(report.as_of),
                started_at=to_micros(report.started_at),
                frozen=encode(frozen),
            ),
        )

    def close(self, report: RunReport) -> None:
        """Record how a run ended."""
        finished = report.finished_at or self._transaction.now
        values = {"finished": True, "outcome": report.outcome.value, "finished_at": to_micros(finished)}
        statement = update(runs).where(self._mine, runs.c.id == report.run_id)
        self._connection.execute(statement.values(report=encode(report.to_json()), **values))

    def unfinished(self) -> list[OpenRun]:
        """Return dream runs that were interrupted, oldest first."""
        statement = select(runs).where(self._mine, runs.c.finished.is_(False), runs.c.kind == RunKind.DREAM.value)
        return [_to_open_run(row) for row in self._connection.execute(statement.order_by(runs.c.pk))]

    def abandon(self, *kinds: RunKind) -> None:
        """Close interrupted runs of these kinds (of all, if none is named); each committed step stands."""
        named = [kind.value for kind in kinds or RunKind]
        statement = update(runs).where(self._mine, runs.c.finished.is_(False), runs.c.kind.in_(named))
        now = to_micros(self._transaction.now)
        self._connection.execute(statement.values(finished=True, outcome=Outcome.PARTIAL.value, finished_at=now))

    def add_step(self, run_id: str, step: StepRow) -> None:
        """Record a committed step."""
        self._connection.execute(
            insert(steps).values(
                scope_id=self._transaction.scope_id,
                run_id=run_id,
                number=step.number,
                pass_name=step.pass_name,
                batch=encode(step.batch),
                cursor_before=step.cursor_before,
                cursor_after=step.cursor_after,
                reopened_consumed=encode(step.reopened_consumed),
                committed_at=to_micros(self._transaction.now),
                report=encode({"closing": step.closing, **step.report}),
            ),
        )

    def steps(self, run_id: str) -> list[StepRow]:
        """Return the committed steps of a run, in order."""
        mine = select(steps).where(steps.c.scope_id == self._transaction.scope_id, steps.c.run_id == run_id)
        return [_to_step(row) for row in self._connection.execute(mine.order_by(steps.c.number))]

    def report(self, run_id: str) -> RunReport | None:
        """Return the report of a finished run, or None."""
        statement = select(runs.c.report).where(self._mine, runs.c.id == run_id)
        text = self._connection.execute(statement).scalar()
        return None if text is None else RunReport.from_json(orjson.loads(text))

    def newest(self, *, limit: int) -> list[RunReport]:
        """Return the newest runs, newest first; an unfinished one has no `finished_at`."""
        statement = select(runs).where(self._mine).order_by(runs.c.pk.desc()).limit(limit)
        return [_to_report(self._transaction.scope, row) for row in self._connection.execute(statement)]

    def resolve(self, prefix: str) -> str:
        """Return the one run id that starts with *prefix*; UnknownRunError if none or several do."""
        statement = select(runs.c.id).where(self._mine, runs.c.id.startswith(prefix, autoescape=True))
        found = self._connection.execute(statement.order_by(runs.c.id).limit(2)).scalars().all()
        if prefix in found:
            return prefix
        if not prefix or len(found) != 1:
            raise UnknownRunError(value=prefix, matches=len(found))
        return found[0]

    def kind(self, run_id: str) -> RunKind:
        """Return what the run was for."""
        return RunKind(
            self._connection.execute(select(runs.c.kind).where(self._mine, runs.c.id == run_id)).scalar_one()
        )

    def count_expired(self, before: datetime) -> int:
        """Count runs that ended before that instant."""
        due = select(func.count()).select_from(runs).where(self._mine, runs.c.finished_at < to_micros(before))
        return self._connection.execute(due).scalar_one()

    def purge(self, before: datetime) -> int:
        """Remove runs that ended before that instant, with their steps, journal and answers, and plans as old."""
        due = select(runs.c.id).where(self._mine, runs.c.finished_at < to_micros(before))
        for table in (steps, journal, model_calls):
            mine = table.c.scope_id == self._transaction.scope_id
            self._connection.execute(delete(table).where(mine, table.c.run_id.in_(due)))
        old = plans.c.created_at < to_micros(before)
        self._connection.execute(delete(plans).where(plans.c.scope_id == self._transaction.scope_id, old))
        return self._connection.execute(delete(runs).where(self._mine, runs.c.finished_at < to_micros(before))).rowcount

    def count_feed(self, before: datetime) -> int:
        """Count feed rows written before that instant, the newest aside."""
        return self._connection.execute(
            select(func.count()).select_from(change_feed).where(self._old_feed(before))
        ).scalar_one()

    def purge_feed(self, before: datetime) -> int:
        """Remove feed rows written before that instant, the newest aside."""
        return self._connection.execute(delete(change_feed).where(self._old_feed(before))).rowcount

    def _old_feed(self, before: datetime) -> Any:
        mine = change_feed.c.scope_id == self._transaction.scope_id
        newest = select(func.max(change_feed.c.revision)).where(mine).scalar_subquery()
        return mine & (change_feed.c.recorded_at < to_micros(before)) & (change_feed.c.revision < newest)


def _to_report(scope: Scope, row: Row[Any]) -> RunReport:
    if row.report is not None:
        return RunReport.from_json(orjson.loads(row.report))
    return RunReport(
        run_id=row.id,
        scope=scope,
        kind=RunKind(row.kind),
        outcome=Outcome.PARTIAL,
        reason="interrupted",
        as_of=from_micros(row.as_of),
        started_at=from_micros(row.started_at),
        target=row.target,
    )


def _to_open_run(row: Row[Any]) -> OpenRun:
    frozen = orjson.loads(row.frozen)
    return OpenRun(
        run_id=row.id,
        as_of=from_micros(row.as_of),
        started_at=from_micros(row.started_at),
        passes=tuple(frozen["passes"]),
    )


def _to_step(row: Row[Any]) -> StepRow:
    report = orjson.loads(row.report)
    return StepRow(
        number=row.number,
        pass_name=row.pass_name,
        batch=orjson.loads(row.batch),
        cursor_before=row.cursor_before,
        cursor_after=row.cursor_after,
        reopened_consumed=orjson.loads(row.reopened_consumed),
        closing=report.pop("closing"),
        report=report,
    )
