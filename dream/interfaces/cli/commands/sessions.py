"""Runs `dream sessions`."""

from datetime import datetime

from agentcore.domain.conversation import ConversationSession
from agentcore.errors import InvalidOptionsError
from dream.domain.session import DreamSession
from dream.interfaces.cli.render.sessions import session_list_lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.documents import session_json


async def sessions(*, prefix: str | None = None, limit: int = 20, session: CliSession) -> None:
    """List dreams and conversations, the newest first.

    Args:
        prefix: Only those whose key or id begins so; `dream:` for dreams.
        limit: How many at most.
        session: Whose memory.
    """
    if limit < 1:
        raise InvalidOptionsError(field="--limit", value=limit, allowed="give 1 or more")
    beginning = prefix or ""
    async with session.host(Access.LOOK) as host:
        here = host.for_scope(session.scope)
        dreams = await here.dreams.sessions(prefix=beginning, limit=limit)
        conversations = await here.conversation.sessions(prefix=beginning, limit=limit)
    found = sorted([*dreams, *conversations], key=_newest, reverse=True)[:limit]
    session.screen.show(
        lambda: {"scope": str(session.scope), "sessions": [session_json(one) for one in found]},
        lambda: session_list_lines(session, found, beginning),
    )


def _newest(one: DreamSession | ConversationSession) -> datetime:
    return one.last_at if isinstance(one, ConversationSession) else one.finished_at or one.started_at
