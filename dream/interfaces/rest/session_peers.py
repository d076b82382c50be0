"""Serves sessions of several peers: who takes part, who observes whom, and what each of them says."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from agentcore.domain.scope import Scope
from agentcore.domain.session_peer import SessionPeer
from agentcore.hosting.peer_session import PeerSession
from dream.interfaces.rest.bodies import PART, VISIBLE, Body, Instant
from dream.interfaces.rest.conversations import SessionId, logged_turn
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, IdempotencyKey, Reading, Writing, aware
from dream.interfaces.rest.shapes import ResponseBody, TurnResponse
from dream.interfaces.serving.peer_sessions import joined, left, of_peer, opened, peers_json, said_json
from dream.interfaces.serving.receipts import Records
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX, tags=["conversations"])
_PEER = "The peer, as the scope `WORKSPACE/PEER/PEER` names it."
PeerName = Annotated[str, Path(min_length=1, max_length=128, json_schema_extra=PART, description=_PEER)]
_ME = "Whether what the peer says may be learnt from; null leaves it to what holds for the peer everywhere."


class PeerInSession(Body):
    """What holds of a peer in a session; what is left out is as by default."""

    observe_me: Annotated[bool | None, Field(description=_ME)] = None
    observe_others: Annotated[bool, Field(description="Whether the peer learns from what the others say.")] = False


class PeerEverywhere(Body):
    """What holds of a peer wherever its session says nothing."""

    observe_me: bool | None


class PeerTurn(Body):
    """What a peer says."""

    content: Annotated[str, Field(min_length=1, max_length=6_000_000, json_schema_extra=VISIBLE)]
    role: Literal["user", "assistant", "system", "tool"] = "user"
    occurred_at: Instant | None = None
    learning: bool | None = None


class SessionPeersResponse(ResponseBody):
    """Who takes part in a session, by name."""

    session_id: str
    workspace: str
    peers: list[dict[str, bool | str | None]]


class PeerTurnResponse(TurnResponse):
    """What a peer said: the memory that it is in, and who observed it."""

    scope: str
    observers: list[str]


class PeerResponse(ResponseBody):
    """What holds of a peer wherever its session says nothing."""

    name: str
    observe_me: bool | None


@router.get("/conversations/{session_id}/peers", responses=answers(SessionPeersResponse))
async def list_session_peers(call: Reading, session_id: SessionId) -> Response:
    """List who takes part in a session of the workspace, and who observes others; only those who do are told."""
    return _told(await opened(call, session_id))


@router.put("/conversations/{session_id}/peers/{peer}", responses=answers(SessionPeersResponse))
async def put_session_peer(
    request: Request, call: Writing, session_id: SessionId, peer: PeerName, body: PeerInSession,
    key: IdempotencyKey = None,
) -> Response:  # fmt: skip
    """Have a peer take part from now on, or change what holds of it; to observe others takes the whole workspace."""
    asked = SessionPeer(name=peer, observe_me=body.observe_me, observe_others=body.observe_others)

    async def work() -> Response:
        return _told(await joined(call, session_id, asked))

    return await _once(request, call, key, work, lambda _: list_session_peers(call, session_id))


@router.delete("/conversations/{session_id}/peers/{peer}", responses=answers(SessionPeersResponse))
async def remove_session_peer(
    request: Request, call: Writing, session_id: SessionId, peer: PeerName, key: IdempotencyKey = None
) -> Response:
    """Have a peer take part no longer; what it said and observed stays."""

    async def work() -> Response:
        return _told(await left(call, session_id, peer))

    return await _once(request, call, key, work, lambda _: list_session_peers(call, session_id))


@router.post(
    "/conversations/{session_id}/peers/{peer}/turns", status_code=201, responses=answers(PeerTurnResponse, 201)
)
async def append_peer_turn(
    request: Request, call: Writing, session_id: SessionId, peer: PeerName, body: PeerTurn, key: IdempotencyKey = None
) -> Response:
    """Log what a peer says, in its own scope; whoever observes it there is told soon after."""
    speaker = of_peer(call, peer)

    async def work() -> Response:
        talk = await call.host.session(session_id, workspace=call.scope.workspace)
        turn = await talk.append(
            peer,
            body.content,
            role=body.role,
            occurred_at=aware(body.occurred_at, "occurred_at"),
            learning=body.learning,
        )
        return reply(said_json(turn), 201)

    async def again(records: Records) -> Response:
        return reply(said_json(await logged_turn(speaker, records)), 201)

    return await once(request, speaker, key, work, again)


@router.get("/peers/{peer}", responses=answers(PeerResponse))
async def get_peer(call: Reading, peer: PeerName) -> Response:
    """Return whether a peer may be observed where its session says nothing; null if nothing was said."""
    of_peer(call, peer)
    found = await call.host.peer(peer, workspace=call.scope.workspace)
    return reply({"name": found.name, "observe_me": found.observe_me})


@router.put("/peers/{peer}", responses=answers(PeerResponse))
async def put_peer(
    request: Request, call: Writing, peer: PeerName, body: PeerEverywhere, key: IdempotencyKey = None
) -> Response:
    """Say whether a peer may be observed wherever its session says nothing."""
    of_peer(call, peer)

    async def work() -> Response:
        said = await call.host.peer(peer, workspace=call.scope.workspace, observe_me=body.observe_me)
        return reply({"name": said.name, "observe_me": said.observe_me})

    return await _once(request, call, key, work, lambda _: get_peer(call, peer))


async def _once(
    request: Request,
    call: ScopedCall,
    key: str | None,
    work: Callable[[], Awaitable[Response]],
    again: Callable[[Records], Awaitable[Response]],
) -> Response:
    """Carry out once what concerns a workspace; its receipt lies where who takes part is written."""
    default = Scope.default()
    kept = replace(call, scope=Scope(call.scope.workspace, default.observer, default.observed))
    return await once(request, kept, key, work, again, always=True)


def _told(session: PeerSession) -> Response:
    peers = peers_json(session.peers)
    return reply({"session_id": session.id, "workspace": session.workspace, "peers": peers})
