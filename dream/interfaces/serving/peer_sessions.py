"""Lets clients see and change who takes part in a session of several peers, as far as their scopes reach."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agentcore.domain.conversation import Turn
from agentcore.domain.records import to_image
from agentcore.domain.scope import Scope
from agentcore.domain.session_peer import SessionPeer
from agentcore.hosting.peer_session import PeerSession
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.scoped_call import ScopedCall


async def opened(call: ScopedCall, session_id: str) -> PeerSession:
    """Return a session of the call's workspace as its caller may see it.

    Whoever reaches one of those who take part, or the whole workspace, sees all of them; to others nobody takes part.
    """
    found = await call.host.session(session_id, workspace=call.scope.workspace)
    sees = any(call.caller.reaches(found.scope(one.name)) for one in found.peers)
    return found if sees or call.caller.reaches_workspace(found.workspace) else replace(found, peers=())


async def joined(call: ScopedCall, session_id: str, peer: SessionPeer) -> PeerSession:
    """Have a peer take part, or change what holds of one who does.

    Raises:
        NotAllowedError: the caller does not reach the peer's own scope, or, where the peer is to observe others, the
            whole workspace, whose scopes that writes to.
    """
    workspace = call.scope.workspace
    of_peer(call, peer.name)
    if peer.observe_others and not call.caller.reaches_workspace(workspace):
        raise _not_reached("all whom the peer would observe", f"{workspace}/*/*")
    return await call.host.session(session_id, workspace=workspace, peers=[peer])


async def left(call: ScopedCall, session_id: str, peer: str) -> PeerSession:
    """Have a peer take part no longer.

    Raises:
        NotAllowedError: the caller does not reach the peer's own scope.
        UnknownRecordError: the peer does not take part.
    """
    of_peer(call, peer)
    return await (await opened(call, session_id)).remove(peer)


def of_peer(call: ScopedCall, peer: str) -> ScopedCall:
    """Return the call on the peer's own scope.

    Raises:
        InvalidScopeError: no peer can have that name.
        NotAllowedError: the caller does not reach it.
    """
    own = Scope(call.scope.workspace, peer, peer)
    if not call.caller.reaches(own):
        raise _not_reached("this peer's own scope", f"WORKSPACE/{peer}/{peer}")
    return ScopedCall(caller=call.caller, host=call.host, scope=own, services=call.host.for_scope(own))


def peers_json(peers: Iterable[SessionPeer]) -> list[dict[str, Any]]:
    """Return what clients are told of peers."""
    return [{"name": one.name, "observe_me": one.observe_me, "observe_others": one.observe_others} for one in peers]


def said_json(turn: Turn) -> dict[str, Any]:
    """Return what clients are told of what a peer said: the turn, whose memory it is in, and who observed it."""
    return {**to_image(turn), "scope": str(turn.scope), "observers": list(turn.observers)}


def _not_reached(what: str, pattern: str) -> NotAllowedError:
    return NotAllowedError(problem=f"The token does not reach {what}", remedy=f"it takes one for {pattern}")
