"""Serves what waits for a person: proposals, approved or rejected."""

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from dream.domain.report import RunKind, RunReport
from dream.interfaces.rest.bodies import DecisionRequest
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, IdempotencyKey, Reading, RecordId, Reviewing
from dream.interfaces.rest.runs import run_again, under_way
from dream.interfaces.rest.shapes import ProposalResponse, ProposalsResponse, RunResponse
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/proposals", tags=["review"])
Decide = Callable[[Collection[str]], Awaitable[RunReport]]


@router.get("", responses=answers(ProposalsResponse))
async def list_proposals(
    call: Reading, pass_name: Annotated[str | None, Query(alias="pass", max_length=64)] = None
) -> Response:
    """List what waits, in the order it was proposed."""
    found = await call.services.dreams.proposals(pass_name=pass_name)
    return reply({"proposals": [one.to_json() for one in found]})


@router.get("/{proposal_id}", responses=answers(ProposalResponse))
async def get_proposal(call: Reading, proposal_id: RecordId) -> Response:
    """Return what a proposal would change, each record before and after."""
    return reply((await call.services.dreams.proposal(proposal_id)).to_json())


@router.post("/approve", responses=answers(RunResponse, says="What was done, and what was refused."))
async def approve(request: Request, call: Reviewing, body: DecisionRequest, key: IdempotencyKey = None) -> Response:
    """Make the changes of proposals, as far as nothing speaks against them any more."""
    return await _decided(request, call, body, key, call.services.dreams.approve)


@router.post("/reject", responses=answers(RunResponse, says="What was dropped."))
async def reject(request: Request, call: Reviewing, body: DecisionRequest, key: IdempotencyKey = None) -> Response:
    """Drop proposals; no dream does or proposes the same again."""
    return await _decided(request, call, body, key, call.services.dreams.reject)


async def _decided(
    request: Request, call: ScopedCall, body: DecisionRequest, key: str | None, decide: Decide
) -> Response:
    async def work() -> Response:
        return reply((await decide(body.proposals)).to_json())

    names = under_way(RunKind.REVIEW)
    return await once(request, call, key, work, lambda records: run_again(call, records), names=names)
