"""Runs `dream usage`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from dream.domain.usage import EVERYTHING, UsageKey, UsageRow, summed
from dream.interfaces.cli.commands.scopes import named_scopes, pattern_of
from dream.interfaces.cli.errors import ConflictingOptionsError
from dream.interfaces.cli.render.usage import host_lines, usage_lines, usage_of_scopes_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.documents import usage_json

_LONGEST = 36_500
"""Days; a hundred years."""


async def usage(
    *,
    days: int | None = None,
    by: Annotated[list[Literal["day", "pass", "model"]] | None, Parameter(name="--by", negative="")] = None,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> None:
    """Show what the model cost: calls and tokens, those of failed calls and of plans included.

    Args:
        days: Only the last so many days, today among them; else all that is kept.
        by: Tell apart only by this; give the option once for each.
        all_scopes: A line for each scope; for those that fit where `--scope` holds `*`, as in `acme/*/*`.
        session: Whose memory.
    """
    if days is not None and not 1 <= days <= _LONGEST:
        raise InvalidOptionsError(field="--days", value=days, allowed=f"give 1 to {_LONGEST:,}")
    since = None if days is None else _midnight(session.clock.now()) - timedelta(days=days - 1)
    pattern = pattern_of(session, is_every=all_scopes)
    if pattern is not None:
        if by is not None:
            raise ConflictingOptionsError(first="--all-scopes", second="--by")
        await _of_each(session, pattern, since)
        return
    keys = EVERYTHING if by is None else frozenset(map(UsageKey, by))
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        rows = await dreams.usage(since=since, by=keys)
        left, host_day = await dreams.tokens_left(), await dreams.host_day()
    total = next(iter(summed(rows)), UsageRow())
    session.screen.show(
        lambda: {
            **usage_json(session.scope, rows, since=since, tokens_left=left),
            "host_today": host_day.to_json(),
        },
        lambda: [*usage_lines(session, rows, total, keys, left), *host_lines(host_day)],
    )


async def _of_each(session: CliSession, pattern: ScopePattern, since: datetime | None) -> None:
    named = await named_scopes(session, pattern)
    found: list[tuple[Scope, UsageRow, int | None]] = []
    async with session.host(Access.LOOK, needs_scope=False) as host:
        for scope in named:
            dreams = host.for_scope(scope).dreams
            rows = await dreams.usage(since=since, by=frozenset())
            found.append((scope, next(iter(summed(rows)), UsageRow()), await dreams.tokens_left()))
        host_day = await host.dreams.host_day()
    total = next(iter(summed(row for _, row, _ in found)), UsageRow())
    session.screen.show(
        lambda: {
            "scopes": [{"scope": str(scope), **row.to_json(), "tokens_left_today": left} for scope, row, left in found],
            "total": total.to_json(),
            "host_today": host_day.to_json(),
        },
        lambda: [*usage_of_scopes_lines(found, total), *host_lines(host_day)],
    )


def _midnight(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
