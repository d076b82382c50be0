"""Serves hypotheses to look at, as Dense-Mem's routes do."""

import base64
import binascii
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from agentcore.domain.claim import ClaimState
from agentcore.domain.hypothesis import Hypothesis, HypothesisState
from agentcore.errors import UnknownRecordError
from agentcore.stores.storage import ReadView
from dream.interfaces.dream_shapes import dream_json
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import PREFIX, Reading
from dream.interfaces.rest.shapes import DreamPage, DreamResponse
from dream.interfaces.serving.problems import Problem

router = APIRouter(prefix=f"{PREFIX}/dreams", tags=["dreaming"])
_STATUSES = ", ".join(HypothesisState)


@router.get("", responses=answers(DreamPage))
async def list_dreams(
    call: Reading,
    status: Annotated[str | None, Query(max_length=32)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """List hypotheses, the latest first; they are unproven, and no memories."""
    if status is not None and status not in set(HypothesisState):
        raise Problem(status=422, code="invalid_request", detail=f"status must be one of {_STATUSES}")
    states = frozenset(HypothesisState) if status is None else frozenset({HypothesisState(status)})
    after = _read_cursor(cursor, status)

    def read(view: ReadView) -> tuple[list[Hypothesis], set[str]]:
        found = sorted(view.hypotheses.in_states(states), key=_place, reverse=True)
        page = [one for one in found if after is None or _place(one) < after]
        facts = {one.fact for one in view.claims.in_states({ClaimState.PROMOTED}) if one.fact is not None}
        return page[: limit + 1], facts

    page, facts = await call.host.storage.read(call.scope, read)
    more = _cursor(page[limit - 1], status) if len(page) > limit else None
    return reply({"data": {"items": [dream_json(one, facts) for one in page[:limit]], "next_cursor": more}})


@router.get("/{dream_id}", responses=answers(DreamResponse))
async def get_dream(call: Reading, dream_id: Annotated[str, Path(min_length=1, max_length=128)]) -> Response:
    """Return one hypothesis; it is unproven, and no memory."""
    try:
        return reply({"data": dream_json(await call.services.hypotheses.get(dream_id))})
    except UnknownRecordError:
        raise Problem(status=404, code="unknown_record", detail="dream not found") from None


def _place(one: Hypothesis) -> tuple[str, str]:
    return one.created_at.isoformat(), one.id


def _cursor(one: Hypothesis, status: str | None) -> str:
    return base64.urlsafe_b64encode("|".join((*_place(one), status or "")).encode()).decode()


def _read_cursor(cursor: str | None, status: str | None) -> tuple[str, str] | None:
    if cursor is None:
        return None
    try:
        at, name, asked = base64.urlsafe_b64decode(cursor.encode()).decode().split("|")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        at = name = asked = None
    if at is None or name is None or asked != (status or ""):
        raise Problem(status=422, code="invalid_request", detail="invalid cursor")
    return at, name
