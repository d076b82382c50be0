"""The part of a schedule's state that nothing else knows, as its row keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from agentcore.domain.instants import from_micros, to_micros
from agentcore.stores.sql.transaction import encode, micros
from dream.triggers import STATE_VERSION, PassWork

_INSTANTS = ("last_attempt_at", "last_success_at", "used_until", "armed", "requested_at")
_NUMBERS = ("failures", "explicit_seen", "began_with")


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
    explicit_seen: int = 0
    began_with: int = 0
    is_running: bool = False


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
            "problem": state.problem,
        }
    )


def decode(text: str) -> StoredState:
    """Read what `encode_state` wrote; of a later version nothing but that number is believed."""
    values: Mapping[str, Any] = orjson.loads(text)
    version = int(values["version"])
    if version > STATE_VERSION:
        return StoredState(version=version)
    known: dict[str, Any] = {name: _instant(values[name]) for name in _INSTANTS}
    known |= {name: int(values[name]) for name in _NUMBERS}
    return StoredState(
        version=version,
        work=tuple(
            PassWork(name, _instant(at), asks_model=asks, is_waiting=waits) for name, at, asks, waits in values["work"]
        ),
        scheduled_runs=tuple(from_micros(run) for run in values["scheduled_runs"]),
        is_running=values["is_running"],
        problem=values.get("problem"),  # rows of earlier versions have none
        **known,
    )


def _instant(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
