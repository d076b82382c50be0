"""Shows the tokens of the server's clients."""

from collections.abc import Sequence
from datetime import datetime

from agentcore.domain.access import AccessToken
from dream.interfaces.cli.render.text import Line, Lines, Tone, clipped, one_line, paragraph, when


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
