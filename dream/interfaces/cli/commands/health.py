"""Runs `dream status` and `doctor`."""

from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.status import finding_lines, status_lines
from dream.interfaces.cli.render.text import encodable
from dream.interfaces.cli.session import Access, CliSession


async def status(*, model: bool = True, session: CliSession) -> None:
    """Show how the scope stands: what is stored, what waits, who dreams.

    Args:
        model: Count the passes in that ask the model that is configured.
        session: Whose memory.
    """
    async with session.host(Access.LOOK, chat=session.chat() if model else None) as host:
        standing = await host.for_scope(session.scope).dreams.status()
    session.screen.show(
        lambda: {"scope": str(session.scope), "data": encodable(str(session.data_dir)), **standing.to_json()},
        lambda: status_lines(session, standing),
    )


async def doctor(*, session: CliSession) -> Exit:
    """Examine the folder and the database, with a remedy for whatever is wrong.

    Args:
        session: Whose memory.
    """
    from dream.interfaces.cli.doctor import examine, is_healthy  # noqa: PLC0415 - `status` looks at none of it

    findings = [finding async for finding in examine(session)]
    healthy = is_healthy(findings)
    session.screen.show(
        lambda: {"healthy": healthy, "findings": [finding.to_json() for finding in findings]},
        lambda: finding_lines(findings, session.screen.width),
    )
    if healthy:
        return Exit.OK
    session.screen.warn("Something has to be put right: the findings above say what and how.")
    return Exit.FAILED
