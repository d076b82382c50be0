"""Serves skills: the catalogue, one, save, why."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from agentcore.domain.records import to_image
from agentcore.domain.skill import Skill as SkillRecord
from agentcore.errors import UnknownRecordError
from agentcore.hosting.checks import MAX_NAME
from dream.interfaces.rest.bodies import NAME, SkillRequest
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, IdempotencyKey, Reading, Writing
from dream.interfaces.rest.shapes import HistoryResponse, SkillResponse, SkillsResponse, SkillVersionsResponse
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX, tags=["skills"])
SkillName = Annotated[str, Path(min_length=1, max_length=MAX_NAME, json_schema_extra=NAME, description="A slash path.")]


@router.get("/skills", responses=answers(SkillsResponse))
async def list_skills(
    call: Reading,
    prefix: Annotated[str, Query(max_length=512, description="Only those whose name begins so.")] = "",
    query: Annotated[str | None, Query(max_length=10_000, description="Only those that answer this.")] = None,
    k: Annotated[int, Query(ge=1, le=100, description="Of these, how many at most.")] = 5,
) -> Response:
    """List the active skills, by name; with a query those that answer it, the best first."""
    if query is None:
        return reply({"skills": [to_image(skill) for skill in await call.services.skills.list(prefix=prefix)]})
    return reply({"skills": [to_image(hit.skill) for hit in await call.services.skills.recall(query, k)]})


@router.get("/skill-history/{name:path}", responses=answers(HistoryResponse))
async def why_skill(call: Reading, name: SkillName) -> Response:
    """Tell who wrote a skill, what runs did to it, and what it said before."""
    return reply((await call.services.dreams.why_skill(name)).to_json())


@router.get("/skill-versions/{name:path}", responses=answers(SkillVersionsResponse))
async def list_skill_versions(call: Reading, name: SkillName) -> Response:
    """List the texts of an active skill, the oldest first, with how often each was used and failed."""
    versions = await call.services.dreams.skill_versions(name)
    return reply({"versions": [one.to_json() for one in versions]})


@router.get("/skills/{name:path}", responses=answers(SkillResponse))
async def get_skill(call: Reading, name: SkillName) -> Response:
    """Return an active skill; it is no use of it."""
    return reply(to_image(await _get(call, name)))


@router.put("/skills/{name:path}", responses=answers(SkillResponse, says="Written."))
async def save_skill(
    request: Request, call: Writing, name: SkillName, body: SkillRequest, key: IdempotencyKey = None
) -> Response:
    """Write a skill; an active one of that name is rewritten."""

    async def work() -> Response:
        skills = call.services.skills
        return reply(
            to_image(await skills.save(name, summary=body.summary, content=body.content, see_also=body.see_also))
        )

    async def again(_: object) -> Response:
        return reply(to_image(await _get(call, name)))

    return await once(request, call, key, work, again)


async def _get(call: ScopedCall, name: str) -> SkillRecord:
    skill = await call.services.skills.get(name)
    if skill is None:
        raise UnknownRecordError(kind="skill", value=name)
    return skill
