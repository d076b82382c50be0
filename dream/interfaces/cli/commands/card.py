"""Runs `dream card`."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from cyclopts import Parameter

from agentcore.domain.card import MOST_LINES, CardLine
from agentcore.domain.records import to_image
from dream.interfaces.cli.commands.dreaming import named_entries
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.render.desk import done_lines
from dream.interfaces.cli.render.reports import run_lines
from dream.interfaces.cli.render.text import Line, Lines, Tone, one_line, paragraph, when
from dream.interfaces.cli.session import Access, CliSession


async def card(
    line: str | None = None,
    /,
    *,
    instead_of: str | None = None,
    remove: str | None = None,
    history: Annotated[bool, Parameter(negative="")] = False,
    refresh: Annotated[bool, Parameter(negative="")] = False,
    rebuild: Annotated[bool, Parameter(negative="")] = False,
    why: str | None = None,
    session: CliSession,
) -> int:
    """Show the peer card, put a line on it, take one off it, or have a model look at all of it again.

    Dreams write lines and give the entries that each goes back to; a line that you set is yours: no dream changes it.

    Args:
        line: `SECTION: text`, such as "RELATIONSHIP: Married to Rui."; without it the card is shown.
        instead_of: The line that gives way: its id, or the beginning of it.
        remove: The line to take off: its id, or the beginning of it.
        history: Show all lines that ever stood on the card, the one set last first.
        refresh: Have a model look at the whole card again, beside what was said; your own lines stay.
        rebuild: Have a model write the card anew from what was said: lines that it does not write again go.
        why: Your reason, kept in its history.
        session: Whose memory.

    Raises:
        MissingSettingError: there is too much at once, or no line that is to stand instead of another.
    """
    if (line is not None) + (remove is not None) + history + (refresh or rebuild) > 1:
        raise MissingSettingError(what="single wish", remedy="give a line, or --remove one, --history or --refresh")
    if instead_of is not None and line is None:
        raise MissingSettingError(what="line", remedy="give the new line before --instead-of")
    if refresh or rebuild:
        async with session.host(Access.CHANGE, chat=session.chat()) as host:
            here = host.for_scope(session.scope)
            report = await here.card.refresh(rebuild=rebuild)
            entries = await named_entries(host, session, report)
        return told(session, report, report.to_json, lambda: run_lines(session, report, entries))
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
        lambda: _history_lines(lines, width) if history else _card_lines(lines, texts, width),
    )


def _card_lines(lines: Sequence[CardLine], texts: Mapping[str, str], width: int) -> Lines:
    """Yield the lines of the card, each with what it goes back to.

    Args:
        lines: They.
        texts: What the entries say that they go back to, by id.
        width: Columns.
    """
    if not lines:
        yield Line("The card is empty.", Tone.TITLE)
        return
    for one in lines:
        yield from paragraph(one_line(str(one)), width, first=f"{one.id[:8]}  ")
        for ref in one.sources:
            yield from paragraph(
                f"from {ref.id[:8]}: {one_line(texts.get(ref.id, ''))}", width, first="  ", tone=Tone.FAINT
            )
        if one.pinned:
            yield Line(f"  by {one.set_by}, {when(one.set_at)}", Tone.FAINT)
    full = "; the next line has to take the place of one" if len(lines) >= MOST_LINES else ""
    yield Line(f"{len(lines)} of {MOST_LINES} lines{full}.", Tone.FAINT)


def _history_lines(lines: Sequence[CardLine], width: int) -> Lines:
    """Yield all lines that ever stood on the card, with when and why they came and went."""
    if not lines:
        yield Line("Nothing ever stood on the card.", Tone.TITLE)
    for one in lines:
        yield from paragraph(one_line(str(one)), width, first=f"{one.id[:8]}  ")
        yield from paragraph(
            f"set by {one.set_by}, {when(one.set_at)}: {one_line(one.reason)}", width, first="  ", tone=Tone.FAINT
        )
        if not one.is_active:
            heir = f" by {one.successor[:8]}" if one.successor else ""
            gone = f"{one.status.value}{heir}, {when(one.status_at)}: {one_line(one.status_reason or '')}"
            yield from paragraph(gone, width, first="  ", tone=Tone.FAINT)
