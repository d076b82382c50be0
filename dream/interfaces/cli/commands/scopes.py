"""Runs `dream scopes`, and what `dream status` and `dream run` do with several scopes."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from dream.domain.report import Outcome, RunReport
from dream.interfaces.cli.commands.outcomes import repeated
from dream.interfaces.cli.errors import UnknownScopeError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.text import Line, Lines, Tone, counted, table, when
from dream.interfaces.cli.session import Access, CliSession, CommandSession
from dream.stores import dream_stores
from dream.stores.overview import ScopeOverview

if TYPE_CHECKING:
    from agentcore.llm.settings import ChatOptions


async def scopes(pattern: str = "*/*/*", /, *, limit: int = 50, session: CliSession) -> None:
    """List the scopes, with what they hold and when they dream next.

    Args:
        pattern: Only these, as in `acme/*/*`.
        limit: Scopes at most.
        session: Whose data directory.
    """
    found = await overviews(session, ScopePattern.parse(pattern))
    session.screen.show(
        lambda: {"scopes": [one.to_json() for one in found]}, lambda: overview_lines(session, found, limit)
    )


async def overviews(session: CommandSession, pattern: ScopePattern) -> list[ScopeOverview]:
    """Return how each scope stands that *pattern* names, as the scheduler's rows have it; no pass is asked.

    Raises:
        UnknownScopeError: there are scopes, and it names none.
    """
    async with session.host(Access.LOOK, needs_scope=False) as host:
        found = await host.storage.read(None, lambda view: dream_stores(view).fleet.overview())
    named = [one for one in found if pattern.matches(one.scope)]
    if found and not named:
        raise _fits_none(pattern, [one.scope for one in found])
    return named


def overview_lines(session: CommandSession, found: Sequence[ScopeOverview], limit: int) -> Lines:
    """Yield a line for each scope, *limit* at most, and the sums."""
    rows = [("scope", "entries", "turns", "to review", "last dream", "next look")]
    rows += [_row(one) for one in found[:limit]]
    yield from table(rows, session.screen.width)
    if len(found) > limit:
        yield Line(f"... and {len(found) - limit:,} more: name fewer, as in {session.command('scopes', 'acme/*/*')}.")
    yield Line(
        f"{counted(len(found), 'scope', 'scopes')}, {sum(one.entries for one in found):,} entries, "
        f"{sum(one.turns for one in found):,} turns, {sum(one.proposals for one in found):,} to review.",
        Tone.FAINT,
    )


def _row(one: ScopeOverview) -> tuple[str, ...]:
    last = "never" if one.last_dream_at is None else when(one.last_dream_at)
    # No host has looked at a scope yet whose schedule says nothing.
    unknown = "when something changes" if one.reason else "when a host looks"
    due = unknown if one.due_at is None else f"{when(one.due_at)} ({one.reason})"
    return (str(one.scope), f"{one.entries:,}", f"{one.turns:,}", f"{one.proposals:,}", last,
            "paused" if one.is_paused else due)  # fmt: skip


def pattern_of(session: CommandSession, *, is_every: bool) -> ScopePattern | None:
    """Return which scopes a command is about; None if it is the one scope of the session.

    Args:
        session: Whose `--scope` may hold `*` and `?`.
        is_every: Whether all scopes were asked for; a pattern is not widened by it.
    """
    return ScopePattern("*", "*", "*") if is_every and session.pattern is None else session.pattern


async def named_scopes(session: CommandSession, pattern: ScopePattern) -> list[Scope]:
    """Return the scopes that *pattern* names, in the order of their names.

    Raises:
        UnknownScopeError: there is none.
    """
    async with session.host(Access.LOOK, needs_scope=False, dreams=False) as host:
        known = await host.storage.scopes()
    found = [scope for scope in known if pattern.matches(scope)]
    if not found:
        raise _fits_none(pattern, known)
    return sorted(found, key=str)


def _fits_none(pattern: ScopePattern, known: Iterable[Scope]) -> UnknownScopeError:
    return UnknownScopeError(scope=str(pattern), known=map(str, map(ScopePattern.of, known)), is_pattern=True)


async def run_each(
    session: CommandSession,
    pattern: ScopePattern,
    *,
    passes: Sequence[str] | None,
    chat: "ChatOptions | None",
    until_done: bool = False,
) -> Exit:
    """Run one dream on each scope that *pattern* names, one after the other; one that fails keeps no other from its."""
    named = [one.scope for one in await overviews(session, pattern)]
    reports: list[RunReport] = []
    async with session.host(Access.CHANGE, chat=chat, needs_scope=False) as host:
        for scope in named:
            begin = partial(host.for_scope(scope).dreams.run, passes=passes)
            reports += await repeated(session, begin, until_done=until_done)
            session.screen.tell(Line(f"{scope}  {_in_short(reports[-1])}"))
    failed = {str(one.scope) for one in reports if one.outcome is Outcome.FAILED}
    session.screen.show(
        lambda: {"runs": [one.to_json() for one in reports]},
        lambda: [Line(f"{counted(len(named), 'scope', 'scopes')}, {len(failed):,} failed.")],
    )
    return Exit.FAILED if failed else Exit.OK


def _in_short(report: RunReport) -> str:
    why = "" if report.reason is None else f" ({report.reason})"
    return f"{report.outcome.value}{why}, {counted(report.changes, 'record')} changed"
