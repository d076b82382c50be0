"""Runs and their steps."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import JSON, ColumnElement, Row, Table, Text, cast, delete, func, insert, select, type_coerce, update

from agentcore.domain.instants import from_micros, to_micros
from agentcore.domain.scope import Scope
from agentcore.stores.sql.schema import change_feed, journal, model_calls, model_failures, plans, runs, steps
from agentcore.stores.sql.transaction import Transaction, encode
from dream.domain.frozen import FrozenDirectives
from dream.domain.report import Outcome, RunKind, RunReport
from dream.errors import UnknownRunError

_JSON_TEXT = JSON().with_variant(Text(), "sqlite")
"""Text that is read as JSON: SQLite reads any text so, PostgreSQL wants to be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """One committed step of a run.

    Args:
        number: Its place in the run.
        pass_name: The pass.
        batch: Ids and versions it dealt with.
        cursor_before: The pass's cursor before the step; None if it had none, or if the step left it alone.
        cursor_after: The same after it; None if an undo took it away, or if the step left it alone.
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

    @property
    def moved_cursor(self) -> bool:
        """Whether the step set the pass's cursor."""
        return self.cursor_before is not None or self.cursor_after is not None

    @property
    def reopened(self) -> list[str]:
        """Ids that it put into the pass's reopened set."""
        found: list[str] = self.report.get("reopened", [])
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that has not finished: what it froze when it began.

    Args:
        run_id: Its id.
        as_of: The instant it judges by.
        started_at: When it began.
        passes: The passes it was to run, in order.
        directives: The directives of its model passes, as they then were.
        log_end: Position of the newest turn when it began.
    """

    run_id: str
    as_of: datetime
    started_at: datetime
    passes: tuple[str, ...]
    directives: FrozenDirectives = field(default_factory=FrozenDirectives)
    log_end: int = 0


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

    def next_step(self, run_id: str) -> int:
        """Return the number of the run's next step."""
        mine = select(func.max(steps.c.number)).where(steps.c.scope_id == self._transaction.scope_id)
        return (self._connection.execute(mine.where(steps.c.run_id == run_id)).scalar() or 0) + 1

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

    def retired_since(self, instant: datetime) -> int:
        """Return how many entries steps retired since then, folds aside."""
        mine = (steps.c.scope_id == self._transaction.scope_id) & (steps.c.committed_at > to_micros(instant))
        # The database picks the one number out of each report: notes and refusals make reports long.
        report = type_coerce(cast(steps.c.report, _JSON_TEXT), JSON)
        return int(self._connection.execute(select(func.sum(report["retired"].as_integer())).where(mine)).scalar() or 0)

    def report(self, run_id: str) -> RunReport | None:
        """Return the report of a run, or None if there is none; one that was interrupted has no passes."""
        row = self._connection.execute(select(runs).where(self._mine, runs.c.id == run_id)).one_or_none()
        return None if row is None else _to_report(self._transaction.scope, row)

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

    def takes_back(self, run_id: str) -> bool:
        """Tell whether the run took something back: an undo does, the undo of an undo brings it back again."""
        found = self._connection.execute(
            select(runs.c.kind, runs.c.target).where(self._mine, runs.c.id == run_id)
        ).one_or_none()
        if found is None or found.kind != RunKind.UNDO.value:
            return False
        return not self.takes_back(found.target)

    def count_expired(self, before: datetime) -> int:
        """Count the rows of runs that ended before that instant, and plans as old."""
        return sum(
            self._connection.execute(select(func.count()).select_from(table).where(due)).scalar_one()
            for table, due in self._expired(before)
        )

    def purge(self, before: datetime, *, limit: int) -> int:
        """Remove about *limit* of what `count_expired` counts, a run after all that belongs to it; return how much."""
        gone = 0
        for table, due in self._expired(before):
            if gone < limit:
                gone += self._delete(table, due, limit - gone)
        return gone

    def count_feed(self, before: datetime) -> int:
        """Count feed rows written before that instant, the newest aside."""
        return self._connection.execute(
            select(func.count()).select_from(change_feed).where(self._old_feed(before))
        ).scalar_one()

    def purge_feed(self, before: datetime, *, limit: int) -> int:
        """Remove at most *limit* feed rows written before that instant, oldest first, the newest aside."""
        mine = change_feed.c.scope_id == self._transaction.scope_id
        oldest = select(change_feed.c.revision).where(self._old_feed(before)).order_by(change_feed.c.revision)
        doomed = change_feed.c.revision.in_(oldest.limit(limit))
        return self._connection.execute(delete(change_feed).where(mine, doomed)).rowcount

    def _delete(self, table: Table, due: ColumnElement[bool], limit: int) -> int:
        if "pk" in table.c:
            due = table.c.pk.in_(select(table.c.pk).where(due).limit(limit))
        return self._connection.execute(delete(table).where(due)).rowcount

    def _expired(self, before: datetime) -> list[tuple[Table, ColumnElement[bool]]]:
        scope_id = self._transaction.scope_id
        ended = self._mine & (runs.c.finished_at < to_micros(before))
        theirs = select(runs.c.id).where(ended)
        of_runs = [(table, (table.c.scope_id == scope_id) & table.c.run_id.in_(theirs)) for table in (journal, steps)]
        # A plan's calls belong to no run here, so calls go by their own age.
        of_runs += [
            (table, (table.c.scope_id == scope_id) & (at < to_micros(before)))
            for table, at in ((model_calls, model_calls.c.answered_at), (model_failures, model_failures.c.failed_at))
        ]
        old_plans = (plans.c.scope_id == scope_id) & (plans.c.created_at < to_micros(before))
        return [*of_runs, (plans, old_plans), (runs, ended)]

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
        finished_at=None if row.finished_at is None else from_micros(row.finished_at),
        target=row.target,
    )


def _to_open_run(row: Row[Any]) -> OpenRun:
    frozen = orjson.loads(row.frozen)
    return OpenRun(
        run_id=row.id,
        as_of=from_micros(row.as_of),
        started_at=from_micros(row.started_at),
        passes=tuple(frozen["passes"]),
        directives=FrozenDirectives.from_json(frozen.get("directives", {})),
        log_end=frozen.get("log_end", 0),
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
