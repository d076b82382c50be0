"""Runs `dream runs`, `show`, `diff` and `undo`."""

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.cycle.dreams import Dreams
from dream.domain.report import RunReport
from dream.errors import UnknownPassError, UnknownRunError
from dream.interfaces.cli.commands.dreaming import named_entries, questions_of
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import ConflictingOptionsError
from dream.interfaces.cli.render.plans import diff_lines
from dream.interfaces.cli.render.reports import refused_text_lines, run_lines, run_list_lines, undo_lines
from dream.interfaces.cli.render.sessions import session_lines
from dream.interfaces.cli.render.text import Line, Lines
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.documents import changes_json
from dream.stores import dream_stores

_LOOK_BACK = 1_000
"""Newest runs among which one that never finished is looked for; the newest is where it stands."""


async def runs(*, limit: int = 20, session: CliSession) -> None:
    """List runs, the newest first.

    Args:
        limit: How many at most.
        session: Whose memory.
    """
    if limit < 1:
        raise InvalidOptionsError(field="--limit", value=limit, allowed="give 1 or more")
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        found = await dreams.runs(limit=limit)
        unfinished = [await dreams.session(report.run_id) for report in found if report.finished_at is None]
    running = {one.run_id for one in unfinished if one is not None and one.is_running}
    session.screen.show(
        lambda: {"runs": [report.to_json() for report in found]},
        lambda: run_list_lines(session, found, running),
    )


async def show(run: str, /, *, refused: Annotated[bool, Parameter(negative="")] = False, session: CliSession) -> None:
    """Show the report of a run, and of a dream what it asked and wrote.

    Args:
        run: Its id, the key of its session, or the beginning of either.
        refused: Also what the model wrote and was refused, whole.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        report = await _report(dreams, run)
        entries = await named_entries(host, session, report)
        dreamt, calls = await dreams.session(report.run_id), await dreams.calls(report.run_id)
        texts = await dreams.refused_texts(report.run_id) if refused else []
        asked = await questions_of(host, session, report)

    def lines() -> Lines:
        is_running = dreamt is not None and dreamt.is_running
        yield from run_lines(session, report, entries, asked=asked, is_running=is_running)
        if dreamt is not None:
            yield Line()
            yield from session_lines(session, dreamt, calls)
        if refused:
            yield Line()
            yield from refused_text_lines(texts, session.screen.width)

    session.screen.show(
        lambda: (
            report.to_json()
            | {"session": None if dreamt is None else dreamt.to_json(), "calls": [call.to_json() for call in calls]}
            | ({"refused_texts": [one.to_json() for one in texts]} if refused else {})
        ),
        lines,
    )


async def diff(run: str, /, *, session: CliSession) -> None:
    """Show what a run changed, record by record.

    Args:
        run: Its id, the key of its session, or the beginning of either.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        report = await _report(dreams, run)
        rows = await dreams.diff(report.run_id)
        entries = await named_entries(host, session, report, rows)
        changes = await changes_json(host.storage, session.scope, rows)
    session.screen.show(
        lambda: {"run_id": report.run_id, "changes": changes},
        lambda: diff_lines(session, report, rows, entries),
    )


async def undo(
    run: str,
    /,
    *,
    pass_name: Annotated[str | None, Parameter(name="--pass")] = None,
    change: int | None = None,
    session: CliSession,
) -> int:
    """Take back a run, one of its passes, or one change; undoing an undo brings the changes back.

    Args:
        run: Its id, the key of its session, or the beginning of either.
        pass_name: Only what this pass changed.
        change: Only the change of this number, as `dream diff` shows it.
        session: Whose memory.
    """
    if pass_name is not None and change is not None:
        raise ConflictingOptionsError(first="--pass", second="--change")
    async with session.host(Access.AMEND) as host:
        dreams = host.for_scope(session.scope).dreams
        target = await _report(dreams, run)
        known = [item.name for item in target.passes] or list(dreams.pass_names)
        if pass_name is not None and pass_name not in known:
            raise UnknownPassError(name=pass_name, known=known)
        report = await dreams.undo(target.run_id, pass_name=pass_name, change=change)
        scope, run_id = session.scope, target.run_id
        is_redo = await host.storage.read(scope, lambda view: dream_stores(view).runs.takes_back(run_id))
        rows = await dreams.diff(run_id, pass_name=pass_name, after=(change or 1) - 1, limit=1)
    part = "" if pass_name is None else f"what {pass_name} did in "
    part = part if change is None else f"change {change} of "
    lines = partial(undo_lines, session, report, f"{part}run {run_id}", has_changes=bool(rows), is_redo=is_redo)
    return told(session, report, report.to_json, lines)


async def _report(dreams: Dreams, run_id: str) -> RunReport:
    """Return the report of a run; of one that was interrupted, what is known of it."""
    try:
        return await dreams.report(run_id)
    except UnknownRunError:
        found = await dreams.runs(limit=_LOOK_BACK)
        unfinished = [one for one in found if one.finished_at is None and run_id and one.run_id.startswith(run_id)]
        if len(unfinished) != 1:
            raise
        return unfinished[0]
