"""Runs `dream token create`, `list` and `revoke`."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Literal

from cyclopts import Parameter

from agentcore.domain.access import AccessToken
from agentcore.errors import InvalidOptionsError
from dream.interfaces.cli.render.text import Line, Lines, Tone, clipped, one_line, paragraph, when
from dream.interfaces.cli.session import Access, CliSession

_LONGEST = 36_500
"""Days; a hundred years."""


async def create(
    name: str,
    /,
    *,
    reach: Annotated[list[str] | None, Parameter(negative="")] = None,
    right: Annotated[list[Literal["read", "write", "review", "admin"]] | None, Parameter(negative="")] = None,
    days: int | None = None,
    session: CliSession,
) -> None:
    """Make a token and print its secret, this once: only a hash of it is kept.

    Args:
        name: What you call it; `why` shows it at whatever the client writes.
        reach: A scope that it reaches, with or without wildcards (`acme/*/*`); give the option once for each. Else the
            scope of the command.
        right: What it may do there; give the option once for each. Else write, which includes read.
        days: For how many days it holds; else until it is revoked.
        session: Whose memory.
    """
    if days is not None and not 1 <= days <= _LONGEST:
        raise InvalidOptionsError(field="--days", value=days, allowed=f"give 1 to {_LONGEST:,}")
    if reach is None and session.pattern is not None:
        raise InvalidOptionsError(field="--scope", value=str(session.scope), allowed="say with --reach what it reaches")
    lifetime = None if days is None else timedelta(days=days)
    async with session.host(Access.CREATE, dreams=False, needs_scope=False) as host:
        secret, token = await host.tokens.create(
            name, scopes=reach or [session.scope], rights=right or ["write"], lifetime=lifetime
        )
    session.screen.show(lambda: {**token.to_json(), "secret": secret}, lambda: [Line(secret)])


async def list_(*, session: CliSession) -> None:
    """List the tokens, those that were revoked or have expired too; their secrets are not kept.

    Args:
        session: Whose memory.
    """
    async with session.host(Access.LOOK, dreams=False, needs_scope=False) as host:
        found = await host.tokens.list()
    now = session.clock.now()
    session.screen.show(
        lambda: {"tokens": [token.to_json() for token in found]},
        lambda: token_list_lines(found, now, session.screen.width),
    )


async def revoke(name: str, /, *, session: CliSession) -> None:
    """Take a token back; every server refuses it within a second.

    Args:
        name: What it is called.
        session: Whose memory.
    """
    async with session.host(Access.LOOK, dreams=False, needs_scope=False) as host:
        is_done = await host.tokens.revoke(name)
        is_known = any(token.name == name for token in await host.tokens.list())
    if not is_done and is_known:
        raise InvalidOptionsError(field="name", value=name, allowed="it is revoked already, nothing is left to do")
    if not is_done:
        raise InvalidOptionsError(field="name", value=name, allowed="`dream token list` names the tokens that hold")
    session.screen.show(lambda: {"revoked": name}, lambda: [Line(f"Revoked: {name}.")])


def token_list_lines(tokens: Sequence[AccessToken], now: datetime, width: int) -> Lines:
    """Yield each token: its name, what it may do where, and until when."""
    if not tokens:
        yield from paragraph("There is no token: `dream token create NAME` makes one.", width)
    for token in tokens:
        rights = ", ".join(sorted(token.rights))
        reach = ", ".join(map(str, token.scopes))
        tone = Tone.TITLE if token.holds(now) else Tone.FAINT
        yield clipped(f"{rights} on {reach}", width, first=f"{one_line(token.name)}  ", tone=tone)
        yield Line(f"    made {when(token.created_at)}, {_until(token, now)}", Tone.FAINT)


def _until(token: AccessToken, now: datetime) -> str:
    if token.revoked_at is not None:
        return f"revoked {when(token.revoked_at)}"
    if token.expires_at is None:
        return "holds until it is revoked"
    return f"{'holds until' if token.holds(now) else 'expired'} {when(token.expires_at)}"
