"""Serves how a scope stands: status, schedule, switches, off-limits topics, usage and options."""

from datetime import timedelta
from typing import Annotated, Final, Literal, cast

from fastapi import APIRouter, Query, Request, Response

from agentcore.domain.access import Right
from agentcore.domain.records import RecordKind, to_image
from agentcore.errors import UnknownRecordError
from agentcore.hosting.switches import UNCHANGED, Setting
from agentcore.stores.acting import acting_as
from dream.domain.usage import EVERYTHING, UsageKey
from dream.interfaces.documents import usage_json
from dream.interfaces.rest.bodies import Instant, SwitchChange, TopicWords
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import (
    PREFIX,
    Administering,
    IdempotencyKey,
    Reading,
    RecordId,
    Writing,
    aware,
    host_of,
)
from dream.interfaces.rest.shapes import (
    DreamRequested,
    GrowthResponse,
    OptionsResponse,
    PausedResponse,
    RemovedTopic,
    ScheduleResponse,
    ScopesResponse,
    StatusResponse,
    SwitchesResponse,
    TimelineResponse,
    TopicResponse,
    TopicsResponse,
    UsageResponse,
)
from dream.interfaces.serving.caller import SCOPE_KEY, Caller, NotAllowedError
from dream.interfaces.serving.receipts import Records
from dream.interfaces.serving.remedies import ROUTES, reworded
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX, tags=["scope"])
_MOST_SCOPES: Final = 10_000
_MONTH: Final = timedelta(days=31)


@router.get("/scopes", responses=answers(ScopesResponse))
async def list_scopes(request: Request) -> Response:
    """List the scopes that hold something and that the token reaches, by name."""
    host, caller = host_of(request), cast("Caller", request.scope[SCOPE_KEY])
    caller.require(Right.READ)
    reached = sorted(str(one) for one in await host.storage.scopes() if caller.reaches(one))
    return reply({"scopes": reached[:_MOST_SCOPES]})


@router.get("/status", responses=answers(StatusResponse))
async def get_status(call: Reading) -> Response:
    """Return counts, the last run, what waits, and the next dream."""
    standing = (await call.services.dreams.status()).to_json()
    if standing["alarm"] is not None:
        standing["alarm"]["sentence"] = reworded(standing["alarm"]["sentence"], ROUTES)
    return reply({"scope": str(call.scope), **standing})


@router.get("/growth", responses=answers(GrowthResponse))
async def get_growth(call: Reading) -> Response:
    """Count the active memories by the day on which they came, and by the tenths of their importance now."""
    days, importance = await call.services.dreams.growth()
    return reply({"days": [{"day": day, "memories": count} for day, count in days.items()], "importance": importance})


@router.get("/schedule", responses=answers(ScheduleResponse))
async def explain_schedule(call: Reading) -> Response:
    """Tell when the scope dreams next, and every gate that holds it back."""
    return reply((await call.services.dreams.explain()).to_json())


@router.get("/schedule/timeline", responses=answers(TimelineResponse))
async def show_timeline(call: Reading, since: Instant | None = None, until: Instant | None = None) -> Response:
    """List the dreams that began in a time, and those to come in it if each finds work and goes well.

    A month back and a month ahead unless said; at most the newest thousand that were, and the next hundred to come.
    Triggers that wait for people, such as silence, are foreseen once.
    """
    now = call.host.clock.now()
    begin, end = aware(since, "since") or now - _MONTH, aware(until, "until") or now + _MONTH
    return reply((await call.services.dreams.timeline(begin, end)).to_json())


@router.post("/schedule", status_code=202, responses=answers(DreamRequested, 202, says="Asked for."))
async def schedule_dream(call: Writing) -> Response:
    """Ask for a dream soon: within a minute, once nobody is served. While one is pending it changes nothing."""
    with acting_as(call.caller.actor):
        asked = await call.services.dreams.schedule()
    return reply(asked.to_json(), 202)


@router.post("/schedule/pause", responses=answers(PausedResponse))
async def pause(request: Request, call: Administering, key: IdempotencyKey = None) -> Response:
    """Stop the dreams of the scope, in every process, until resume."""
    return await _paused(request, call, key, is_paused=True)


@router.post("/schedule/resume", responses=answers(PausedResponse))
async def resume(request: Request, call: Administering, key: IdempotencyKey = None) -> Response:
    """Let the dreams of the scope run again."""
    return await _paused(request, call, key, is_paused=False)


async def _paused(request: Request, call: ScopedCall, key: str | None, *, is_paused: bool) -> Response:
    dreams = call.services.dreams

    async def work() -> Response:
        await (dreams.pause() if is_paused else dreams.resume())
        return reply({"scope": str(call.scope), "paused": is_paused})

    async def again(_: Records) -> Response:
        return reply({"scope": str(call.scope), "paused": (await dreams.status()).paused})

    return await once(request, call, key, work, again, always=True)


@router.get("/switches", responses=answers(SwitchesResponse))
async def get_switches(call: Reading) -> Response:
    """Return how dreams and learning are switched for the scope."""
    return await _switched(call, None)


@router.put("/switches", responses=answers(SwitchesResponse))
async def set_switches(
    request: Request, call: Administering, body: SwitchChange, key: IdempotencyKey = None
) -> Response:
    """Switch dreams or learning on or off for the scope, or for one session of it; or for the whole workspace."""
    asked = body.model_dump(include={"dream", "learning"}, exclude_unset=True)
    workspace = call.scope.workspace if body.whole_workspace else None
    if workspace is not None and not call.caller.reaches_workspace(workspace):
        remedy = f"it takes one for {workspace}/*/*"
        raise NotAllowedError(problem="The token does not reach every scope of this workspace", remedy=remedy)

    async def work() -> Response:
        return await _switched(call, body.session_id, workspace, **asked)

    async def again(_: Records) -> Response:
        return await _switched(call, body.session_id, workspace)

    return await once(request, call, key, work, again, always=True)


async def _switched(
    call: ScopedCall,
    session_id: str | None,
    workspace: str | None = None,
    *,
    dream: Setting = UNCHANGED,
    learning: Setting = UNCHANGED,
) -> Response:
    done = await call.services.configure(session_id, workspace=workspace, dream=dream, learning=learning)
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


@router.get("/off-limits", tags=["off-limits"], responses=answers(TopicsResponse))
async def list_topics(call: Reading) -> Response:
    """List the topics that dreams keep nothing about."""
    return reply({"topics": [to_image(one) for one in await call.services.off_limits.all()]})


@router.post("/off-limits", tags=["off-limits"], status_code=201, responses=answers(TopicResponse, 201, says="Kept."))
async def add_topic(request: Request, call: Administering, body: TopicWords, key: IdempotencyKey = None) -> Response:
    """Have dreams keep nothing about a topic; the same words again give the topic there is.

    Ask the person before: the words themselves are kept, and sent to the model. What is stored already stays.
    """

    async def work() -> Response:
        return reply(to_image(await call.services.off_limits.add(body.words)), 201)

    return await once(request, call, key, work, lambda records: _topic_again(call, records, 201))


@router.patch("/off-limits/{topic_id}", tags=["off-limits"], responses=answers(TopicResponse))
async def reword_topic(
    request: Request, call: Administering, topic_id: RecordId, body: TopicWords, key: IdempotencyKey = None
) -> Response:
    """Put other words in the place of those of a topic."""

    async def work() -> Response:
        return reply(to_image(await call.services.off_limits.reword(topic_id, body.words)))

    return await once(request, call, key, work, lambda records: _topic_again(call, records))


@router.delete("/off-limits/{topic_id}", tags=["off-limits"], responses=answers(RemovedTopic, says="Allowed again."))
async def remove_topic(
    request: Request, call: Administering, topic_id: RecordId, key: IdempotencyKey = None
) -> Response:
    """Allow a topic again; its words are deleted."""

    async def work() -> Response:
        return reply({"removed": (await call.services.off_limits.remove(topic_id)).id})

    async def again(_: Records) -> Response:
        return reply({"removed": topic_id})

    return await once(request, call, key, work, again)


async def _topic_again(call: ScopedCall, records: Records, status: int = 200) -> Response:
    named = next((name for kind, name in records if kind == RecordKind.OFF_LIMITS_TOPIC), "")
    found = next((one for one in await call.services.off_limits.all() if one.id == named), None)
    if found is None:
        raise UnknownRecordError(kind="off-limits topic", value=named)
    return reply(to_image(found), status)
