"""Reads what else bears upon the next dream of many scopes: pauses, leases, and the tokens of the day."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

import orjson
from sqlalchemy import func, select

from agentcore.domain.capability import Capability
from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.processes import is_gone
from agentcore.stores.sql.schema import leases, model_calls, model_failures, settings
from agentcore.stores.sql.transaction import Transaction
from dream.domain.names import DREAM_LEASE, PAUSED_SETTING
from dream.options import DreamOptions

_DIGEST = 32
"""Characters of each half of a hash of options."""
_GIVES_NO_WORK = {
    "schedule",
    "enabled",
    "force",
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
        force: Whether scopes dream that switched dreams off.
        tokens_per_day: What a day may cost; None for no bound.
        zone: The machine's own time zone.
        options_hash: Of all that a due time is computed from; ends in the hash of what gives passes work.
    """

    enabled: bool
    force: bool
    tokens_per_day: int | None
    zone: str
    options_hash: str

    @classmethod
    def of(
        cls, options: DreamOptions, zone: str, capabilities: Collection[Capability] = (), directives: str = ""
    ) -> "ScheduleTerms":
        """Return the terms that *options* set on a machine in *zone*.

        Args:
            options: The host's options.
            zone: The machine's own time zone.
            capabilities: What the host offers passes.
            directives: What tells the texts that passes judge by from any others.
        """
        # How many scopes dream at once changes nothing about when one is due.
        when = options.schedule.model_dump(mode="json", exclude={"max_concurrent_dreams"})
        timing = [when, options.enabled, options.force, zone]
        doing = options.model_dump(mode="json", exclude=_GIVES_NO_WORK, fallback=_name_of)
        marks = _digest(timing) + _digest([doing, sorted(one.value for one in capabilities), directives])
        return cls(options.enabled, options.force, options.model.tokens_per_day, zone, marks)

    def gives_other_work(self, options_hash: str) -> bool:
        """Tell whether passes may have other work than under the options with that hash."""
        return options_hash[_DIGEST:] != self.options_hash[_DIGEST:]

    def renews_at(self, now: datetime) -> datetime | None:
        """Return when the tokens of the day are renewed; None if there is no bound."""
        return None if self.tokens_per_day is None else start_of_day(now) + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds of one scope.

    Args:
        is_paused: Whether a person paused it.
        lease_until: When the lease of a run under way runs out; None if nobody living holds one.
        budget_left: Tokens left today; None if there is no bound.
    """

    is_paused: bool
    lease_until: datetime | None
    budget_left: int | None


def read_facts(transaction: Transaction, keys: Sequence[int], terms: ScheduleTerms) -> dict[int, Facts]:
    """Return what holds of the scopes with these keys."""
    paused = set(
        transaction.connection.execute(
            select(settings.c.scope_id).where(settings.c.scope_id.in_(keys), settings.c.name == PAUSED_SETTING)
        ).scalars()
    )
    leased = _leased(transaction, keys)
    spent = _spent(transaction, keys) if terms.tokens_per_day is not None else {}
    return {
        key: Facts(
            is_paused=key in paused,
            lease_until=leased.get(key),
            budget_left=None if terms.tokens_per_day is None else max(0, terms.tokens_per_day - spent.get(key, 0)),
        )
        for key in keys
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
    rows = transaction.connection.execute(held.where(leases.c.expires_at > to_micros(transaction.now)))
    return {
        row.scope_id: from_micros(row.expires_at) for row in rows if not is_gone(row.host, row.pid, row.process_started)
    }


def _spent(transaction: Transaction, keys: Sequence[int]) -> dict[int, int]:
    today = to_micros(start_of_day(transaction.now))
    spent: dict[int, int] = {}
    for table, at in ((model_calls, model_calls.c.answered_at), (model_failures, model_failures.c.failed_at)):
        cost = func.sum(table.c.input_tokens + table.c.output_tokens)
        of_today = select(table.c.scope_id, cost).where(table.c.scope_id.in_(keys), at >= today)
        for key, tokens in transaction.connection.execute(of_today.group_by(table.c.scope_id)):
            spent[key] = spent.get(key, 0) + int(tokens or 0)
    return spent
