"""Runs `dream review list`, `show`, `approve` and `reject`."""

from collections.abc import Sequence
from typing import Annotated, Final

from cyclopts import Parameter

from dream.cycle.dreams import Dreams
from dream.domain.report import RunReport
from dream.interfaces.cli.commands.dreaming import named_entries
from dream.interfaces.cli.commands.outcomes import told
from dream.interfaces.cli.errors import ConflictingOptionsError, MissingSettingError
from dream.interfaces.cli.render.plans import decision_lines, proposal_lines, proposal_list_lines
from dream.interfaces.cli.session import Access, CliSession, CommandSession

PassName = Annotated[str | None, Parameter(name="--pass")]
Everything = Annotated[bool, Parameter(name="--all", negative="")]

_QUESTION: Final = "Have it made? [y]es, [n]o, [s]kip, [q]uit:"
_KEYS: Final = ("y", "n", "s", "q")


async def list_(*, pass_name: PassName = None, session: CliSession) -> None:
    """List what waits for you, in the order it was proposed.

    Args:
        pass_name: Only what this pass proposed.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        found = await host.for_scope(session.scope).dreams.proposals(pass_name=pass_name)
    session.screen.show(
        lambda: {"proposals": [one.to_json() for one in found]},
        lambda: proposal_list_lines(session, found),
    )


async def walk(*, pass_name: PassName = None, session: CliSession) -> None:
    """Go through what passes proposed, one by one, with the texts, and decide about each.

    Args:
        pass_name: Only what this pass proposed.
        session: Whose memory.

    Raises:
        MissingSettingError: nobody sits at a terminal.
    """
    if not session.screen.has_person:
        raise MissingSettingError(what="terminal", remedy="use `dream review list`, approve and reject in scripts")
    async with session.host(Access.CHANGE) as host:
        dreams = host.for_scope(session.scope).dreams
        for proposal in await dreams.proposals(pass_name=pass_name):
            entries = await named_entries(host, session, None, proposal.rows)
            session.screen.print(proposal_lines(session, proposal, entries))
            answer = session.screen.ask(_QUESTION)[:1]
            while answer not in {"", *_KEYS}:
                session.screen.warn(f"There is no key {answer!r}: press one of {', '.join(_KEYS)}, and Enter.")
                answer = session.screen.ask(_QUESTION)[:1]
            if answer in {"", "q"}:
                break
            if answer in {"y", "n"}:
                report = await (dreams.approve if answer == "y" else dreams.reject)([proposal.proposal_id])
                session.screen.print(decision_lines(session, report))
        left = await dreams.proposals(pass_name=pass_name)
    session.screen.show(
        lambda: {"proposals": [one.to_json() for one in left]},
        lambda: proposal_list_lines(session, left),
    )


async def show(proposal: str, /, *, session: CliSession) -> None:
    """Show what a proposal would change, record by record.

    Args:
        proposal: Its id, or the beginning of it.
        session: Whose memory.
    """
    async with session.host(Access.LOOK) as host:
        dreams = host.for_scope(session.scope).dreams
        found = await dreams.proposal(proposal)
        entries = await named_entries(host, session, None, found.rows)
    session.screen.show(found.to_json, lambda: proposal_lines(session, found, entries))


async def approve(
    *proposals: str, everything: Everything = False, pass_name: PassName = None, session: CliSession
) -> int:
    """Make the changes of proposals, as far as nothing speaks against them any more.

    Args:
        proposals: Their ids, or beginnings of them.
        everything: All that wait.
        pass_name: All that this pass proposed.
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        dreams = host.for_scope(session.scope).dreams
        report = await dreams.approve(await _chosen(dreams, proposals, pass_name, everything=everything))
    return _told(session, report)


async def reject(
    *proposals: str, everything: Everything = False, pass_name: PassName = None, session: CliSession
) -> int:
    """Drop proposals, and have no dream do or propose the same again.

    Args:
        proposals: Their ids, or beginnings of them.
        everything: All that wait.
        pass_name: All that this pass proposed.
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        dreams = host.for_scope(session.scope).dreams
        report = await dreams.reject(await _chosen(dreams, proposals, pass_name, everything=everything))
    return _told(session, report)


async def _chosen(
    dreams: Dreams, proposals: Sequence[str], pass_name: str | None, *, everything: bool
) -> Sequence[str]:
    """Return the ids that are meant.

    Raises:
        ConflictingOptionsError: they are named in two ways.
        MissingSettingError: they are named in none.
    """
    ways = (("PROPOSALS", proposals), ("--all", everything), ("--pass", pass_name))
    given = [name for name, value in ways if value]
    if len(given) > 1:
        raise ConflictingOptionsError(first=given[0], second=given[1])
    if not given:
        raise MissingSettingError(what="proposal", remedy="give ids as `dream review list` shows them, --pass or --all")
    return proposals or [one.proposal_id for one in await dreams.proposals(pass_name=pass_name)]


def _told(session: CommandSession, report: RunReport) -> int:
    return told(session, report, report.to_json, lambda: decision_lines(session, report))
