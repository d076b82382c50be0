"""Runs `dream plan`, `run`, `pause` and `resume`."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from agentcore.domain.memory import MemoryEntry
from agentcore.domain.scope import Scope
from agentcore.domain.temporal import from_text
from agentcore.errors import InvalidContentError, InvalidOptionsError
from agentcore.hosting.host import Host
from dream.domain.change import ASK, JournalRow
from dream.domain.forecast import total
from dream.domain.report import PassReport, RunReport
from dream.interfaces.cli.commands.outcomes import repeated, told
from dream.interfaces.cli.commands.scopes import named_scopes, pattern_of, run_each
from dream.interfaces.cli.errors import ConflictingOptionsError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.live import live_status
from dream.interfaces.cli.render.changes import successors_of
from dream.interfaces.cli.render.clusters import shown_ids
from dream.interfaces.cli.render.plans import plan_lines
from dream.interfaces.cli.render.reasons import refused_about
from dream.interfaces.cli.render.reports import asked_about, pass_line, run_lines
from dream.interfaces.cli.render.status import paused_lines
from dream.interfaces.cli.render.usage import forecast_lines
from dream.interfaces.cli.session import Access, CliSession, CommandSession
from dream.options import OTHERS, PassMode
from dream.stores import dream_stores

Passes = Annotated[list[str] | None, Parameter(name="--pass", negative="")]


async def plan(
    *,
    passes: Passes = None,
    now: str | None = None,
    forecast: Annotated[bool, Parameter(negative="")] = False,
    model: bool = True,
    session: CliSession,
) -> int:
    """Show what a run would change, and change nothing.

    Args:
        passes: Only this pass; give the option once for each.
        now: Judge as of this instant, as in 2025-10-12T20:00:00Z or 2025-10-12.
        forecast: Only count what the model would be asked, and ask nothing; no plan is made.
        model: Let passes ask the model that is configured; else those that need one are skipped.
        session: Whose memory.
    """
    if forecast:
        await _forecast(session, passes, instant(now))
        return Exit.OK
    async with session.host(Access.CHANGE, chat=session.chat() if model else None) as host:
        made = await host.for_scope(session.scope).dreams.plan(passes=passes, now=instant(now))
        entries = await named_entries(host, session, made.report, made.rows)
    return told(session, made.report, made.to_json, lambda: plan_lines(session, made, entries))


async def _forecast(session: CliSession, passes: list[str] | None, now: datetime | None) -> None:
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        foreseen = await dreams.forecast(passes=passes, now=now)
        left = await dreams.tokens_left()
    session.screen.show(
        lambda: {
            "scope": str(session.scope),
            "passes": [one.to_json() for one in foreseen],
            "total": {name: value for name, value in total(foreseen).to_json().items() if isinstance(value, int)},
            "tokens_left_today": left,
        },
        lambda: forecast_lines(session, foreseen, left),
    )


async def run(
    *,
    passes: Passes = None,
    plan: Annotated[str | None, Parameter(name="--plan")] = None,
    now: str | None = None,
    propose: Annotated[bool, Parameter(negative="")] = False,
    model: bool = True,
    max_outputs: int | None = None,
    watch: Annotated[bool, Parameter(negative="")] = False,
    until_done: Annotated[bool, Parameter(negative="")] = False,
    all_scopes: Annotated[bool, Parameter(negative="")] = False,
    session: CliSession,
) -> int:
    """Run one dream now, or apply a plan exactly as it stands.

    Args:
        passes: Only this pass; give the option once for each.
        plan: Id of a plan that `dream plan` made.
        now: Judge as of this instant, as in 2025-10-12T20:00:00Z or 2025-10-12.
        propose: Have all changes wait until you approve them, `dream review` shows them; retention removes at once.
        model: Let passes ask the model that is configured; else those that need one are skipped.
        max_outputs: New records that the run may write at most; what is more waits for a later one.
        watch: Tell of each pass on stderr as it ends.
        until_done: Run again as long as entries are left for later runs and fewer each time; the last report is shown.
        all_scopes: Dream on all scopes, one after the other; on those that fit where `--scope` holds `*`.
        session: Whose memory.
    """
    for name, value in (("--pass", passes), ("--now", now), ("--propose", propose or None),
                        ("--until-done", until_done or None)):  # fmt: skip
        if plan is not None and value is not None:
            raise ConflictingOptionsError(first="--plan", second=name)
    chat, pattern = session.chat() if model else None, pattern_of(session, is_every=all_scopes)
    if pattern is not None:
        for name, value in (("--plan", plan), ("--now", now), ("--propose", propose or None)):
            if value is not None:
                raise ConflictingOptionsError(first="--all-scopes", second=name)
        return await run_each(session, pattern, passes=passes, chat=chat, until_done=until_done)
    as_of = instant(now)
    modes = {OTHERS: PassMode.PROPOSE} if propose else {}
    async with session.host(Access.CHANGE, chat=chat, modes=modes) as host:
        dreams = host.for_scope(session.scope).dreams
        dreams.on_alarm(lambda alarm: session.screen.warn(alarm.sentence))
        tell = partial(_tell, session) if watch else None
        begin = partial(dreams.run, passes=passes, plan=plan, now=as_of, max_outputs=max_outputs, on_pass=tell)
        async with live_status(session, host):
            report = (await repeated(session, begin, until_done=until_done))[-1]
        entries, asked = await named_entries(host, session, report), await questions_of(host, session, report)
    return told(session, report, report.to_json, lambda: run_lines(session, report, entries, asked=asked))


def _tell(session: CliSession, ended: PassReport) -> None:
    session.screen.status("")
    session.screen.tell(pass_line(ended))


async def pause(*, all_scopes: Annotated[bool, Parameter(negative="")] = False, session: CliSession) -> None:
    """Stop the dreams of the scope, in every process, until resume.

    Args:
        all_scopes: Stop those of all scopes; of those that fit where `--scope` holds `*`, as in `acme/*/*`.
        session: Whose memory.
    """
    await _set_paused(session, is_paused=True, is_every=all_scopes)


async def resume(*, all_scopes: Annotated[bool, Parameter(negative="")] = False, session: CliSession) -> None:
    """Let the dreams of the scope run again.

    Args:
        all_scopes: Let those of all scopes; of those that fit where `--scope` holds `*`, as in `acme/*/*`.
        session: Whose memory.
    """
    await _set_paused(session, is_paused=False, is_every=all_scopes)


async def _set_paused(session: CliSession, *, is_paused: bool, is_every: bool) -> None:
    pattern = pattern_of(session, is_every=is_every)
    named = [session.scope] if pattern is None else await named_scopes(session, pattern)
    async with session.host(Access.CHANGE, needs_scope=pattern is None) as host:
        under_way: list[Scope] = []
        for scope in named:
            dreams = host.for_scope(scope).dreams
            if not is_paused:
                await dreams.resume()
            elif await dreams.pause():
                under_way.append(scope)
    whose = {"scope": str(session.scope)} if pattern is None else {"scopes": [str(one) for one in named]}
    session.screen.show(
        lambda: {**whose, "paused": is_paused, "pausing": [str(one) for one in under_way]},
        lambda: paused_lines(session, named, is_paused=is_paused, under_way=under_way),
    )


def instant(text: str | None, *, option: str = "--now") -> datetime | None:
    """Read an instant that an option gives.

    Raises:
        InvalidOptionsError: it is no instant.
    """
    if text is None:
        return None
    try:
        return from_text(text)
    except InvalidContentError:
        allowed = "write an instant with its zone such as 2025-10-12T20:00:00Z, or a date such as 2025-10-12"
        raise InvalidOptionsError(field=option, value=text[:80], allowed=allowed) from None


async def named_entries(
    host: Host, session: CommandSession, report: RunReport | None, rows: Iterable[JournalRow] = ()
) -> dict[str, MemoryEntry]:
    """Return the entries that will be shown by what they say.

    Args:
        host: Where they are.
        session: Whose memory.
        report: Names them in its clusters, questions and refusals; None if there is none.
        rows: Name them as successors.
    """
    told = set[str]() if report is None else _named(report)
    ids = sorted({*told, *successors_of(rows)})
    found = await host.storage.read(session.scope, lambda view: view.entries.get_many(ids)) if ids else []
    return {entry.id: entry for entry in found}


async def questions_of(host: Host, session: CommandSession, report: RunReport) -> int:
    """Return how many questions a run asked a person."""
    run_id = report.run_id
    return await host.storage.read(
        session.scope, lambda view: dream_stores(view).journal.count(run_id, operation=ASK) if run_id else 0
    )


def _named(report: RunReport) -> set[str]:
    """Return what may be ids of entries in what is shown of a report."""
    refused = [word for item in report.passes for word in refused_about(item.refused)]
    return {*shown_ids(report), *asked_about(report), *refused}
