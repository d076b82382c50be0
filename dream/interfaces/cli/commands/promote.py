"""Runs `dream promote`."""

from typing import Annotated

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.domain.built_in_passes import PROMOTION
from dream.interfaces.cli.commands.dreaming import run
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.status import promotion_lines
from dream.interfaces.cli.session import Access, CliSession


async def promote(
    entry: str | None = None,
    /,
    *,
    explain: Annotated[bool, Parameter(negative="")] = False,
    limit: int = 10,
    session: CliSession,
) -> int:
    """Promote what recall proved useful to MEMORY.md, or say why an entry is promoted or is not.

    Args:
        entry: With --explain the one entry to tell about, its id or the beginning of it; else the best are told about.
        explain: Tell every component of the score and every gate, and what is missing; nothing is changed.
        limit: With --explain, so many of the best.
        session: Whose memory.

    Raises:
        MissingSettingError: something is to be promoted, and nobody said where to.
    """
    if not explain:
        if entry is not None:
            raise InvalidOptionsError(field="ENTRY", value=entry, allowed="add --explain, or leave it out")
        if not session.names_workspace():
            raise MissingSettingError(what="workspace", remedy="name the folder of MEMORY.md, as in --workspace notes")
        return await run(passes=[PROMOTION.name], session=session)
    async with session.host(Access.LOOK) as host:
        entry_id = None
        if entry is not None:
            entry_id = await host.storage.read(session.scope, lambda view: view.entries.resolve(entry))
        dreams = host.for_scope(session.scope).dreams
        standing = await dreams.promotion(entry_id, limit=limit)
    session.screen.show(standing.to_json, lambda: promotion_lines(session, standing))
    return Exit.OK
