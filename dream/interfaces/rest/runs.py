"""Serves runs: list, start, watch, what they changed, undo; and plans."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response

from agentcore.stores.storage import UnitOfWork
from dream.domain.report import RunKind, RunReport
from dream.interfaces.documents import changes_json, run_json
from dream.interfaces.rest.bodies import ALL_PASSES, ALL_TO_PLAN, WHOLE_RUN, PlanAsked, RunAsked, UndoAsked
from dream.interfaces.rest.replies import EventStream, answers, carried_out, once, once_of, reply
from dream.interfaces.rest.requests import PREFIX, Cursor, IdempotencyKey, Limit, Reading, RunDeskOf, Writing
from dream.interfaces.rest.shapes import ChangesResponse, PlanResponse, RunPage, RunResponse
from dream.interfaces.serving.receipts import PLAN, RUN, Records
from dream.interfaces.serving.remedies import ROUTES, report_reworded
from dream.interfaces.serving.scoped_call import ScopedCall
from dream.stores import dream_stores

router = APIRouter(prefix=PREFIX, tags=["runs"])
RunId = Annotated[str, Path(min_length=1, max_length=300, pattern=r"^[^/]+$", description="The id of the run.")]


@router.get("/runs", responses=answers(RunPage))
async def list_runs(call: Reading, limit: Limit = 20, cursor: Cursor = None) -> Response:
    """List runs, the newest first; pages hold while runs begin and end."""
    found = await call.services.dreams.runs(limit=limit + 1, before=cursor)
    page = found[:limit]
    after = page[-1].run_id if len(found) > limit else None
    asked_by = await call.services.dreams.asked_by([one.run_id for one in page])
    return reply({"runs": [await _run_json(call, one, asked_by) for one in page], "next_cursor": after})


@router.post(
    "/runs",
    status_code=202,
    responses=answers(RunResponse, 202, says="Begun; short ones are over already.", Location="Where the run is."),
)
async def start_run(
    request: Request, call: Writing, desk: RunDeskOf, body: RunAsked = ALL_PASSES, key: IdempotencyKey = None
) -> Response:
    """Dream now, or apply a plan exactly; 409 with `run_id` while another run is under way."""
    only = await once_of(request, call, key)

    async def work() -> Response:
        options: dict[str, Any] = {"passes": body.passes, "plan": body.plan, "max_outputs": body.max_outputs}
        return await _begun(call, await desk.begin(call, on_begin=only.keep_begun, **options))

    async def again(records: Records) -> Response:
        report = await _report(call, records[0][1])
        if report.finished_at is None and report.kind is RunKind.DREAM:
            report = await desk.gone_on(call, report, passes=body.passes)
        return await _begun(call, report)

    return await carried_out(only, work, again)


@router.get("/runs/{run_id}", responses=answers(RunResponse))
async def get_run(call: Reading, run_id: RunId) -> Response:
    """Return the report of a run; without `finished_at` it is under way, or was interrupted."""
    report = await _report(call, run_id)
    return reply(await _run_json(call, report, await call.services.dreams.asked_by([report.run_id])))


@router.get("/runs/{run_id}/changes", responses=answers(ChangesResponse))
async def get_changes(
    call: Reading,
    run_id: RunId,
    pass_name: Annotated[str | None, Query(alias="pass", max_length=64, description="Only what this did.")] = None,
    limit: Annotated[int | None, Query(ge=1, le=1_000, description="How many at most; all by default.")] = None,
    after: Annotated[int, Query(ge=0, le=2**31, description="Only changes with a higher number.")] = 0,
) -> Response:
    """Return what a run changed, each record before and after, with the reason, in the order of the numbers."""
    report = await _report(call, run_id)
    rows = await call.services.dreams.diff(report.run_id, pass_name=pass_name, after=after, limit=limit)
    return reply({"run_id": report.run_id, "changes": await changes_json(call.host.storage, call.scope, rows)})


_EVENTS = "Server-sent events: `progress` whenever a step is committed, `done` with the report at the end."
_EVENT: Final = {
    "type": "object",
    "required": ["event", "data"],
    "properties": {
        "event": {"enum": ["progress", "done"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
_STREAM: Final = {"description": _EVENTS, "content": {"text/event-stream": {"schema": _EVENT}}}


@router.get(
    "/runs/{run_id}/events",
    response_class=EventStream,
    responses={
        **answers(RunResponse),
        200: {"description": _EVENTS, "content": {"text/event-stream": {"schema": _EVENT}}},
    },
)
async def watch_run(call: Reading, desk: RunDeskOf, run_id: RunId) -> Response:
    """Follow a run, of this process or another, until it is over."""
    report = await _report(call, run_id)
    return EventStream(desk.events(call.host.storage, call.scope, report.run_id))


@router.post("/runs/{run_id}/undo", responses=answers(RunResponse, says="What the undo did."))
async def undo_run(
    request: Request, call: Writing, run_id: RunId, body: UndoAsked = WHOLE_RUN, key: IdempotencyKey = None
) -> Response:
    """Take back a run, one of its passes, or one of its changes; undoing an undo brings the changes back."""

    async def work() -> Response:
        target = await _report(call, run_id)
        done = await call.services.dreams.undo(target.run_id, pass_name=body.pass_name, change=body.change)
        return reply(report_reworded(done.to_json(), ROUTES))

    return await once(request, call, key, work, lambda them: run_again(call, them), names=under_way(RunKind.UNDO))


@router.post("/plans", status_code=201, responses=answers(PlanResponse, 201, says="Made; apply it with POST /runs."))
async def make_plan(
    request: Request, call: Writing, body: PlanAsked = ALL_TO_PLAN, key: IdempotencyKey = None
) -> Response:
    """Show what a run would change: the real runner on a copy. The plan is kept."""
    began = call.host.clock.now()

    async def work() -> Response:
        return reply((await call.services.dreams.plan(passes=body.passes)).to_json(), 201)

    async def again(records: Records) -> Response:
        named = next((name for kind, name in records if kind == PLAN), "")
        found = await call.host.storage.read(call.scope, lambda view: dream_stores(view).plans.get(named))
        return reply(found.to_json(), 201)

    def names(unit: UnitOfWork) -> Records:
        newest = dream_stores(unit).plans.newest(since=began)
        return [] if newest is None else [(PLAN, newest)]

    return await once(request, call, key, work, again, names=names, always=True)


def under_way(kind: RunKind) -> Callable[[UnitOfWork], Records]:
    """Return what names the run of a kind that writes just now, for a receipt."""

    def names(unit: UnitOfWork) -> Records:
        return [(RUN, run.run_id) for run in dream_stores(unit).runs.unfinished(kind)[-1:]]

    return names


async def run_again(call: ScopedCall, records: Records) -> Response:
    """Answer with the report of the run that a receipt names."""
    return reply((await _report(call, next((name for kind, name in records if kind == RUN), ""))).to_json())


async def _report(call: ScopedCall, run_id: str) -> RunReport:
    """Return the report of a run; of one under way, what is known of it.

    Raises:
        UnknownRunError: there is none of this id.
    """
    return await call.services.dreams.report(run_id)


async def _begun(call: ScopedCall, report: RunReport) -> Response:
    document = await _run_json(call, report)
    return reply(document, 202, {"Location": f"/api/v1/runs/{report.run_id}"})


async def _run_json(call: ScopedCall, report: RunReport, asked_by: Mapping[str, str] | None = None) -> dict[str, Any]:
    told = report_reworded(await run_json(call.services.dreams, report), ROUTES)
    return {**told, "actor": told["actor"] or (asked_by or {}).get(report.run_id)}
