"""Runs `dream usage`."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.domain.usage import EVERYTHING, UsageKey, UsageRow, summed
from dream.interfaces.cli.render.usage import usage_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.documents import usage_json

_LONGEST = 36_500
"""Days; a hundred years."""


async def usage(
    *,
    days: int | None = None,
    by: Annotated[list[Literal["day", "pass", "model"]] | None, Parameter(name="--by", negative="")] = None,
    session: CliSession,
) -> None:
    """Show what the model cost: calls and tokens, those of failed calls and of plans included.

    Args:
        days: Only the last so many days, today among them; else all that is kept.
        by: Tell apart only by this; give the option once for each.
        session: Whose memory.
    """
    if days is not None and not 1 <= days <= _LONGEST:
        raise InvalidOptionsError(field="--days", value=days, allowed=f"give 1 to {_LONGEST:,}")
    since = None if days is None else _midnight(session.clock.now()) - timedelta(days=days - 1)
    keys = EVERYTHING if by is None else frozenset(map(UsageKey, by))
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        rows = await dreams.usage(since=since, by=keys)
        left = await dreams.tokens_left()
    total = next(iter(summed(rows)), UsageRow())
    session.screen.show(
        lambda: usage_json(session.scope, rows, since=since, tokens_left=left),
        lambda: usage_lines(session, rows, total, keys, left),
    )


def _midnight(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
