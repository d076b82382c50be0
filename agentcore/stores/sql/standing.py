"""What holds now, whatever a restore brings: who may call, what is switched off, which scopes are paused."""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from agentcore.domain.scope import Scope
from agentcore.stores.sql.engines.sqlite import storage_faults

_Place: TypeAlias = tuple[str, str, str, str]
_Said: TypeAlias = tuple[int | None, int | None, int | None]
_TOKENS: Final = "name, digest, scopes, rights, created_at, expires_at, revoked_at"
_READ_TOKENS: Final = f"SELECT {_TOKENS} FROM access_tokens ORDER BY pk"  # noqa: S608 - constants
_PUT_TOKENS: Final = f"INSERT INTO access_tokens ({_TOKENS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
_READ_SWITCHES: Final = (
    "SELECT workspace, observer, observed, session_id, dream, learning, learning_since FROM switches"
    " ORDER BY workspace, observer, observed, session_id"
)
_PUT_SWITCHES: Final = (
    "INSERT INTO switches (workspace, observer, observed, session_id, dream, learning, learning_since)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_READ_SETTINGS: Final = (
    "SELECT workspace, observer, observed, name, value FROM settings JOIN scopes ON scopes.pk = settings.scope_id"
    " ORDER BY workspace, observer, observed, name"
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What holds in a database.

    Args:
        tokens: The rows of its tokens, revoked and expired ones too.
        switches: By place, what its switches say: dreams, learning, and since when is learnt.
        settings: The settings that outlive a restore: scope, name and value.
    """

    tokens: tuple[tuple[object, ...], ...] = ()
    switches: Mapping[_Place, _Said] = field(default_factory=dict[_Place, _Said])
    settings: tuple[tuple[Scope, str, str], ...] = ()


def standing_in(driver: sqlite3.Connection, kept: Collection[str]) -> Standing:
    """Read what holds in a database of this version; of settings, those of the names *kept*."""
    settings = (
        (Scope(*place), str(name), str(value))
        for *place, name, value in driver.execute(_READ_SETTINGS).fetchall()
        if name in kept
    )
    return Standing(tuple(driver.execute(_READ_TOKENS)), _switches(driver), tuple(settings))


def keep_standing(prepared: Path, standing: Standing) -> None:
    """Give a prepared database the tokens of *standing*, and switch off what is off there.

    What one of the two switches off is off; on is what the standing switches say. A session is learnt from as of the
    later of both instants.
    """
    with storage_faults(str(prepared)), closing(sqlite3.connect(prepared)) as driver:
        merged = list(_merged(standing.switches, _switches(driver)))
        driver.execute("DELETE FROM access_tokens")
        driver.executemany(_PUT_TOKENS, standing.tokens)
        driver.execute("DELETE FROM switches")
        driver.executemany(_PUT_SWITCHES, merged)
        driver.commit()


def _switches(driver: sqlite3.Connection) -> dict[_Place, _Said]:
    rows = driver.execute(_READ_SWITCHES).fetchall()
    return {(row[0], row[1], row[2], row[3]): (row[4], row[5], row[6]) for row in rows}


def _merged(now: Mapping[_Place, _Said], then: Mapping[_Place, _Said]) -> Iterator[tuple[object, ...]]:
    unset: _Said = (None, None, None)
    for place in sorted({*now, *then}):
        (dream, learning, since), (old_dream, old_learning, old_since) = now.get(place, unset), then.get(place, unset)
        said = (
            0 if old_dream == 0 else dream,
            0 if old_learning == 0 else learning,
            max((at for at in (since, old_since) if at is not None), default=None),
        )
        if said != unset:
            yield (*place, *said)
