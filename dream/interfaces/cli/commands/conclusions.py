"""Runs `dream conclusions`."""

from typing import Literal

from agentcore.domain.conclusion import Confidence, Pattern
from agentcore.domain.filters import EntryFilter
from agentcore.domain.memory import CONCLUSIONS, Level, Status
from agentcore.hosting.representation import HeldEntry, held_entries
from agentcore.stores.storage import ReadView
from dream.interfaces.cli.render.entries import conclusion_lines
from dream.interfaces.cli.session import Access, CliSession


async def conclusions(
    *,
    level: Literal["deductive", "inductive"] | None = None,
    pattern: Literal["preference", "behavior", "personality", "tendency", "correlation"] | None = None,
    confidence: Literal["low", "medium", "high"] | None = None,
    status: Literal["active", "superseded", "archived", "all"] = "active",
    limit: int = 50,
    session: CliSession,
) -> None:
    """List what dreams concluded, the latest first, each with what it rests on.

    Args:
        level: Only what follows from its premises, or only patterns.
        pattern: Only this sort of pattern.
        confidence: Only patterns that are so sure.
        status: Only conclusions in this state.
        limit: How many at most.
        session: Whose memory.
    """
    states = frozenset[Status]() if status == "all" else frozenset({Status(status)})
    levels = sorted(CONCLUSIONS) if level is None else [Level(level)]
    sort = None if pattern is None else Pattern(pattern)
    sure = None if confidence is None else Confidence(confidence)

    def read(view: ReadView) -> list[HeldEntry]:
        found = [
            entry
            for one in levels
            for entry in view.entries.select(
                EntryFilter(statuses=states, level=one, pattern=sort, confidence=sure), limit=limit
            )
        ]
        found.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
        return held_entries(view, found[:limit])

    async with session.host(Access.LOOK, dreams=False) as host:
        held = await host.storage.read(session.scope, read)
    session.screen.show(
        lambda: {"conclusions": [one.to_json() for one in held]},
        lambda: conclusion_lines(held, session.screen.width),
    )
