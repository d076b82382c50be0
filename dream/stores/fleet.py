"""Finds which of all scopes the scheduler has to look at, by indexes alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import orjson
from sqlalchemy import func, insert, literal_column, or_, select, update

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_micros, to_micros
from agentcore.stores.sql.leases import is_gone
from agentcore.stores.sql.schema import (
    leases,
    model_calls,
    model_failures,
    peers,
    runs,
    schedule_terms,
    schedules,
    scopes,
    settings,
)
from dream.domain.report import RunKind
from dream.domain.storage_names import DREAM_LEASE, PAUSED_SETTING
from dream.stores.calls import Spent
from dream.stores.overview import ScopeOverview, read_overview

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement

    from agentcore.domain.capability import Capability
    from agentcore.stores.sql.transaction import Transaction
    from dream.options import DreamOptions, ModelOptions
    from dream.options.levels import OptionLevels
    from dream.options.scheduling import AwakeReading

# In the words of their partial indexes: SQLite takes these for no others.
_IS_ASKED_FOR = schedules.c.reason == literal_column("'manual'")
_INTERRUPTED = select(runs.c.scope_id).where(
    runs.c.finished.op("IS", is_comparison=True)(literal_column("FALSE")), runs.c.kind == RunKind.DREAM.value
)


@dataclass(frozen=True, slots=True)
class Changed:
    """What has happened and has not been planned for.

    Args:
        keys: Keys of the scopes it concerns.
        peers: Keys of the peers, with the moment up to which that is so.
    """

    keys: tuple[int, ...]
    peers: tuple[int, ...]


class Fleet:
    """All scopes of the storage, in one transaction, whatever scope that is bound to; lives as long as it."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._connection = transaction.connection

    def overview(self) -> list[ScopeOverview]:
        """Return how each scope stands, in the order of their names."""
        return read_overview(self._transaction)

    def changed(self, *, limit: int) -> Changed:
        """Return the peers that did something longest ago and have not been planned for, and all who observe them.

        Args:
            limit: Peers at most; of one of them come all scopes, however many observe it.
        """
        waiting = select(peers.c.pk).where(peers.c.changed_since.is_not(None)).order_by(peers.c.changed_since)
        # What happens from now on waits for this transaction, and so is seen as new; a peer that another planner, or an
        # activity, holds is left to the next time.
        held = waiting.limit(limit).with_for_update(skip_locked=True)
        found = tuple(self._connection.execute(held).scalars())
        of_peers = select(scopes.c.pk).join(
            peers, (peers.c.workspace == scopes.c.workspace) & (peers.c.observed == scopes.c.observed)
        )
        concerned = of_peers.where(peers.c.pk.in_(found))
        return Changed(tuple(self._connection.execute(concerned).scalars()), found)

    def settle(self, changed: Changed) -> None:
        """Note that what happened has been planned for, all in this transaction."""
        if changed.peers:
            statement = update(peers).where(peers.c.pk.in_(changed.peers))
            self._connection.execute(statement.values(changed_since=None))

    def claim_terms(self, terms: ScheduleTerms) -> None:
        """Have due times planned by these terms from now on: of hosts that differ, the last to come decides."""
        row = {"options_hash": terms.options_hash[:_DIGEST], "since": to_micros(self._transaction.now)}
        known = update(schedule_terms).where(schedule_terms.c.name == _CURRENT)
        if not self._connection.execute(known.values(row)).rowcount:
            self._connection.execute(insert(schedule_terms), {"name": _CURRENT, **row})

    def goes_by(self, terms: ScheduleTerms) -> bool:
        """Tell whether due times are planned by these terms, and not by those of a host that came later."""
        found = select(schedule_terms.c.options_hash).where(schedule_terms.c.name == _CURRENT)
        return self._connection.execute(found).scalar() == terms.options_hash[:_DIGEST]

    def outdated(self, terms: ScheduleTerms, *, limit: int) -> tuple[int, ...]:
        """Return keys of scopes whose due time was computed from other options, of whatever scope these are."""
        mark, ours = schedules.c.options_hash, terms.options_hash[:_DIGEST]
        # Behind the part that all scopes of a host share come hexadecimal digits, which are below a g.
        others = select(schedules.c.scope_id).where(or_(mark < ours, mark > f"{ours}g"))
        return tuple(self._connection.execute(others.limit(limit)).scalars())

    def due(self, now: datetime, *, limit: int) -> list[dict[int, Scope]]:
        """Return key and scope of those that are to be looked at, at most so many of each of three kinds.

        First come those that a person asked for, then those whose run was interrupted, then all others. Of each kind
        comes what is longest due of every workspace, then the next of every workspace, so that none hides the others.
        """
        asked_for = self._due(now, limit, _IS_ASKED_FOR)
        interrupted = self._due(now, limit, schedules.c.scope_id.in_(_INTERRUPTED))
        others = self._due(now, limit)
        interrupted = {key: scope for key, scope in interrupted.items() if key not in asked_for}
        others = {key: scope for key, scope in others.items() if key not in asked_for | interrupted}
        return [asked_for, interrupted, others]

    def _due(self, now: datetime, limit: int, *conditions: ColumnElement[bool]) -> dict[int, Scope]:
        place = func.row_number().over(partition_by=scopes.c.workspace, order_by=schedules.c.due_at)
        statement = (
            select(scopes.c.pk, scopes.c.workspace, scopes.c.observer, scopes.c.observed)
            .join(schedules, schedules.c.scope_id == scopes.c.pk)
            .where(schedules.c.due_at <= to_micros(now), *conditions)
            .order_by(place, schedules.c.due_at)
            .limit(limit)
        )
        return {key: Scope(*parts) for key, *parts in self._connection.execute(statement)}

    def planned(self, *, after: int, limit: int) -> tuple[int, ...]:
        """Return keys of scopes with a due time, past the key *after*, in order."""
        statement = select(schedules.c.scope_id).where(schedules.c.due_at.is_not(None), schedules.c.scope_id > after)
        return tuple(self._connection.execute(statement.order_by(schedules.c.scope_id).limit(limit)).scalars())

    def next_due(self, after: datetime) -> datetime | None:
        """Return when the next scope is to be looked at beside those due by *after*; None if none is."""
        earliest = select(func.min(schedules.c.due_at)).where(schedules.c.due_at > to_micros(after))
        found = self._connection.execute(earliest).scalar()
        return None if found is None else from_micros(found)

    def most_under_way(self, now: datetime, *, besides: int) -> int:
        """Return how many dreams the process has under way that has most of them.

        Args:
            now: Leases that ran out by then are nobody's.
            besides: The key of a scope that is not counted.
        """
        held = select(leases.c.host, leases.c.pid, leases.c.process_started, func.count()).where(
            leases.c.scope_id.in_(_INTERRUPTED),
            leases.c.scope_id != besides,
            leases.c.name == DREAM_LEASE,
            leases.c.expires_at > to_micros(now),
        )
        with self._transaction.beyond_scope():
            rows = self._connection.execute(held.group_by(leases.c.host, leases.c.pid, leases.c.process_started)).all()
        return max((count for *process, count in rows if not is_gone(*process)), default=0)

    def count(self, *, limit: int) -> int:
        """Return how many scopes there are, counted up to *limit*."""
        some = select(schedules.c.scope_id).limit(limit).subquery()
        return self._connection.execute(select(func.count()).select_from(some)).scalar_one()

    def scopes(self, keys: Sequence[int]) -> list[Scope]:
        """Return scopes by their keys."""
        statement = select(scopes.c.workspace, scopes.c.observer, scopes.c.observed).where(scopes.c.pk.in_(keys))
        return [Scope(*row) for row in self._connection.execute(statement)]


_CURRENT = "current"
_DIGEST = 32
"""Characters of each half of a hash of options."""
_GIVES_NO_WORK = {
    "schedule",
    "enabled",
    "ignore_scope_switches",
    "alarm_after",
    "step_size",
    "max_outputs",
    "resume_within",
    "lease",
}
"""Options that give no pass work it did not have."""


@dataclass(frozen=True, slots=True)
class ScheduleTerms:
    """What of the options bears upon stored schedules.

    Args:
        enabled: Whether anything dreams.
        ignore_scope_switches: Whether scopes dream that switched dreams off.
        model: What a day may cost the scope, and all scopes together.
        zone: The machine's own time zone.
        options_hash: Begins with the hash of all that due times of the host's scopes are computed from; ends in that of
            what gives the passes of this scope work.
        awake: When turns are read apart from dreams; None if they never are.
        readers: The passes that read them.
    """

    enabled: bool
    ignore_scope_switches: bool
    model: ModelOptions
    zone: str
    options_hash: str
    awake: AwakeReading | None = None
    readers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        options: DreamOptions,
        zone: str,
        capabilities: Collection[Capability] = (),
        directives: str = "",
        levels: OptionLevels | None = None,
    ) -> ScheduleTerms:
        """Return the terms that *options* set on a machine in *zone*.

        Args:
            options: The scope's options.
            zone: The machine's own time zone.
            capabilities: What the host offers passes.
            directives: What tells the texts that passes judge by from any others.
            levels: The options of all scopes of the host; None if they are the same.
        """
        around = [zone, sorted(one.value for one in capabilities), directives]
        variants = (options,) if levels is None else levels.variants
        patterns = [] if levels is None else [str(level.pattern) for level in levels.levels]
        marks = _digest([[[_timing(one), _doing(one)] for one in variants], patterns, around])
        marks += _digest([_doing(options), around])
        return cls(
            options.enabled,
            options.ignore_scope_switches,
            options.model,
            zone,
            marks,
            awake=options.schedule.awake,
            readers=options.readers_of_turns(capabilities),
        )

    @property
    def bounds_all(self) -> bool:
        """Whether there is a bound on what all scopes together cost."""
        return self.model.host_tokens_per_day is not None or self.model.host_calls_per_day is not None

    def gives_other_work(self, options_hash: str) -> bool:
        """Tell whether passes may have other work than under the options with that hash."""
        return options_hash[_DIGEST:] != self.options_hash[_DIGEST:]

    def renews_at(self, now: datetime) -> datetime | None:
        """Return when the tokens of the day are renewed; None if there is no bound."""
        return (
            start_of_day(now) + timedelta(days=1) if any(one is not None for one in _day_bounds(self.model)) else None
        )


def _timing(options: DreamOptions) -> list[object]:
    # How many scopes dream at once changes nothing about when one is due.
    when = options.schedule.model_dump(mode="json", exclude={"max_concurrent_dreams"})
    return [when, options.enabled, options.ignore_scope_switches]


def _doing(options: DreamOptions) -> dict[str, object]:
    return options.model_dump(mode="json", exclude=_GIVES_NO_WORK, fallback=_name_of)


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds of one scope.

    Args:
        is_paused: Whether a person paused it.
        lease_until: When the lease of a run under way runs out; None if nobody living holds one.
        spent: What it cost today.
    """

    is_paused: bool
    lease_until: datetime | None
    spent: Spent

    def budget_left(self, model: ModelOptions, of_all: Spent) -> int | None:
        """Return how many tokens are left today, none where no call is; None if there is no bound.

        Args:
            model: The bounds.
            of_all: What the day cost all scopes.
        """
        tokens, calls, all_tokens, all_calls = _day_bounds(model)
        if (calls is not None and self.spent.calls >= calls) or (all_calls is not None and of_all.calls >= all_calls):
            return 0
        left = [bound - spent for bound, spent in ((tokens, self.spent.tokens), (all_tokens, of_all.tokens))
                if bound is not None]  # fmt: skip
        return max(0, min(left)) if left else None

    def spent_bound(self, model: ModelOptions, of_all: Spent) -> str | None:
        """Return the option whose bound of the day is spent; None if none is."""
        spent = (self.spent.tokens, self.spent.calls, of_all.tokens, of_all.calls)
        bounds = zip(_DAY_BOUNDS, _day_bounds(model), spent, strict=True)
        return next((name for name, bound, cost in bounds if bound is not None and cost >= bound), None)


_DAY_BOUNDS: Final = ("tokens_per_day", "calls_per_day", "host_tokens_per_day", "host_calls_per_day")


def _day_bounds(model: ModelOptions) -> tuple[int | None, int | None, int | None, int | None]:
    return model.tokens_per_day, model.calls_per_day, model.host_tokens_per_day, model.host_calls_per_day


def read_facts(transaction: Transaction, keys: Sequence[int]) -> dict[int, Facts]:
    """Return what holds of the scopes with these keys."""
    paused = set(
        transaction.connection.execute(
            select(settings.c.scope_id).where(settings.c.scope_id.in_(keys), settings.c.name == PAUSED_SETTING)
        ).scalars()
    )
    leased = _leased(transaction, keys)
    spent = _spent(transaction, keys)
    return {
        key: Facts(is_paused=key in paused, lease_until=leased.get(key), spent=spent.get(key, Spent())) for key in keys
    }


def _digest(said: object) -> str:
    return blake2b(orjson.dumps(said, option=orjson.OPT_SORT_KEYS), digest_size=_DIGEST // 2).hexdigest()


def _name_of(value: object) -> str:
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def start_of_day(now: datetime) -> datetime:
    """Return when the day (UTC) of an instant began."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _leased(transaction: Transaction, keys: Sequence[int]) -> dict[int, datetime]:
    held = select(leases).where(leases.c.scope_id.in_(keys), leases.c.name == DREAM_LEASE)
    rows = transaction.connection.execute(held.where(leases.c.expires_at > to_micros(transaction.shared_now)))
    return {
        row.scope_id: from_micros(row.expires_at) for row in rows if not is_gone(row.host, row.pid, row.process_started)
    }


def _spent(transaction: Transaction, keys: Sequence[int]) -> dict[int, Spent]:
    today = to_micros(start_of_day(transaction.now))
    spent: dict[int, Spent] = {}
    for table, count, at in (
        (model_calls, func.sum(model_calls.c.calls), model_calls.c.answered_at),
        (model_failures, func.count(), model_failures.c.failed_at),
    ):
        sums = (count, func.sum(table.c.input_tokens), func.sum(table.c.output_tokens))
        of_today = select(table.c.scope_id, *sums).where(table.c.scope_id.in_(keys), at >= today)
        for key, calls, given, got in transaction.connection.execute(of_today.group_by(table.c.scope_id)):
            spent[key] = spent.get(key, Spent()) + Spent(int(calls or 0), int(given or 0), int(got or 0))
    return spent
