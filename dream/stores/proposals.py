"""Stores what waits for a person (proposals, plans), what people took back, and texts that were refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import bindparam, delete, func, insert, select, update

from agentcore.domain.temporal import from_micros, to_micros, to_text
from agentcore.stores.sql.schema import decisions, plans, proposals, refused_texts, runs, steps
from agentcore.stores.sql.transaction import chunks, contains, encode, of_my_scope
from dream.domain.change import ChangeSet
from dream.domain.plan import Plan
from dream.domain.reasons import Refused
from dream.domain.refused import RefusedText
from dream.domain.report import RunKind, RunReport
from dream.domain.waiting import WaitingProposal
from dream.errors import OutdatedPlanError, UnknownPlanError, UnknownProposalError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Row

    from agentcore.domain.scope import Scope
    from agentcore.stores.sql.transaction import Transaction

_WAITING, _APPROVED, _REJECTED = "waiting", "approved", "rejected"


class ProposalStore:
    """Proposals of one scope, in one transaction; lives as long as it.

    What has expired is gone. What was approved stays, for an undo of its approval, until retention removes its run. Of
    what was rejected the marks stay, so that a `forget` finds them.
    """

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = proposals.c.scope_id == transaction.scope_id

    def add(self, proposal: WaitingProposal) -> None:
        """Have a change set wait."""
        change_set = proposal.change_set
        changed = [change.record_id for change in change_set.changes]
        marks = [(record_id, change_set.fingerprints.get(record_id)) for record_id in changed]
        # Records it is about and leaves as they are: other proposals may change them.
        beside = [(one, mark, False) for one, mark in change_set.fingerprints.items() if one not in changed]
        self._connection.execute(
            insert(proposals).values(
                scope_id=self._transaction.scope_id,
                id=proposal.proposal_id,
                run_id=proposal.run_id,
                pass_name=proposal.pass_name,
                state=_WAITING,
                changes=encode(change_set.to_json()),
                marks=encode([*marks, *beside]),
                looks_again=encode([proposal.reader, proposal.members]),
                proposed_at=to_micros(proposal.proposed_at),
                expires_at=to_micros(proposal.expires_at),
            )
        )

    def waiting(self, pass_name: str | None = None) -> list[WaitingProposal]:
        """Return what waits, of one pass or of all, in the order it was proposed."""
        statement = select(proposals).where(self._open())
        if pass_name is not None:
            statement = statement.where(proposals.c.pass_name == pass_name)
        return self._read(statement.order_by(proposals.c.pk))

    def get_many(self, ids: Collection[str]) -> list[WaitingProposal]:
        """Return those of *ids* that nobody decided, expired ones too, in the order they were proposed."""
        return self._among(ids, _WAITING)

    def approved(self, ids: Collection[str]) -> list[WaitingProposal]:
        """Return those of *ids* whose changes a person had made, in the order they were proposed."""
        return self._among(ids, _APPROVED)

    def resolve(self, prefix: str) -> str:
        """Return the one undecided proposal whose id starts with *prefix*; UnknownProposalError if none or several."""
        begins = proposals.c.id.startswith(prefix, autoescape=True)
        undecided = self._mine & (proposals.c.state == _WAITING)
        found = self._connection.execute(select(proposals.c.id).where(undecided, begins).limit(2)).scalars().all()
        if not prefix or len(found) != 1:
            decided = self._decided(begins) if prefix and not found else None
            raise UnknownProposalError(value=prefix, matches=len(found), decided=decided)
        return found[0]

    def _decided(self, begins: ColumnElement[bool]) -> str | None:
        """Return who decided the one proposal that is meant, and when, in words; None if that is not known."""
        over = self._mine & proposals.c.state.in_([_APPROVED, _REJECTED]) & begins
        found = self._connection.execute(select(proposals.c.id).where(over).limit(2)).scalars().all()
        if len(found) != 1:
            return None
        # A step names what it approved among its proposals, and what it rejected among its refusals.
        is_named = contains(steps.c.report, f'"{found[0]}"')
        of_step = (steps.c.scope_id == runs.c.scope_id) & (steps.c.run_id == runs.c.id)
        mine = (runs.c.scope_id == self._transaction.scope_id) & (runs.c.kind == RunKind.REVIEW.value)
        reviews = select(runs.c.id, runs.c.actor, runs.c.started_at).join(steps, of_step).where(mine, is_named)
        run = self._connection.execute(reviews.order_by(runs.c.pk.desc()).limit(1)).one_or_none()
        if run is None:
            return None
        at = to_text(from_micros(run.started_at))[:16].replace("T", " ")
        return f"{run.actor or 'somebody'} decided it on {at} UTC, in run {run.id}"

    def marks(self) -> list[tuple[str | None, str | None]]:
        """Return which records wait to be changed (None for others), each with what a rejection declines."""
        rows = self._connection.execute(select(proposals.c.marks).where(self._open())).scalars()
        return [(None if kept else record_id, mark) for row in rows for record_id, mark, *kept in orjson.loads(row)]

    def counts(self) -> dict[str, int]:
        """Return how many proposals of each pass wait."""
        counted = select(proposals.c.pass_name, func.count()).where(self._open()).group_by(proposals.c.pass_name)
        return {row[0]: row[1] for row in self._connection.execute(counted.order_by(proposals.c.pass_name))}

    def remove(self, ids: Collection[str]) -> None:
        """Drop proposals that wait no longer."""
        for chunk in chunks(sorted(ids)):
            self._connection.execute(delete(proposals).where(self._mine, proposals.c.id.in_(chunk)))

    def approve(self, ids: Collection[str]) -> None:
        """Keep these as they are, for an undo of their approval; they wait no longer."""
        for chunk in chunks(sorted(ids)):
            mine = self._mine & proposals.c.id.in_(chunk)
            self._connection.execute(update(proposals).where(mine).values(state=_APPROVED))

    def reopen(self, proposal: WaitingProposal) -> None:
        """Have one that was approved wait again, on the records as *proposal* has them."""
        mine = self._mine & (proposals.c.id == proposal.proposal_id)
        waits_again = {"state": _WAITING, "changes": encode(proposal.change_set.to_json())}
        self._connection.execute(update(proposals).where(mine).values(waits_again))

    def reject(self, ids: Collection[str]) -> None:
        """Keep of these the marks alone."""
        for chunk in chunks(sorted(ids)):
            mine = self._mine & proposals.c.id.in_(chunk)
            self._connection.execute(update(proposals).where(mine).values(state=_REJECTED, changes=None))

    def withdraw(self, run_id: str, pass_name: str) -> None:
        """Drop what a run that is taken back proposed and nobody rejected: no undo of an approval brings it back."""
        mine = self._mine & (proposals.c.run_id == run_id) & (proposals.c.pass_name == pass_name)
        self._connection.execute(delete(proposals).where(mine, proposals.c.state != _REJECTED))

    def count_expired(self, at: datetime) -> int:
        """Count what nobody decided in time."""
        return self._connection.execute(select(func.count()).select_from(proposals).where(self._late(at))).scalar_one()

    def expire(self, at: datetime, *, limit: int) -> list[WaitingProposal]:
        """Drop at most *limit* that nobody decided in time, oldest first, and return them."""
        late = self._read(select(proposals).where(self._late(at)).order_by(proposals.c.pk).limit(limit))
        self.remove([one.proposal_id for one in late])
        return late

    def _open(self) -> ColumnElement[bool]:
        unexpired = proposals.c.expires_at > to_micros(self._transaction.now)
        return self._mine & (proposals.c.state == _WAITING) & unexpired

    def _late(self, at: datetime) -> ColumnElement[bool]:
        return self._mine & (proposals.c.state == _WAITING) & (proposals.c.expires_at <= to_micros(at))

    def _among(self, ids: Collection[str], state: str) -> list[WaitingProposal]:
        found: list[Row[Any]] = []
        for chunk in chunks(sorted(set(ids))):
            mine = self._mine & (proposals.c.state == state) & proposals.c.id.in_(chunk)
            found += self._connection.execute(select(proposals).where(mine))
        scope = self._transaction.scope
        return [_to_proposal(scope, row) for row in sorted(found, key=lambda row: row.pk)]

    def _read(self, statement: Any) -> list[WaitingProposal]:
        rows: Sequence[Row[Any]] = self._connection.execute(statement).all()
        return [_to_proposal(self._transaction.scope, row) for row in rows]


def _to_proposal(scope: Scope, row: Row[Any]) -> WaitingProposal:
    reader, members = orjson.loads(row.looks_again)
    return WaitingProposal(
        proposal_id=row.id,
        scope=scope,
        run_id=row.run_id,
        pass_name=row.pass_name,
        proposed_at=from_micros(row.proposed_at),
        expires_at=from_micros(row.expires_at),
        change_set=ChangeSet.from_json(scope, orjson.loads(row.changes)),
        reader=reader,
        members=tuple(members),
    )


class PlanStore:
    """Plans of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = plans.c.scope_id == transaction.scope_id

    def save(self, plan: Plan) -> None:
        """Keep a plan."""
        self._connection.execute(
            insert(plans).values(
                scope_id=self._transaction.scope_id,
                id=plan.plan_id,
                created_at=to_micros(plan.created_at),
                as_of=to_micros(plan.report.as_of),
                changes=encode(plan.content()),
                report=encode(plan.report.to_json()),
            ),
        )

    def get(self, prefix: str) -> Plan:
        """Return the one plan whose id starts with *prefix*.

        Raises:
            UnknownPlanError: none or several do.
            OutdatedPlanError: an earlier version kept it.
        """
        statement = select(plans).where(self._mine, plans.c.id.startswith(prefix, autoescape=True))
        found = self._connection.execute(statement.limit(2)).all()
        if not prefix or len(found) != 1:
            raise UnknownPlanError(value=prefix)
        content: dict[str, Any] = orjson.loads(found[0].changes)
        if "steps" not in content or any("waits" not in step for _, step in content["steps"]):
            raise OutdatedPlanError(value=found[0].id)
        report = RunReport.from_json(orjson.loads(found[0].report))
        created_at: datetime = from_micros(found[0].created_at)
        return Plan.from_content(found[0].id, created_at, report, content)

    def newest(self, *, since: datetime) -> str | None:
        """Return the id of the plan that was kept last, if it was made at or after an instant."""
        newest = (
            select(plans.c.id).where(self._mine, plans.c.created_at >= to_micros(since)).order_by(plans.c.pk.desc())
        )
        return self._connection.execute(newest.limit(1)).scalar()

    def delete(self, plan_id: str) -> None:
        """Remove a plan that was applied."""
        self._connection.execute(delete(plans).where(self._mine, plans.c.id == plan_id))


UNDONE = "undone"

_AMONG = of_my_scope(decisions) & decisions.c.fingerprint.in_(bindparam("among", expanding=True))
_DECLINED = select(decisions.c.fingerprint).where(_AMONG)
_RECONSIDER = delete(decisions).where(_AMONG)


class DecisionReader:
    """Decisions of one scope, for reading; lives as long as its transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def declined(self, fingerprints: Collection[str]) -> set[str]:
        """Return those that a person took back."""
        found: set[str] = set()
        for chunk in chunks(sorted(set(fingerprints))):
            found.update(self._transaction.execute(_DECLINED, among=chunk).scalars())
        return found

    def withheld(self, fingerprints: Collection[str]) -> Mapping[str, Refused]:
        """Return those that must not be proposed: what a person took back, or has yet to decide."""
        if not fingerprints:
            return {}
        waiting = {mark for _, mark in ProposalStore(self._transaction).marks() if mark is not None}
        found = dict.fromkeys(waiting.intersection(fingerprints), Refused.AWAITS_REVIEW)
        return found | dict.fromkeys(self.declined(fingerprints), Refused.UNDONE_BY_PERSON)


class DecisionStore(DecisionReader):
    """Decisions of one scope, in one transaction; lives as long as it."""

    def decline(self, fingerprints: Collection[str], *, run_id: str) -> None:
        """Remember that a person took these back."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "fingerprint": item,
                "kind": UNDONE,
                "run_id": run_id,
                "decided_at": to_micros(self._transaction.now),
            }
            for item in sorted(set(fingerprints) - self.declined(fingerprints))
        ]
        if rows:
            self._transaction.connection.execute(insert(decisions), rows)

    def reconsider(self, fingerprints: Collection[str]) -> None:
        """Let dreams propose these again."""
        for chunk in chunks(sorted(set(fingerprints))):
            self._transaction.execute(_RECONSIDER, among=chunk)


class RefusedTextStore:
    """Refused texts of one scope, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._mine = refused_texts.c.scope_id == transaction.scope_id

    def record(self, run_id: str, refused: Sequence[RefusedText]) -> None:
        """Keep what was refused in a run."""
        rows = [
            {
                "scope_id": self._transaction.scope_id,
                "run_id": run_id,
                "pass_name": one.pass_name,
                "code": one.code,
                "detail": one.detail,
                "text": one.text,
                "cites": encode(list(one.cites)),
                "refused_at": to_micros(one.refused_at),
            }
            for one in refused
        ]
        if rows:
            self._connection.execute(insert(refused_texts), rows)

    def of_run(self, run_id: str) -> list[RefusedText]:
        """Return what is still kept of a run, in the order it was refused."""
        mine = select(refused_texts).where(self._mine, refused_texts.c.run_id == run_id)
        return [
            RefusedText(
                pass_name=row.pass_name,
                code=row.code,
                detail=row.detail,
                text=row.text,
                cites=tuple(orjson.loads(row.cites)),
                refused_at=from_micros(row.refused_at),
            )
            for row in self._connection.execute(mine.order_by(refused_texts.c.pk))
        ]

    def count_expired(self, before: datetime) -> int:
        """Count what was refused before that instant."""
        old = select(func.count()).select_from(refused_texts).where(self._old(before))
        return self._connection.execute(old).scalar_one()

    def purge(self, before: datetime, *, limit: int) -> int:
        """Remove at most *limit* texts that were refused before that instant; return how many."""
        oldest = select(refused_texts.c.pk).where(self._old(before)).order_by(refused_texts.c.pk).limit(limit)
        return self._connection.execute(delete(refused_texts).where(refused_texts.c.pk.in_(oldest))).rowcount

    def _old(self, before: datetime) -> ColumnElement[bool]:
        return self._mine & (refused_texts.c.refused_at < to_micros(before))
