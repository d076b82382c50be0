"""Serves claims: list, take one from what was said, verify, let one pass its gate, refuse one."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from agentcore.domain.claim import Claim, ClaimState
from agentcore.domain.records import RecordKind, to_image
from dream.interfaces.rest.bodies import Confirmation, NewClaim
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, IdempotencyKey, Reading, RecordId, Reviewing, Writing
from dream.interfaces.rest.shapes import ClaimResponse, ClaimsResponse, GateResponse
from dream.interfaces.serving.receipts import Records
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/claims", tags=["claims"])
State = Annotated[
    Literal["candidate", "validated", "disputed", "rejected", "superseded", "promoted"] | None,
    Query(description="Only those in this state."),
]


@router.get("", responses=answers(ClaimsResponse))
async def list_claims(call: Reading, state: State = None) -> Response:
    """List claims, the oldest first."""
    states = frozenset(ClaimState) if state is None else frozenset({ClaimState(state)})
    return reply({"claims": [to_image(one) for one in await call.services.claims.list(states=states)]})


@router.post("", status_code=201, responses=answers(ClaimResponse, 201, says="A candidate, until it is verified."))
async def assert_claim(request: Request, call: Writing, body: NewClaim, key: IdempotencyKey = None) -> Response:
    """Take a claim from a memory or a turn, with the words that say it."""
    told = body.model_dump(exclude={"object"})

    async def work() -> Response:
        for text in (body.subject, body.predicate, body.object):
            await call.services.memory.refuse_secret(text)
        taken = call.services.claims.assert_
        made = await taken(told.pop("subject"), told.pop("predicate"), body.object, **told)
        return reply({"claim": to_image(made)}, 201)

    async def again(records: Records) -> Response:
        named = next((name for kind, name in records if kind == RecordKind.CLAIM), "")
        return reply({"claim": to_image(await call.services.claims.get(named))}, 201)

    return await once(request, call, key, work, again)


@router.post("/{claim_id}/verify", responses=answers(ClaimResponse, says="The claim as its words leave it."))
async def verify_claim(request: Request, call: Reviewing, claim_id: RecordId, key: IdempotencyKey = None) -> Response:
    """Hold a claim against its words: entailed validates it, contradicted disputes it, else it stays as it is."""
    return await _done(request, call, key, claim_id, lambda: call.services.claims.verify(claim_id))


@router.post("/{claim_id}/promote", responses=answers(GateResponse, says="What the gate says, carried out."))
async def promote_claim(
    request: Request, call: Reviewing, claim_id: RecordId, body: Confirmation, key: IdempotencyKey = None
) -> Response:
    """Let a claim pass its gate: it becomes a fact, replaces one, is refused as weaker, or a person is asked."""

    async def work() -> Response:
        step = (await call.services.claims.promote(claim_id, why=body.why)).step
        told = step.to_json()
        named = {name: told[name] for name in ("outcome", "reason", "fact_id", "question_id")}
        return reply({"claim": to_image(step.claim), **named})

    # A gate asked again about a claim that it settled changes nothing and says so.
    return await once(request, call, key, work, lambda _: work())


@router.post("/{claim_id}/reject", responses=answers(ClaimResponse, says="Refused."))
async def reject_claim(
    request: Request, call: Reviewing, claim_id: RecordId, body: Confirmation, key: IdempotencyKey = None
) -> Response:
    """Refuse a claim that is no fact yet."""

    async def reject() -> Claim:
        await call.services.claims.reject(claim_id, why=body.why)
        return await call.services.claims.get(claim_id)

    return await _done(request, call, key, claim_id, reject)


async def _done(
    request: Request, call: ScopedCall, key: str | None, claim_id: str, do: Callable[[], Awaitable[Claim]]
) -> Response:
    async def work() -> Response:
        return reply({"claim": to_image(await do())})

    async def again(_: Records) -> Response:
        return reply({"claim": to_image(await call.services.claims.get(claim_id))})

    return await once(request, call, key, work, again)
