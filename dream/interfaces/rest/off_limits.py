"""Serves off-limits topics: what a person wants nothing kept about."""

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from agentcore.domain.off_limits import LONGEST_TOPIC, OffLimitsTopic
from agentcore.domain.records import to_image
from agentcore.stores.acting import acting_as
from dream.interfaces.rest.bodies import NAME, Body, Instant
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import Administering, Reading, RecordId
from dream.interfaces.rest.shapes import ResponseBody

router = APIRouter(prefix="/off-limits", tags=["off-limits"])


class TopicWords(Body):
    """A person's own words for a topic: they are kept, and stand as a rule in what models are sent."""

    words: Annotated[str, Field(min_length=1, max_length=LONGEST_TOPIC, json_schema_extra=NAME)]


class TopicResponse(ResponseBody):
    """A topic that nothing is kept about."""

    id: str
    words: str
    created_at: Instant


class TopicsResponse(ResponseBody):
    """The topics, the first named first."""

    topics: list[TopicResponse]


@router.get("", responses=answers(TopicsResponse))
async def list_topics(call: Reading) -> Response:
    """List the topics that dreams keep nothing about."""
    return reply({"topics": [to_image(one) for one in await call.services.off_limits.all()]})


@router.post("", status_code=201, responses=answers(TopicResponse, 201, says="Kept."))
async def add_topic(call: Administering, body: TopicWords) -> Response:
    """Have dreams keep nothing about a topic; the same words again give the topic there is.

    Ask the person before: the words themselves are kept, and sent to the model. What is stored already stays.
    """
    with acting_as(call.caller.actor):
        return _told(await call.services.off_limits.add(body.words), 201)


@router.patch("/{topic_id}", responses=answers(TopicResponse))
async def reword_topic(call: Administering, topic_id: RecordId, body: TopicWords) -> Response:
    """Put other words in the place of those of a topic."""
    with acting_as(call.caller.actor):
        return _told(await call.services.off_limits.reword(topic_id, body.words))


@router.delete("/{topic_id}", responses=answers(TopicResponse, says="What it was."))
async def remove_topic(call: Administering, topic_id: RecordId) -> Response:
    """Allow a topic again; its words are deleted."""
    with acting_as(call.caller.actor):
        return _told(await call.services.off_limits.remove(topic_id))


def _told(topic: OffLimitsTopic, status: int = 200) -> Response:
    return reply(to_image(topic), status)
