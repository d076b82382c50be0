"""Runs `dream peers`."""

from typing import Annotated, Literal, TypeAlias

from cyclopts import Parameter

from agentcore.domain.session_peer import SessionPeer, observers_of
from agentcore.hosting.peer_session import PeerSession
from agentcore.hosting.switches import UNCHANGED
from dream.interfaces.cli.commands.dreaming import instant
from dream.interfaces.cli.commands.switching import SETTINGS
from dream.interfaces.cli.render.text import Line, Lines, Tone, one_line, paragraph
from dream.interfaces.cli.session import Access, CliSession
from dream.interfaces.serving.peer_sessions import peers_json, said_json

State: TypeAlias = Literal["on", "off", "inherit"]


async def list_(session_id: str, /, *, session: CliSession) -> None:
    """List who takes part in a session of the workspace, and who observes whom.

    Args:
        session_id: Its id.
        session: Whose workspace.
    """
    async with session.host(Access.LOOK, dreams=False, needs_scope=False) as host:
        talk = await host.session(session_id, workspace=session.scope.workspace)
    _show(session, talk)


async def join(
    session_id: str,
    peer: str,
    /,
    *,
    observe_others: Annotated[bool, Parameter(negative="")] = False,
    observe_me: State = "inherit",
    session: CliSession,
) -> None:
    """Have a peer take part in a session from now on, or change what holds of it there.

    Args:
        session_id: The session's id, in the workspace of the scope.
        peer: Its name, as the scope WORKSPACE/PEER/PEER has it.
        observe_others: Whether it learns from what the others say.
        observe_me: Whether what it says may be learnt from; inherit leaves it to what holds for it everywhere.
        session: Whose workspace.
    """
    joining = SessionPeer(name=peer, observe_me=SETTINGS[observe_me], observe_others=observe_others)
    async with session.host(Access.CREATE, dreams=False, needs_scope=False) as host:
        talk = await host.session(session_id, workspace=session.scope.workspace, peers=[joining])
    _show(session, talk)


async def leave(session_id: str, peer: str, /, *, session: CliSession) -> None:
    """Have a peer take part no longer; what it said and observed stays.

    Args:
        session_id: The session's id, in the workspace of the scope.
        peer: Its name.
        session: Whose workspace.
    """
    async with session.host(Access.CHANGE, dreams=False, needs_scope=False) as host:
        talk = await host.session(session_id, workspace=session.scope.workspace)
        left = await talk.remove(peer)
    _show(session, left)


async def say(
    session_id: str,
    peer: str,
    text: str,
    /,
    *,
    role: Literal["user", "assistant", "system", "tool"] = "user",
    at: str | None = None,
    session: CliSession,
) -> None:
    """Log what a peer says in a session, in its own scope; whoever observes it is told before the command ends.

    Args:
        session_id: The session's id, in the workspace of the scope.
        peer: Who says it.
        text: What is said.
        role: `user` for people, `assistant` for agents, or `system` or `tool`.
        at: When it was said, with its time zone, as in 2025-06-14T09:00:00Z; else now.
        session: Whose workspace.
    """
    async with session.host(Access.CHANGE, dreams=False, needs_scope=False) as host:
        talk = await host.session(session_id, workspace=session.scope.workspace)
        turn = await talk.append(peer, text, role=role, occurred_at=instant(at, option="--at"))
    told = ", ".join(map(one_line, turn.observers)) or "nobody observes it"
    session.screen.show(lambda: said_json(turn), lambda: [Line(f"Logged in {turn.scope}; observed by: {told}.")])


async def observe(peer: str, state: State | None = None, /, *, session: CliSession) -> None:
    """Say whether a peer may be observed wherever its session says nothing, or show what was said.

    Args:
        peer: Its name.
        state: On, off, or inherit for nothing said, which is on; without it what holds is shown.
        session: Whose workspace.
    """
    asked = UNCHANGED if state is None else SETTINGS[state]
    async with session.host(Access.LOOK if state is None else Access.CREATE, dreams=False, needs_scope=False) as host:
        found = await host.peer(peer, workspace=session.scope.workspace, observe_me=asked)
    holds = "may not be observed" if found.observe_me is False else "may be observed"
    session.screen.show(
        lambda: {"workspace": session.scope.workspace, "name": peer, "observe_me": found.observe_me},
        lambda: [Line(f"{one_line(peer)} {holds} where its session says nothing.")],
    )


def _show(session: CliSession, talk: PeerSession) -> None:
    session.screen.show(
        lambda: {"session_id": talk.id, "workspace": talk.workspace, "peers": peers_json(talk.peers)},
        lambda: _lines(talk, session.screen.width),
    )


def _lines(talk: PeerSession, width: int) -> Lines:
    where = f"session {one_line(talk.id)} of the workspace {one_line(talk.workspace)}"
    if not talk.peers:
        yield from paragraph(f"Nobody takes part in the {where}.", width, tone=Tone.TITLE)
        return
    yield from paragraph(f"In the {where}:", width, tone=Tone.TITLE)
    for speaker in talk.peers:
        others = observers_of(speaker, talk.peers)
        if speaker.observe_me is False:
            told = "nobody learns from what it says, not itself either"
        else:
            told = f"observed by {', '.join(map(one_line, others))}" if others else "observed by nobody else"
        yield from paragraph(f"{one_line(speaker.name)}: {told}", width, first="  ")
