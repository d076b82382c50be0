"""Serves erasures: what one would remove, the removal, and what is on record of earlier ones."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import Field

from agentcore.domain.scope import Scope
from agentcore.domain.temporal import to_text
from agentcore.stores.acting import acting_as
from dream.interfaces.rest.bodies import PART, Body, Instant
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import PREFIX, Administering
from dream.interfaces.rest.shapes import ResponseBody
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/erasures", tags=["erasures"])
_OF_PEER = "All scopes of the workspace that are about this peer, in the place of the one scope."
Peer = Annotated[str | None, Query(alias="observed", max_length=128, json_schema_extra=PART, description=_OF_PEER)]


class ErasureAsked(Body):
    """What shall be erased for good: the scope of the request, or all of its workspace that is about a peer."""

    observed: Annotated[str | None, Field(max_length=128, json_schema_extra=PART, description=_OF_PEER)] = None
    confirm: Annotated[str, Field(max_length=400, description="The scope, or the peer, once more: a slip is refused.")]


class CertificateResponse(ResponseBody):
    """What an erasure removed, or would, and what it does not reach."""

    scopes: list[str]
    removed: dict[str, int]
    documents: list[str]
    beyond_reach: list[str]


class ErasuresResponse(ResponseBody):
    """What was erased of a scope: nothing of it is left but this."""

    erasures: list[dict[str, Any]]


@router.get("", responses=answers(ErasuresResponse))
async def list_erasures(call: Administering, since: Instant | None = None) -> Response:
    """List the erasures of the scope, the earliest first; they outlast what they removed."""
    found = await call.host.storage.erasures(since=since)
    mine = [one for one in found if one.scope == call.scope]
    told = [
        {
            "scope": str(one.scope),
            "erased_at": to_text(one.erased_at),
            "finished_at": None if one.finished_at is None else to_text(one.finished_at),
            "removed": dict(one.removed),
            "sent": dict(one.sent),
        }
        for one in mine
    ]
    return reply({"erasures": told})


@router.get("/preview", responses=answers(CertificateResponse, says="What an erasure would remove now."))
async def preview_erasure(call: Administering, observed: Peer = None) -> Response:
    """Show what an erasure would remove and not reach; nothing is changed."""
    return await _certificate(call, observed, preview=True)


@router.post("", responses=answers(CertificateResponse, says="Gone for good."))
async def erase(call: Administering, body: ErasureAsked) -> Response:
    """Remove for good all that the scope holds, or all of its workspace that is about a peer.

    Sent again after it was cut off, it removes what is left; no undo brings anything back.
    """
    named = str(call.scope) if body.observed is None else body.observed
    if body.confirm != named:
        detail = "The erasure was not confirmed: repeat in `confirm` the name of the scope or of the peer."
        raise Problem(status=409, code="not_confirmed", detail=detail)
    return await _certificate(call, body.observed, preview=False)


async def _certificate(call: ScopedCall, observed: str | None, *, preview: bool) -> Response:
    reached = call.caller.reaches
    what: dict[str, Any] = {"scope": call.scope}
    if observed is not None:
        Scope(call.scope.workspace, call.scope.observer, observed)
        if not call.caller.reaches_all(call.scope.workspace, observed):
            remedy = f"it takes one for {call.scope.workspace}/*/{observed}"
            raise NotAllowedError(problem="The token does not reach every scope about this peer", remedy=remedy)
        what = {"workspace": call.scope.workspace, "observed": observed}
    with acting_as(call.caller.actor):
        done = await call.host.erase(**what, preview=preview)
    return reply(done.told_to(reached))
