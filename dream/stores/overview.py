"""Reads how every scope of the database stands, in a few statements whatever their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Column, ColumnElement, Table, exists, func, or_, select

from agentcore.domain.memory import Status
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros, to_text
from agentcore.stores.sql.erase import erased_scopes
from agentcore.stores.sql.schema import entries, proposals, runs, schedules, scopes, settings, turns
from dream.domain.report import RunKind
from dream.domain.storage_names import PAUSED_SETTING

WAITING: Final = "waiting"
"""The state of a proposal that a person has yet to decide."""

if TYPE_CHECKING:
    from datetime import datetime

    from agentcore.stores.sql.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeOverview:
    """How a scope stands, in figures.

    Args:
        scope: Whose memory.
        entries: Active entries.
        turns: Turns of the log.
        proposals: Proposals that wait for a person.
        last_dream_at: When the newest finished dream ended; None without one.
        due_at: When it is looked at next; None if not before something changes.
        reason: What for.
        is_paused: Whether a person paused its dreams.
    """

    scope: Scope
    entries: int
    turns: int
    proposals: int
    last_dream_at: datetime | None
    due_at: datetime | None
    reason: str | None
    is_paused: bool

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "scope": str(self.scope),
            "entries": self.entries,
            "turns": self.turns,
            "proposals": self.proposals,
            "last_dream_at": None if self.last_dream_at is None else to_text(self.last_dream_at),
            "due_at": None if self.due_at is None else to_text(self.due_at),
            "reason": self.reason,
            "paused": self.is_paused,
        }


def read_overview(transaction: Transaction) -> list[ScopeOverview]:
    """Return how each scope stands that holds anything, in the order of their names."""
    active = _counts(transaction, entries, entries.c.status == Status.ACTIVE.value)
    said = _counts(transaction, turns)
    unexpired = proposals.c.expires_at > to_micros(transaction.now)
    waiting = _counts(transaction, proposals, proposals.c.state == WAITING, unexpired)
    is_dream = (runs.c.kind == RunKind.DREAM.value) & runs.c.finished
    ended = _by_scope(transaction, runs, func.max(runs.c.finished_at), is_dream)
    paused = _counts(transaction, settings, settings.c.name == PAUSED_SETTING)
    found = select(
        scopes.c.pk, scopes.c.workspace, scopes.c.observer, scopes.c.observed, schedules.c.due_at, schedules.c.reason
    ).outerjoin_from(scopes, schedules, schedules.c.scope_id == scopes.c.pk)
    # As `Storage.scopes`: a row alone, which a switch of its workspace makes, is no scope that holds anything.
    any_setting = exists().where(settings.c.scope_id == scopes.c.pk)
    ordered = found.where(or_(scopes.c.revision > 0, any_setting)).order_by(
        scopes.c.workspace, scopes.c.observer, scopes.c.observed
    )
    gone = erased_scopes(transaction.connection)
    return [
        ScopeOverview(
            scope=scope,
            entries=active.get(key, 0),
            turns=said.get(key, 0),
            proposals=waiting.get(key, 0),
            last_dream_at=_instant(ended.get(key)),
            due_at=_instant(due_at),
            reason=reason,
            is_paused=key in paused,
        )
        for key, *names, due_at, reason in transaction.connection.execute(ordered)
        if (scope := Scope(*names)) not in gone
    ]


def _counts(transaction: Transaction, table: Table, *conditions: ColumnElement[bool]) -> dict[int, int]:
    return _by_scope(transaction, table, func.count(), *conditions)


def _by_scope(
    transaction: Transaction, table: Table, value: ColumnElement[Any], *conditions: ColumnElement[bool]
) -> dict[int, Any]:
    key: Column[int] = table.c.scope_id
    statement = select(key, value).where(*conditions).group_by(key)
    return {row[0]: row[1] for row in transaction.connection.execute(statement)}


def _instant(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
