"""Runs `dream verify`."""

from functools import partial
from typing import Annotated

from cyclopts import Parameter

from agentcore.errors import InvalidOptionsError
from dream.interfaces.cli.commands.dreaming import named_entries
from dream.interfaces.cli.commands.outcomes import repeated, told
from dream.interfaces.cli.errors import MissingSettingError
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.reports import run_lines, verification_lines
from dream.interfaces.cli.render.text import Lines
from dream.interfaces.cli.render.usage import forecast_lines
from dream.interfaces.cli.session import Access, CliSession


async def verify(
    *,
    existing: Annotated[bool, Parameter(negative="")] = False,
    budget: int | None = None,
    forecast: Annotated[bool, Parameter(negative="")] = False,
    until_done: Annotated[bool, Parameter(negative="")] = False,
    model: bool = True,
    session: CliSession,
) -> int:
    """Judge the entries that are stored and unverified by what their sources still say, the most recalled first.

    Args:
        existing: Say that it is about what is stored; what dreams write is verified by them.
        budget: Tokens that it may cost at most; what is left is judged by the next one.
        forecast: Only count what the model would be asked, and ask nothing.
        until_done: Go on as long as entries are left and fewer each time; the last report is shown. `--budget` is what
            each run may cost.
        model: Have the model that is configured read what words do not prove.
        session: Whose memory.

    Raises:
        MissingSettingError: `--existing` is missing.
        InvalidOptionsError: the budget is less than 0.
    """
    if not existing:
        raise MissingSettingError(what="option --existing", remedy="dreams verify what they write by themselves")
    if budget is not None and budget < 0:
        raise InvalidOptionsError(field="--budget", value=budget, allowed="give 0 tokens or more")
    if forecast:
        await _forecast(session)
        return Exit.OK
    async with session.host(Access.CHANGE, chat=session.chat() if model else None) as host:
        begin = partial(host.for_scope(session.scope).dreams.verify_existing, budget=budget)
        report = (await repeated(session, begin, until_done=until_done))[-1]
        entries = await named_entries(host, session, report)

    def lines() -> Lines:
        yield from run_lines(session, report, entries)
        yield from verification_lines(report, entries, session.screen.width)

    return told(session, report, report.to_json, lines)


async def _forecast(session: CliSession) -> None:
    async with session.host(Access.LOOK, chat=session.chat()) as host:
        dreams = host.for_scope(session.scope).dreams
        foreseen = await dreams.forecast_verification()
        left = await dreams.tokens_left()
    session.screen.show(
        lambda: {"scope": str(session.scope), "passes": [foreseen.to_json()], "tokens_left_today": left},
        lambda: forecast_lines(session, [foreseen], left),
    )
