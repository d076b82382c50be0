"""Serves hypotheses and dreaming cycles as Dense-Mem's routes do, and what people decide about them."""

import base64
import binascii
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from agentcore.domain.hypothesis import Hypothesis, HypothesisState
from agentcore.errors import UnknownRecordError
from agentcore.stores.storage import ReadView
from dream.domain.guessing_passes import HYPOTHESES, RE_EVALUATE, REFLECT
from dream.interfaces.dream_shapes import cycle_json, cycles_json, dreaming_status_json, dreams_json, resolution_json
from dream.interfaces.rest.bodies import CycleAsked, DreamDecision
from dream.interfaces.rest.replies import answers, carried_out, once, once_of, reply
from dream.interfaces.rest.requests import PREFIX, Cursor, IdempotencyKey, Reading, Reviewing, RunDeskOf, Writing
from dream.interfaces.rest.shapes import (
    CycleResponse,
    CyclesResponse,
    DreamingStatus,
    DreamPage,
    DreamResponse,
    ResolutionResponse,
)
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.receipts import Records

router = APIRouter(prefix=PREFIX, tags=["dreaming"])
_STATUSES = ", ".join(HypothesisState)
_EARLIEST: Final = ""
DreamId = Annotated[str, Path(min_length=1, max_length=128)]
Sort = Annotated[Literal["created_at", "updated_at", "last_evaluated_at"], Query(description="By what to order.")]
Order = Annotated[Literal["asc", "desc"], Query(description="The latest first, or last.")]
_INSTANTS: Final[dict[str, Callable[[Hypothesis], datetime | None]]] = {
    "created_at": lambda one: one.created_at,
    "updated_at": lambda one: one.state_at or one.created_at,
    "last_evaluated_at": lambda one: one.evaluated_at,
}


@router.get("/dreams", responses=answers(DreamPage))
async def list_dreams(
    call: Reading,
    status: Annotated[str | None, Query(max_length=32, json_schema_extra={"enum": [*HypothesisState]})] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: Cursor = None,
    sort: Sort = "created_at",
    direction: Order = "desc",
) -> Response:
    """List hypotheses, the latest first; they are unproven, and no memories."""
    if status is not None and status not in set(HypothesisState):
        raise Problem(status=422, code="invalid_request", detail=f"status must be one of {_STATUSES}")
    states = frozenset(HypothesisState) if status is None else frozenset({HypothesisState(status)})
    asked = "|".join((sort, direction, status or ""))
    after = _read_cursor(cursor, asked)

    def place(one: Hypothesis) -> tuple[str, str]:
        at = _INSTANTS[sort](one)
        return _EARLIEST if at is None else at.isoformat(), one.id

    def read(view: ReadView) -> list[Hypothesis]:
        is_falling = direction == "desc"
        found = sorted(view.hypotheses.in_states(states), key=place, reverse=is_falling)
        page = [one for one in found if after is None or (place(one) != after and (place(one) < after) is is_falling)]
        return page[: limit + 1]

    page = await call.host.storage.read(call.scope, read)
    more = _cursor(place(page[limit - 1]), asked) if len(page) > limit else None
    return reply({"data": {"items": await dreams_json(call.host.storage, page[:limit]), "next_cursor": more}})


@router.get("/dreams/{dream_id}", responses=answers(DreamResponse))
async def get_dream(call: Reading, dream_id: DreamId) -> Response:
    """Return one hypothesis; it is unproven, and no memory."""
    try:
        found = await call.services.hypotheses.get(dream_id)
    except UnknownRecordError:
        raise Problem(status=404, code="unknown_record", detail="dream not found") from None
    (dream,) = await dreams_json(call.host.storage, [found])
    return reply({"data": dream})


@router.post("/dreams/{dream_id}/resolve", responses=answers(ResolutionResponse, says="Decided."))
async def resolve_dream(
    request: Request, call: Reviewing, dream_id: DreamId, body: DreamDecision, key: IdempotencyKey = None
) -> Response:
    """Carry out what a person decided; `promote_candidate` keeps their words as a memory, which meets its gates."""

    async def work() -> Response:
        done = await call.services.hypotheses.resolve(dream_id, body.decision, feedback=body.feedback)
        return reply({"data": await resolution_json(call.host.storage, done)})

    # A decision that stands changes nothing and is answered as it stands.
    return await once(request, call, key, work, lambda _: work())


@router.get("/dreaming/status", responses=answers(DreamingStatus))
async def dreaming_status(call: Reading) -> Response:
    """Return the configuration in force, the latest dream, and how many proposals and hypotheses wait."""
    return reply({"data": await dreaming_status_json(call.services)})


@router.get("/dreaming/runs", responses=answers(CyclesResponse))
async def dreaming_runs(call: Reading, limit: Annotated[int, Query(ge=1, le=100)] = 20) -> Response:
    """List the newest dreams as Dense-Mem's records of cycles."""
    return reply({"data": await cycles_json(call.services.dreams, limit=limit)})


@router.post(
    "/dreaming/runs",
    status_code=202,
    responses=answers(CycleResponse, 202, says="Begun; short ones are over already.", Location="Where the run is."),
)
async def run_dreaming_cycle(
    request: Request, call: Writing, desk: RunDeskOf, body: CycleAsked, key: IdempotencyKey = None
) -> Response:
    """Run the three phases around hypotheses now, and nothing else, whatever the preset says of them."""
    only = await once_of(request, call, key)
    run = partial(
        call.services.hypotheses.run,
        reflect=body.reflect_enabled,
        re_evaluate=body.reevaluate_enabled,
        hypotheses=body.dream_enabled,
        max_outputs=body.max_outputs,
    )

    async def work() -> Response:
        return _begun(cycle_json(await desk.begin(call, run=run, on_begin=only.keep_begun)))

    async def again(records: Records) -> Response:
        report = await call.services.dreams.report(records[0][1])
        if report.finished_at is None:
            report = await desk.gone_on(call, report, passes=[REFLECT.name, RE_EVALUATE.name, HYPOTHESES.name])
        return _begun(cycle_json(report))

    return await carried_out(only, work, again)


def _begun(cycle: dict[str, Any]) -> Response:
    return reply({"data": cycle}, 202, {"Location": f"{PREFIX}/runs/{cycle['run_id']}"})


def _cursor(place: tuple[str, str], asked: str) -> str:
    return base64.urlsafe_b64encode("|".join((*place, asked)).encode()).decode()


def _read_cursor(cursor: str | None, asked: str) -> tuple[str, str] | None:
    if cursor is None:
        return None
    try:
        at, name, told = base64.urlsafe_b64decode(cursor.encode()).decode().split("|", 2)
    except (binascii.Error, UnicodeDecodeError, ValueError):
        at = name = told = None
    if at is None or name is None or told != asked:
        raise Problem(status=422, code="invalid_request", detail="invalid cursor")
    return at, name
