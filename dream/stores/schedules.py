"""Stores when each scope dreams next, and reads it with all that bears upon it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
from sqlalchemy import and_, bindparam, insert, select, update

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.schema import peers, schedules, scopes, switches
from agentcore.stores.sql.settings import any_within
from agentcore.stores.sql.transaction import chunks, encode, micros
from dream.stores.calls import Spent, spent_by_all
from dream.stores.fleet import read_facts, start_of_day
from dream.stores.unread import read_unread
from dream.triggers import STATE_VERSION, PassWork, Reason, ScheduleState, Switch, SwitchSource, winning_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Row

    from agentcore.stores.sql.transaction import Transaction
    from dream.stores.fleet import Facts, ScheduleTerms
    from dream.triggers import Decision

_INSTANTS = ("last_attempt_at", "last_success_at", "used_until", "armed", "requested_at", "read_at")
_NUMBERS = ("failures", "explicit_seen", "began_with", "reads_failed")


_SHARED = (
    *("work", "last_attempt_at", "last_success_at", "problem", "used_until", "armed", "scheduled_runs"),
    *("requested_at", "waits_for_quiet", "read_at", "reads_failed", "version"),
)
"""What a row keeps under the names of `ScheduleState`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """What a row keeps; the fields that are not named here are as in `ScheduleState`.

    Args:
        explicit_seen: How many explicit entries there had been when the last success began.
        began_with: The same when the run under way began.
        is_running: Whether a run began and has not ended.
    """

    version: int = STATE_VERSION
    work: tuple[PassWork, ...] = ()
    last_attempt_at: datetime | None = None
    last_success_at: datetime | None = None
    failures: int = 0
    problem: str | None = None
    used_until: datetime | None = None
    armed: datetime | None = None
    scheduled_runs: tuple[datetime, ...] = ()
    requested_at: datetime | None = None
    waits_for_quiet: bool = False
    explicit_seen: int = 0
    began_with: int = 0
    is_running: bool = False
    read_at: datetime | None = None
    reads_failed: int = 0

    def shared(self) -> dict[str, Any]:
        """Return the fields that `ScheduleState` has as they are."""
        return {name: getattr(self, name) for name in _SHARED}


def encode_state(state: StoredState) -> str:
    """Return the text of the column."""
    return encode(
        {
            "version": state.version,
            "work": [[one.name, micros(one.at), one.asks_model, one.is_waiting] for one in state.work],
            **{name: micros(getattr(state, name)) for name in _INSTANTS},
            **{name: getattr(state, name) for name in _NUMBERS},
            "scheduled_runs": [to_micros(run) for run in state.scheduled_runs],
            "is_running": state.is_running,
            "waits_for_quiet": state.waits_for_quiet,
            "problem": state.problem,
        }
    )


def decode(text: str) -> StoredState:
    """Read what `encode_state` wrote; of a later version nothing but that number is believed."""
    values: Mapping[str, Any] = orjson.loads(text)
    version = int(values["version"])
    if version > STATE_VERSION:
        return StoredState(version=version)
    # Rows of earlier versions know nothing of readings.
    known: dict[str, Any] = {name: _instant(values.get(name)) for name in _INSTANTS}
    known |= {name: int(values.get(name, 0)) for name in _NUMBERS}
    return StoredState(
        version=version,
        work=tuple(
            PassWork(name, _instant(at), asks_model=asks, is_waiting=waits) for name, at, asks, waits in values["work"]
        ),
        scheduled_runs=tuple(from_micros(run) for run in values["scheduled_runs"]),
        is_running=values["is_running"],
        waits_for_quiet=values.get("waits_for_quiet", False),
        problem=values.get("problem"),  # rows of earlier versions have none
        **known,
    )


def _instant(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


ANYTHING_NEW = "(anything new)"
"""The name of work that no pass has been asked about yet: something was stored since they were."""
INTERRUPTED_RUN = "(interrupted run)"
"""The name of the work that goes on with a run which was broken off, though its passes may have nothing new."""

_log = logging.getLogger(__name__)
_WIDE, _OWN = switches.alias("wide"), switches.alias("own")
_WRITTEN = ("registered_at", "due_at", "reason", "options_hash", "state", "workspace", "priority")
_UPDATE = (
    update(schedules)
    .where(schedules.c.scope_id == bindparam("b_scope_id"))
    .values({name: bindparam(f"b_{name}") for name in _WRITTEN})
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule of one scope, as it is in one transaction.

    Args:
        key: The scope's key in the database.
        state: What decisions rest on.
        explicit_entries: How many explicit entries people ever added; it only grows.
        began_with: The same when the run under way began.
        is_running: Whether a run began and has not ended; if nobody holds the lease, its process died.
        due_at: When it is looked at next; None if not before something changes.
        reason: What for.
        is_stored: Whether there is a row of it yet.
        changed_since: When the first thing happened that it has not been planned for.
    """

    key: int
    state: ScheduleState
    explicit_entries: int = 0
    began_with: int = 0
    is_running: bool = False
    due_at: datetime | None = None
    reason: Reason = Reason.NEVER
    is_stored: bool = False
    changed_since: datetime | None = None

    @property
    def is_assumed(self) -> bool:
        """Whether its work is assumed, because passes have not been asked since something changed."""
        return any(work.name == ANYTHING_NEW for work in self.state.work)

    def with_news(self, since: datetime) -> Schedule:
        """Return it with work since an instant, whatever the passes may say of it; older work stands beside it."""
        if self.is_assumed:
            return self
        work = (*self.state.work, PassWork(ANYTHING_NEW, since, is_waiting=True))
        return replace(self, state=replace(self.state, work=work))

    def learning_within(self) -> Schedule:
        """Return it as one that dreams for the sake of a session, or of a turn, that is learnt from all the same."""
        known = self.state.learning
        if known.on or known.source not in {SwitchSource.WORKSPACE, SwitchSource.SCOPE}:
            return self
        learning = Switch(on=True, source=SwitchSource.SESSION)
        return replace(self, state=replace(self.state, learning=learning))

    @property
    def was_asked_for_and_died(self) -> bool:
        """Whether the process of a run of all passes that a person asked for died."""
        return self.is_running and self.reason is Reason.MANUAL and self.state.lease_until is None

    def planned(self, decision: Decision) -> Schedule:
        """Return it with the next look that *decision* gives."""
        return replace(self, due_at=decision.due_at, reason=decision.reason)


class ScheduleStore:
    """Schedules of whatever scopes, in one transaction; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection
        self._of_all: Spent | None = None

    def _spent_by_all(self) -> Spent:
        if self._of_all is None:
            self._of_all = spent_by_all(self._transaction, start_of_day(self._transaction.now))
        return self._of_all

    def mine(self, terms: ScheduleTerms) -> Schedule:
        """Return the schedule of the transaction's scope, stored or not."""
        found = self.of([self._transaction.scope_id], lambda _: terms)
        if found:
            return found[0]
        state = ScheduleState(scope=self._transaction.scope, registered_at=self._transaction.now, zone=terms.zone)
        return Schedule(key=self._transaction.scope_id, state=_switched(state, terms, None, None))

    def of(self, keys: Iterable[int], terms_of: Callable[[Scope], ScheduleTerms]) -> list[Schedule]:
        """Return the schedules of scopes, by their keys, each on the terms of its scope."""
        found: list[Schedule] = []
        for chunk in chunks(sorted(set(keys))):
            rows = self._held(chunk)
            facts = read_facts(self._transaction, chunk)
            closed = [row.pk for row in rows if False in (row.wide_learning, row.own_learning)]
            within = any_within(self._connection, closed) if closed else set[int]()
            for row in rows:
                one = _to_schedule(row, facts, terms_of, self._transaction.now, self._spent_by_all)
                one = one.learning_within() if row.pk in within else one
                found.append(self._with_unread(one, terms_of(one.state.scope)))
        return found

    def _held(self, chunk: Sequence[int]) -> Sequence[Any]:
        """Return the rows of scopes, which nobody else writes: a schedule is read, changed and written whole."""
        while True:
            held = self._transaction.hold(_KEYS.where(schedules.c.scope_id.in_(chunk)))
            rows = self._connection.execute(_ALL.where(scopes.c.pk.in_(chunk)).order_by(scopes.c.pk)).all()
            # One that another writer stored in between is not held yet.
            if not self._transaction.among_writers or sum(row.state is not None for row in rows) <= held:
                return rows

    def _with_unread(self, one: Schedule, terms: ScheduleTerms) -> Schedule:
        if terms.awake is None or not terms.readers:
            return one
        own = replace(self._transaction, scope=one.state.scope, scope_id=one.key)
        unread = read_unread(own, terms.readers, terms.awake)
        return replace(one, state=replace(one.state, unread=unread))

    def save(self, changed: Sequence[Schedule]) -> None:
        """Write schedules; those of a later version of the program are left as they are."""
        ours = [one for one in changed if one.state.version <= STATE_VERSION]
        known = [_to_row(one) for one in ours if one.is_stored]
        new = [_to_row(one) for one in ours if not one.is_stored]
        if known:
            self._connection.execute(_UPDATE, [{f"b_{name}": value for name, value in row.items()} for row in known])
        if new:
            self._connection.execute(insert(schedules), new)


_KEYS = select(schedules.c.scope_id).order_by(schedules.c.scope_id)
_ALL = select(
    scopes.c.pk,
    scopes.c.workspace,
    scopes.c.observer,
    scopes.c.observed,
    scopes.c.explicit_entries,
    schedules.c.registered_at,
    schedules.c.due_at,
    schedules.c.reason,
    schedules.c.options_hash,
    schedules.c.state,
    peers.c.active_at,
    peers.c.changed_since,
    _WIDE.c.dream.label("wide_dream"),
    _WIDE.c.learning.label("wide_learning"),
    _OWN.c.dream.label("own_dream"),
    _OWN.c.learning.label("own_learning"),
).select_from(
    scopes.outerjoin(schedules, schedules.c.scope_id == scopes.c.pk)
    .outerjoin(peers, and_(peers.c.workspace == scopes.c.workspace, peers.c.observed == scopes.c.observed))
    .outerjoin(
        _WIDE,
        and_(
            _WIDE.c.workspace == scopes.c.workspace,
            _WIDE.c.observer == "",
            _WIDE.c.observed == "",
            _WIDE.c.session_id == "",
        ),
    )
    .outerjoin(
        _OWN,
        and_(
            _OWN.c.workspace == scopes.c.workspace,
            _OWN.c.observer == scopes.c.observer,
            _OWN.c.observed == scopes.c.observed,
            _OWN.c.session_id == "",
        ),
    ),
)


_Terms: TypeAlias = "Callable[[Scope], ScheduleTerms]"


def _to_schedule(
    row: Row[Any], facts: Mapping[int, Facts], terms_of: _Terms, now: datetime, of_all: Callable[[], Spent]
) -> Schedule:
    scope = Scope(row.workspace, row.observer, row.observed)
    terms = terms_of(scope)
    stored, is_readable = _stored(row.state, scope)
    known = facts[row.pk]
    seen_at = now if row.changed_since is None else min(now, from_micros(row.changed_since))
    everybody = of_all() if terms.bounds_all else Spent()
    state = ScheduleState(
        scope=scope,
        registered_at=seen_at if row.registered_at is None else from_micros(row.registered_at),
        zone=terms.zone,
        last_activity_at=None if row.active_at is None else from_micros(row.active_at),
        new_entries=max(0, row.explicit_entries - stored.explicit_seen),
        failures=_failures(stored, known),
        is_paused=known.is_paused,
        lease_until=known.lease_until,
        budget_left=known.budget_left(terms.model, everybody),
        spent_bound=known.spent_bound(terms.model, everybody),
        budget_renews_at=terms.renews_at(now),
        options_hash=row.options_hash or "",
        **stored.shared(),
    )
    schedule = Schedule(
        key=row.pk,
        state=_switched(state, terms, row, row),
        explicit_entries=row.explicit_entries,
        began_with=stored.began_with,
        is_running=stored.is_running,
        due_at=None if row.due_at is None else from_micros(row.due_at),
        reason=Reason(row.reason) if row.reason in set(Reason) else Reason.NEVER,
        is_stored=row.state is not None,
        changed_since=None if row.changed_since is None else from_micros(row.changed_since),
    )
    return schedule if is_readable else schedule.with_news(seen_at)


def _failures(stored: StoredState, known: Facts) -> int:
    """Count failures; the first run that a process died in is gone on with at once, and backs off only after that."""
    has_died = stored.is_running and known.lease_until is None and stored.failures == 1
    return 0 if has_died else stored.failures


def _stored(text: str | None, scope: Scope) -> tuple[StoredState, bool]:
    """Return what a row keeps, and whether it could be read; of one that cannot, nothing is known."""
    if text is None:
        return StoredState(), True
    try:
        return decode(text), True
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        _log.warning("schedule_unreadable", extra={"scope": str(scope)})
        return StoredState(), False


def _switched(state: ScheduleState, terms: ScheduleTerms, wide: Row[Any] | None, own: Row[Any] | None) -> ScheduleState:
    def won(name: str) -> Any:
        return winning_switch(
            enabled=terms.enabled,
            ignore_scope_switches=terms.ignore_scope_switches,
            workspace=None if wide is None else getattr(wide, f"wide_{name}"),
            scope=None if own is None else getattr(own, f"own_{name}"),
        )

    return replace(state, dreaming=won("dream"), learning=won("learning"))


def _to_row(schedule: Schedule) -> dict[str, Any]:
    state = schedule.state
    stored = StoredState(
        failures=state.failures,
        explicit_seen=schedule.explicit_entries - state.new_entries,
        began_with=schedule.began_with,
        is_running=schedule.is_running,
        **{name: getattr(state, name) for name in _SHARED},
    )
    return {
        "scope_id": schedule.key,
        "registered_at": to_micros(state.registered_at.astimezone(UTC)),
        "due_at": None if schedule.due_at is None else to_micros(schedule.due_at),
        "reason": schedule.reason.value,
        "options_hash": state.options_hash,
        "state": encode_state(stored),
        "workspace": state.scope.workspace,
        "priority": _priority(schedule),
    }


ASKED_FOR, INTERRUPTED = 100, 50
"""How far dreams that people asked for, and runs to go on with, come before timed ones in a fleet."""


def _priority(schedule: Schedule) -> int:
    if schedule.is_running or any(work.name == INTERRUPTED_RUN for work in schedule.state.work):
        return INTERRUPTED  # the one is due when its lease has run out, the other was handed over
    return ASKED_FOR if schedule.reason is Reason.MANUAL else 0
