"""Runs `dream switch`, `schedule` and `unschedule`."""

from typing import Annotated, Final, Literal

from cyclopts import Parameter

from agentcore.domain.temporal import to_text
from dream.interfaces.cli.exit_codes import Exit
from dream.interfaces.cli.render.text import Line
from dream.interfaces.cli.session import Access, CliSession

SETTINGS: Final = {"on": True, "off": False, "inherit": None}
"""What the words for a switch mean."""


async def switch(
    what: Literal["dream", "learning"],
    state: Literal["on", "off", "inherit"],
    /,
    *,
    all_of: str | None = None,
    session_id: str | None = None,
    session: CliSession,
) -> None:
    """Switch dreams, or learning altogether, off and on: of the scope, of a whole workspace, or of a conversation.

    Args:
        what: Dreams, or whether anything is learnt from what is said; without learning there are no dreams.
        state: On, off, or inherit for what the wider level says: a scope's workspace, and above it the options.
        all_of: All scopes of this workspace.
        session_id: One conversation of the scope, or with --all-of of its workspace; it need not have begun.
        session: Whose memory.
    """
    session.require_folder(one_scope=False)  # whoever names a folder that is not there has mistyped it
    setting = SETTINGS[state]
    told = {"dream": setting} if what == "dream" else {"learning": setting}
    async with session.host(Access.CREATE, dreams=False) as host:
        here = host.for_scope(session.scope)
        found = await here.configure(session_id, workspace=all_of, **told)
        scopes = await host.storage.scopes()
    named = [f"the session {session_id}" if session_id else "", f"the workspace {all_of}" if all_of else ""]
    about = " in all of ".join(filter(None, named)) or str(session.scope)
    session.screen.show(
        lambda: {"scope": str(session.scope), "level": found.level.value, "session": session_id, "workspace": all_of,
                 "dream": found.dream, "learning": found.learning},
        lambda: [Line(f"{what} is {_worded(state)} for {about}, in every process.")],
    )  # fmt: skip
    if all_of is not None and all_of not in {one.workspace for one in scopes}:
        session.screen.warn(f"No scope of the workspace {all_of} holds anything yet: look for a mistake in its name.")


def _worded(state: str) -> str:
    return "as the wider level says" if state == "inherit" else state


async def schedule(*, when_quiet: Annotated[bool, Parameter(negative="")] = False, session: CliSession) -> Exit:
    """Ask for a dream soon: a host that watches the scope begins it within a minute, once nobody is served.

    Args:
        when_quiet: Begin once nobody has said or stored anything there for ten minutes; what comes puts it off.
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        request = await host.for_scope(session.scope).dreams.schedule(when_quiet=when_quiet)
    begins = "once the scope has been quiet for ten minutes" if when_quiet else "within a minute"
    taken = f"A dream of {session.scope} is asked for; a host or `dream serve` begins it {begins}."
    at = "" if request.requested_at is None else f", asked for at {to_text(request.requested_at)}"
    session.screen.show(
        request.to_json,
        lambda: [Line(taken if request.is_taken else f"Nothing changed: {request.reason}{at}.")],
    )
    return Exit.OK


async def unschedule(*, session: CliSession) -> None:
    """Take a request for a dream back that has not begun.

    Args:
        session: Whose memory.
    """
    async with session.host(Access.CHANGE) as host:
        was_there = await host.for_scope(session.scope).dreams.unschedule()
    session.screen.show(
        lambda: {"scope": str(session.scope), "withdrawn": was_there},
        lambda: [Line("The request is taken back." if was_there else "No dream was asked for.")],
    )
