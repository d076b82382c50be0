"""The tools for sessions of several peers: who takes part, and what is said there."""

from typing import Annotated, Any, Final

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from agentcore.domain.access import Right
from agentcore.domain.session_peer import SessionPeer
from agentcore.hosting.peer_session import PeerSession
from dream.interfaces.mcp.memory_tools import ToolOutput
from dream.interfaces.mcp.offered import OfferedTool, ToolContext, call_of
from dream.interfaces.serving.peer_sessions import joined, left, opened, peers_json

SessionId = Annotated[str, Field(min_length=1, max_length=512, description="The session, in this workspace.")]
Peer = Annotated[str, Field(min_length=1, max_length=128, description="The name of who takes part.")]


class SessionPeersOutput(ToolOutput):
    """Who takes part in a session, and who observes others there."""

    session_id: str
    peers: list[dict[str, Any]]


class SaidOutput(ToolOutput):
    """What was logged, and who is told of it."""

    turn_id: str
    observers: list[str]


async def session_peers(ctx: ToolContext, session_id: SessionId) -> SessionPeersOutput:
    """List who takes part in a session of several peers, and who of them observes what the others say."""
    return _told(await opened(call_of(ctx), session_id))


async def join_session(
    ctx: ToolContext,
    session_id: SessionId,
    peer: Peer,
    observe_me: Annotated[bool | None, Field(description="Whether others may learn from what it says.")] = None,
    observe_others: Annotated[bool, Field(description="Whether it learns from what others say.")] = False,
) -> SessionPeersOutput:
    """Have a peer take part in a session from now on. Ask a person before you set observe_me for them."""
    asked = SessionPeer(name=peer, observe_me=observe_me, observe_others=observe_others)
    return _told(await joined(call_of(ctx), session_id, asked))


async def leave_session(ctx: ToolContext, session_id: SessionId, peer: Peer) -> SessionPeersOutput:
    """Have a peer take part no longer; what was said and observed stays."""
    return _told(await left(call_of(ctx), session_id, peer))


async def say_in_session(
    ctx: ToolContext,
    session_id: SessionId,
    content: Annotated[str, Field(min_length=1, max_length=100_000, description="The whole message.")],
) -> SaidOutput:
    """Log what you say in a session, as the peer whose own memory this is; those who observe you are told of it."""
    call = call_of(ctx)
    if call.scope.observer != call.scope.observed:
        raise ToolError(f"{call.scope} is what {call.scope.observer} knows of another peer: nobody speaks there.")
    talk = await call.host.session(session_id, workspace=call.scope.workspace)
    turn = await talk.append(call.scope.observed, content, role="assistant")
    return SaidOutput(turn_id=turn.id, observers=list(turn.observers))


def _told(session: PeerSession) -> SessionPeersOutput:
    return SessionPeersOutput(session_id=session.id, peers=peers_json(session.peers))


SESSION_TOOLS: Final = (
    OfferedTool(session_peers, "Who takes part", Right.READ),
    OfferedTool(join_session, "Take part in a session", Right.WRITE, repeats_well=True),
    OfferedTool(leave_session, "Leave a session", Right.WRITE, destroys=True),
    OfferedTool(say_in_session, "Say something in a session", Right.WRITE),
)
