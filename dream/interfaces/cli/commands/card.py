"""Runs `dream card`."""

from typing import Annotated

from cyclopts import Parameter

from agentcore.domain.card import MOST_LINES
from agentcore.domain.records import to_image
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.card import card_lines, history_lines
from dream.interfaces.cli.render.desk import done_lines
from dream.interfaces.cli.session import Access, CliSession


async def card(
    line: str | None = None,
    /,
    *,
    instead_of: str | None = None,
    remove: str | None = None,
    history: Annotated[bool, Parameter(negative="")] = False,
    why: str | None = None,
    session: CliSession,
) -> int:
    """Show the peer card, put a line on it, or take one off it.

    Dreams write lines and give the entries that each goes back to; a line that you set is yours: no dream changes it.

    Args:
        line: `SECTION: text`, such as "RELATIONSHIP: Married to Rui."; without it the card is shown.
        instead_of: The line that gives way: its id, or the beginning of it.
        remove: The line to take off: its id, or the beginning of it.
        history: Show all lines that ever stood on the card, the one set last first.
        why: Your reason, kept in its history.
        session: Whose memory.

    Raises:
        MissingSettingError: there is too much at once, or no line that is to stand instead of another.
    """
    if (line is not None) + (remove is not None) + history > 1:
        raise MissingSettingError(what="single wish", remedy="give a line, or --remove one, or --history")
    if instead_of is not None and line is None:
        raise MissingSettingError(what="line", remedy="give the new line before --instead-of")
    if line is None and remove is None:
        await _show(session, history=history)
        return 0
    async with session.host(Access.CHANGE if line is None else Access.CREATE) as host:
        here = host.for_scope(session.scope)
        if line is not None:
            report = await here.card.set(line, replaces=instead_of, why=why)
        else:
            report = await here.card.remove(remove or "", why=why)
        rows = await here.dreams.diff(report.run_id) if report.run_id else []

    return told(session, report, report.to_json, lambda: done_lines(session, report, rows))


async def _show(session: CliSession, *, history: bool) -> None:
    async with session.host(Access.LOOK) as host:
        desk = host.for_scope(session.scope).card
        lines = await (desk.history() if history else desk.lines())
        sources = {ref.id for one in lines for ref in one.sources}
        found = await host.storage.read(session.scope, lambda view: view.entries.get_many(sources))
    texts = {entry.id: entry.content for entry in found}
    width = session.screen.width
    session.screen.show(
        lambda: {"lines": [to_image(one) for one in lines], "most": MOST_LINES},
        lambda: history_lines(lines, width) if history else card_lines(lines, texts, width),
    )
