"""Stores runs, their steps and reports, and sums what their model calls cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import JSON, Text, bindparam, cast, func, insert, select, type_coerce, update

from agentcore.domain.actor import ActorKind
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import model_calls, model_failures, runs, steps
from agentcore.stores.sql.transaction import encode, of_my_scope
from dream.domain.change import FrozenDirectives
from dream.domain.report import DreamBrief, Outcome, RunKind, RunReport
from dream.domain.session import DREAMS, PREFIX
from dream.domain.step import StepReport
from dream.domain.usage import EVERYTHING, UsageRow, summed
from dream.errors import MOST_NAMED, UnknownRunError
from dream.stores.calls import NO_ANSWER
from dream.stores.sessions import SessionStore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Column, Row, Table

    from agentcore.domain.scope import Scope
    from agentcore.stores.sql.transaction import Transaction

_JSON_TEXT = JSON().with_variant(Text(), "sqlite")
"""Text that is read as JSON: SQLite reads any text so, PostgreSQL wants to be told."""

_MINE = of_my_scope(runs)
_BY_ID = _MINE & (runs.c.id == bindparam("of_run"))
_OPEN = insert(runs)
_CLOSE = update(runs).where(_BY_ID)
_IS_OPEN = _MINE & runs.c.finished.is_(False)
_UNFINISHED = select(runs).where(_IS_OPEN, runs.c.kind == bindparam("kind")).order_by(runs.c.pk)
_ABANDON = update(runs).where(_IS_OPEN, runs.c.kind.in_(bindparam("kinds", expanding=True)))
_STEPS_OF_RUN = of_my_scope(steps) & (steps.c.run_id == bindparam("of_run"))
_LAST_STEP = select(func.max(steps.c.number)).where(_STEPS_OF_RUN)
_STEPS = select(steps).where(_STEPS_OF_RUN).order_by(steps.c.number)
_ADD_STEP = insert(steps)
_RUN = select(runs).where(_BY_ID)
_NEWEST = select(runs).where(_MINE).order_by(runs.c.pk.desc()).limit(bindparam("at_most"))
_KEY_OF = select(runs.c.pk).where(_BY_ID)
_TARGET = select(runs.c.kind, runs.c.target).where(_BY_ID)


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
    report: StepReport
    closing: bool

    @property
    def moved_cursor(self) -> bool:
        """Whether the step set the pass's cursor."""
        return self.cursor_before is not None or self.cursor_after is not None


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
        is_reading: Whether it reads turns apart from a dream.
    """

    run_id: str
    as_of: datetime
    started_at: datetime
    passes: tuple[str, ...]
    directives: FrozenDirectives = field(default_factory=FrozenDirectives)
    log_end: int = 0
    is_reading: bool = False


class RunStore:
    """Runs of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def open(self, report: RunReport, frozen: dict[str, Any]) -> None:
        """Record that a run began, with what it froze."""
        row = {
            "scope_id": self._transaction.scope_id,
            "id": report.run_id,
            "kind": report.kind.value,
            "target": report.target,
            "finished": False,
            "as_of": to_micros(report.as_of),
            "started_at": to_micros(report.started_at),
            "frozen": encode(frozen),
            "actor": str(self._transaction.actor),
        }
        self._connection.execute(_OPEN, row)

    def close(self, report: RunReport) -> None:
        """Record how a run ended."""
        finished = report.finished_at or self._transaction.now
        self._transaction.execute(
            _CLOSE,
            of_run=report.run_id,
            finished=True,
            outcome=report.outcome.value,
            finished_at=to_micros(finished),
            report=encode(report.to_json()),
        )

    def unfinished(self, kind: RunKind = RunKind.DREAM) -> list[OpenRun]:
        """Return runs of a kind that were interrupted, oldest first."""
        return [_to_open_run(row) for row in self._transaction.execute(_UNFINISHED, kind=kind.value)]

    def abandon(self, *kinds: RunKind) -> None:
        """Close interrupted runs of these kinds (of all, if none is named); each committed step stands."""
        named = [kind.value for kind in kinds or RunKind]
        ending = {"outcome": Outcome.PARTIAL.value, "finished_at": to_micros(self._transaction.now)}
        self._transaction.execute(_ABANDON, kinds=named, finished=True, **ending)

    def next_step(self, run_id: str) -> int:
        """Return the number of the run's next step."""
        return (self._transaction.execute(_LAST_STEP, of_run=run_id).scalar() or 0) + 1

    def add_step(self, run_id: str, step: StepRow) -> None:
        """Record a committed step."""
        row = {
            "scope_id": self._transaction.scope_id,
            "run_id": run_id,
            "number": step.number,
            "pass_name": step.pass_name,
            "batch": encode(step.batch),
            "cursor_before": step.cursor_before,
            "cursor_after": step.cursor_after,
            "reopened_consumed": encode(step.reopened_consumed),
            "committed_at": to_micros(self._transaction.now),
            "report": encode({"closing": step.closing, **step.report.to_json()}),
        }
        self._connection.execute(_ADD_STEP, row)

    def steps(self, run_id: str) -> list[StepRow]:
        """Return the committed steps of a run, in order."""
        return [_to_step(row) for row in self._transaction.execute(_STEPS, of_run=run_id)]

    def retired_since(self, instant: datetime) -> int:
        """Return how many entries steps retired since then, folds aside."""
        return self._summed("retired", instant)

    def first_retired_since(self, instant: datetime) -> datetime | None:
        """Return when a step retired entries for the first time since then; None if none did."""
        mine = (steps.c.scope_id == self._transaction.scope_id) & (steps.c.committed_at > to_micros(instant))
        retired = type_coerce(cast(steps.c.report, _JSON_TEXT), JSON)["retired"].as_integer()
        first = select(func.min(steps.c.committed_at)).where(mine, retired > 0)
        found = self._connection.execute(first).scalar()
        return None if found is None else from_micros(found)

    def proposed_since(self, instant: datetime) -> int:
        """Return how many proposals steps made since then, whatever became of them."""
        return self._summed("proposed", instant)

    def _summed(self, number: str, instant: datetime) -> int:
        mine = (steps.c.scope_id == self._transaction.scope_id) & (steps.c.committed_at > to_micros(instant))
        # The database picks the one number out of each report: notes and refusals make reports long.
        report = type_coerce(cast(steps.c.report, _JSON_TEXT), JSON)
        return int(self._connection.execute(select(func.sum(report[number].as_integer())).where(mine)).scalar() or 0)

    def report(self, run_id: str) -> RunReport | None:
        """Return the report of a run, or None if there is none; one that was interrupted has no passes."""
        row = self._transaction.execute(_RUN, of_run=run_id).one_or_none()
        return None if row is None else _to_report(self._transaction.scope, row)

    def actors(self, run_ids: Collection[str]) -> dict[str, str]:
        """Return who asked for each run, as far as it is known."""
        asked = _MINE & runs.c.id.in_(bindparam("among", expanding=True)) & runs.c.actor.is_not(None)
        rows = self._transaction.execute(select(runs.c.id, runs.c.actor).where(asked), among=sorted(run_ids))
        return {row.id: row.actor for row in rows}

    def newest(self, *, limit: int, before: str | None = None) -> list[RunReport]:
        """Return the newest runs, newest first, or those before a run; an unfinished one has no `finished_at`."""
        chosen = _NEWEST if before is None else _NEWEST.where(runs.c.pk < _KEY_OF.scalar_subquery())
        given = {} if before is None else {"of_run": before}
        rows = self._transaction.execute(chosen, at_most=limit, **given)
        return [_to_report(self._transaction.scope, row) for row in rows]

    def last_dream(self) -> RunReport | None:
        """Return the newest dream that came to its end, if there is one among the newest fifty runs."""
        # The newest is it, nearly always: it would cost more to read fifty reports.
        newest = (run for most in (1, 50) for run in self.newest(limit=most))
        return next((run for run in newest if run.is_over_dream), None)

    def resolve(self, prefix: str) -> str:
        """Return the one run id that starts with *prefix*; the beginning of a session's key names its run.

        Raises:
            UnknownRunError: none or several do.
            UnknownSessionError: no session's key does, or several.
        """
        if prefix.startswith(PREFIX):
            return SessionStore(self._transaction).resolve(prefix)
        mine = runs.c.scope_id == self._transaction.scope_id
        statement = select(runs.c.id).where(mine, runs.c.id.startswith(prefix, autoescape=True))
        found = self._connection.execute(statement.order_by(runs.c.id).limit(MOST_NAMED + 1)).scalars().all()
        if prefix in found:
            return prefix
        if not prefix or len(found) != 1:
            raise UnknownRunError(value=prefix, matches=found if prefix else ())
        return found[0]

    def applied(self, plan_prefix: str) -> str | None:
        """Return the newest run that applied the plan whose id starts with this, or None."""
        mine = (runs.c.scope_id == self._transaction.scope_id) & (runs.c.kind == RunKind.PLAN.value)
        statement = select(runs.c.id).where(mine, runs.c.target.startswith(plan_prefix, autoescape=True))
        return self._connection.execute(statement.order_by(runs.c.pk.desc()).limit(1)).scalar() if plan_prefix else None

    def undo_of(self, run_id: str) -> str | None:
        """Return the newest undo of a run that was not undone itself; None if what the run did stands."""
        mine = runs.c.scope_id == self._transaction.scope_id
        undos = select(runs.c.id).where(mine, runs.c.kind == RunKind.UNDO.value, runs.c.target == run_id)
        newest = self._connection.execute(undos.order_by(runs.c.pk.desc()).limit(1)).scalar()
        return newest if newest is not None and self.undo_of(newest) is None else None

    def takes_back(self, run_id: str) -> bool:
        """Tell whether the run took something back: an undo does, the undo of an undo brings it back again."""
        found = self._transaction.execute(_TARGET, of_run=run_id).one_or_none()
        if found is None or found.kind != RunKind.UNDO.value:
            return False
        return not self.takes_back(found.target)


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
        is_reading=frozen.get("is_reading", False),
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
        closing=report["closing"],
        report=StepReport.from_json(report),
    )


_PAGE = 10
_PERSON = ActorKind.PERSON.value


_CHANGES = type_coerce(cast(runs.c.report, _JSON_TEXT), JSON)["changes"].as_integer().label("changes")
_WITHIN = (
    select(runs.c.id, runs.c.started_at, runs.c.finished, runs.c.outcome, _CHANGES)
    .where(_MINE, runs.c.kind.in_(bindparam("kinds", expanding=True)))
    .where(runs.c.started_at >= bindparam("since"), runs.c.started_at < bindparam("until"))
    .order_by(runs.c.started_at.desc(), runs.c.pk.desc())
    .limit(bindparam("at_most"))
)


class RunHistory:
    """Finished dreams of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def is_a_persons(self, run_id: str) -> bool:
        """Tell whether a person asked for a run."""
        asked = _MINE & (runs.c.id == bindparam("of_run"))
        return self._transaction.execute(select(runs.c.actor).where(asked), of_run=run_id).scalar() == _PERSON

    def within(self, since: datetime, until: datetime, *, limit: int) -> list[DreamBrief]:
        """Return the dreams that began in a time, the newest first."""
        rows = self._transaction.execute(
            _WITHIN, since=to_micros(since), until=to_micros(until), at_most=limit, kinds=[one.value for one in DREAMS]
        )
        return [
            DreamBrief(
                run_id=row.id,
                started_at=from_micros(row.started_at),
                outcome=Outcome(row.outcome) if row.finished else None,
                changes=row.changes or 0,
            )
            for row in rows
        ]

    def dreams(self) -> Iterator[RunReport]:
        """Yield the report of each finished dream, the newest first; plans, undos and restores are none."""
        before: int | None = None
        while True:
            statement = select(runs.c.pk, runs.c.report).where(
                runs.c.scope_id == self._transaction.scope_id,
                runs.c.kind == RunKind.DREAM.value,
                runs.c.report.is_not(None),
            )
            if before is not None:
                statement = statement.where(runs.c.pk < before)
            page = self._transaction.connection.execute(statement.order_by(runs.c.pk.desc()).limit(_PAGE)).all()
            for _, report in page:
                yield RunReport.from_json(orjson.loads(report))
            if len(page) < _PAGE:
                return
            before = page[-1].pk


_DAY = 24 * 60 * 60 * 1_000_000
"""Microseconds."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).date()


class UsageStore:
    """The usage of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def rows(self, since: datetime | None = None) -> list[UsageRow]:
        """Return what calls cost that ended at or after *since*, by day, pass and model."""
        answered = self._of(model_calls, model_calls.c.answered_at, since, are_failures=False)
        failed = self._of(model_failures, model_failures.c.failed_at, since, are_failures=True)
        return summed([*answered, *failed], EVERYTHING)

    def _of(self, table: Table, at: Column[Any], since: datetime | None, *, are_failures: bool) -> list[UsageRow]:
        day = (at // _DAY).label("day")
        keys = (day, table.c.pass_name, table.c.model, table.c.failure if are_failures else table.c.finish_reason)
        count = func.count() if are_failures else func.sum(table.c.calls)
        sums = (count, func.sum(table.c.input_tokens), func.sum(table.c.output_tokens))
        statement = select(*keys, *sums).where(table.c.scope_id == self._transaction.scope_id).group_by(*keys)
        if since is not None:
            statement = statement.where(at >= to_micros(since))
        return [
            UsageRow(
                day=_EPOCH + timedelta(days=days),
                pass_name=pass_name,
                model=model,
                calls=count,
                failed=count if are_failures else 0,
                input_tokens=given,
                output_tokens=got,
                unanswered=count if ended == NO_ANSWER else 0,
                unanswered_tokens=given + got if ended == NO_ANSWER else 0,
            )
            for days, pass_name, model, ended, count, given, got in self._transaction.connection.execute(statement)
        ]
