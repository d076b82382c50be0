"""Serves the bearer tokens of clients, as far as they reach nothing that the caller does not reach."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from agentcore.domain.access import AccessToken
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import UnknownRecordError
from dream.interfaces.rest.bodies import NewToken
from dream.interfaces.rest.configuration_shapes import TokenResponse, TokensResponse
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, Administering, IdempotencyKey
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/tokens", tags=["tokens"])
TokenName = Annotated[str, Path(min_length=1, max_length=64, description="What the token is called.")]


@router.get("", responses=answers(TokensResponse))
async def list_tokens(call: Administering) -> Response:
    """List the tokens that reach nothing beyond what this one reaches; revoked and expired ones too, secrets never."""
    return reply({"tokens": [one.to_json() for one in await _within(call)]})


@router.post("", status_code=201, responses=answers(TokenResponse, 201, says="Made; its `secret` is told this once."))
async def create_token(request: Request, call: Administering, body: NewToken, key: IdempotencyKey = None) -> Response:
    """Make a token that reaches no more than this one and ends no later; only a hash of its secret is kept.

    One that does not reach everything names within its own: `NAME` becomes `CREATOR.NAME`, so that no answer tells
    which names others gave.
    """
    patterns = [ScopePattern.parse(one) for one in body.scopes]
    if not call.caller.covers(patterns):
        remedy = "name scopes that it reaches, or use one that reaches more"
        raise NotAllowedError(problem="The token does not reach all that the new one would", remedy=remedy)
    name = body.name if call.caller.reaches_everything else f"{call.caller.actor.name}.{body.name}"
    lifetime = None if body.days is None else timedelta(days=body.days)

    async def work() -> Response:
        made = await call.host.tokens.create(
            name, scopes=body.scopes, rights=body.rights, lifetime=lifetime, until=call.caller.until
        )
        secret, token = made
        return reply({**token.to_json(), "secret": secret}, 201)

    async def again(_: object) -> Response:
        return reply({**(await _named(call, name)).to_json(), "secret": None}, 201)

    return await once(request, call, key, work, again, always=True)


@router.delete("/{name}", responses=answers(TokenResponse, says="Revoked: every process refuses it within a second."))
async def revoke_token(request: Request, call: Administering, name: TokenName, key: IdempotencyKey = None) -> Response:
    """Take a token back, and with it those that it made, `NAME.*`; to take one back again changes nothing."""

    async def work() -> Response:
        # Names are given again once their token is revoked: the one that holds now may be somebody else's.
        if (await _named(call, name)).revoked_at is None:
            await call.host.tokens.revoke(name)
        return reply((await _named(call, name)).to_json())

    async def again(_: object) -> Response:
        return reply((await _named(call, name)).to_json())

    return await once(request, call, key, work, again, always=True)


async def _within(call: ScopedCall) -> list[AccessToken]:
    return [one for one in await call.host.tokens.list() if call.caller.covers(one.scopes)]


async def _named(call: ScopedCall, name: str) -> AccessToken:
    found = [one for one in await _within(call) if one.name == name]
    if not found:
        raise UnknownRecordError(kind="token", value=name)
    return next((one for one in found if one.revoked_at is None), found[-1])
