"""Serves how a scope stands: status, schedule, switches, usage, options, and Dense-Mem's `dreaming` routes."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from agentcore.hosting.switches import UNCHANGED
from agentcore.stores.acting import acting_as
from dream.domain.usage import EVERYTHING, UsageKey
from dream.interfaces.documents import dreaming_status_json, run_json, usage_json
from dream.interfaces.rest.bodies import Instant, SwitchChange
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import Administering, Limit, Reading, Writing, aware
from dream.interfaces.rest.shapes import (
    DreamingStatus,
    DreamRequested,
    OptionsResponse,
    PausedResponse,
    RunPage,
    ScheduleResponse,
    StatusResponse,
    SwitchesResponse,
    UsageResponse,
)
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(tags=["scope"])


@router.get("/status", responses=answers(StatusResponse))
async def get_status(call: Reading) -> Response:
    """Return counts, the last run, what waits, and the next dream."""
    return reply({"scope": str(call.scope), **(await call.services.dreams.status()).to_json()})


@router.get("/schedule", responses=answers(ScheduleResponse))
async def explain_schedule(call: Reading) -> Response:
    """Tell when the scope dreams next, and every gate that holds it back."""
    return reply((await call.services.dreams.explain()).to_json())


@router.post("/schedule", status_code=202, responses=answers(DreamRequested, 202, says="Asked for."))
async def schedule_dream(call: Writing) -> Response:
    """Ask for a dream soon: within a minute, once nobody is served. While one is pending it changes nothing."""
    with acting_as(call.caller.actor):
        asked = await call.services.dreams.schedule()
    return reply(asked.to_json(), 202)


@router.post("/schedule/pause", responses=answers(PausedResponse))
async def pause(call: Administering) -> Response:
    """Stop the dreams of the scope, in every process, until resume."""
    return await _paused(call, is_paused=True)


@router.post("/schedule/resume", responses=answers(PausedResponse))
async def resume(call: Administering) -> Response:
    """Let the dreams of the scope run again."""
    return await _paused(call, is_paused=False)


async def _paused(call: ScopedCall, *, is_paused: bool) -> Response:
    dreams = call.services.dreams
    with acting_as(call.caller.actor):
        await (dreams.pause() if is_paused else dreams.resume())
    return reply({"scope": str(call.scope), "paused": is_paused})


@router.put("/switches", responses=answers(SwitchesResponse))
async def set_switches(call: Administering, body: SwitchChange) -> Response:
    """Switch dreams or learning on or off for the scope, or for one session of it."""
    given = body.model_fields_set
    with acting_as(call.caller.actor):
        done = await call.services.configure(
            body.session_id,
            dream=body.dream if "dream" in given else UNCHANGED,
            learning=body.learning if "learning" in given else UNCHANGED,
        )
    told = {"session_id": done.session_id, "dream": done.dream, "learning": done.learning}
    return reply({"level": done.level.value, **told})


@router.get("/usage", responses=answers(UsageResponse))
async def get_usage(
    call: Reading,
    since: Instant | None = None,
    by: Annotated[list[Literal["day", "pass", "model"]] | None, Query(max_length=3)] = None,
) -> Response:
    """Return what models cost, by day, pass and model."""
    dreams, after = call.services.dreams, aware(since, "since")
    rows = await dreams.usage(since=after, by=EVERYTHING if by is None else frozenset(map(UsageKey, by)))
    return reply(usage_json(call.scope, rows, since=after, tokens_left=await dreams.tokens_left()))


@router.get("/options", responses=answers(OptionsResponse))
async def get_options(call: Reading) -> Response:
    """Return every option of dreams in force, and who said so."""
    return reply({"options": [one.to_json() for one in call.services.dreams.effective_options()]})


@router.get("/dreaming/status", tags=["dreaming"], responses=answers(DreamingStatus))
async def dreaming_status(call: Reading) -> Response:
    """Return options in force with their source, the latest run, and how many proposals wait."""
    return reply(await dreaming_status_json(call.services.dreams))


@router.get("/dreaming/runs", tags=["dreaming"], responses=answers(RunPage))
async def dreaming_runs(call: Reading, limit: Limit = 20) -> Response:
    """List the newest runs."""
    found = await call.services.dreams.runs(limit=limit)
    return reply({"runs": [await run_json(call.services.dreams, one) for one in found], "next_cursor": None})
