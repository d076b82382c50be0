"""Serves conversations, the context of a turn, and feedback."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from agentcore.domain.conversation import Turn
from agentcore.domain.records import RecordKind, to_image
from agentcore.errors import UnknownRecordError
from agentcore.hosting.checks import MAX_NAME
from dream.interfaces.documents import forgotten_json, session_json
from dream.interfaces.rest.bodies import NAME, ContextAsked, Instant, NewFeedback, NewTurn
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import (
    PREFIX,
    Administering,
    Cursor,
    IdempotencyKey,
    Limit,
    Reading,
    RecordId,
    Writing,
    aware,
    cursor_of,
    place_of,
)
from dream.interfaces.rest.shapes import (
    ContextResponse,
    FeedbackList,
    FeedbackResponse,
    ForgottenResponse,
    SessionsResponse,
    TurnPage,
    TurnResponse,
)
from dream.interfaces.serving.receipts import Records
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX)
_SESSION = "The id of the conversation."
SessionId = Annotated[str, Path(min_length=1, max_length=MAX_NAME, json_schema_extra=NAME, description=_SESSION)]


@router.get("/conversations", tags=["conversations"], responses=answers(SessionsResponse))
async def list_conversations(
    call: Reading, prefix: Annotated[str, Query(max_length=512)] = "", limit: Limit = 20
) -> Response:
    """List conversations, the newest first."""
    found = await call.services.conversation.sessions(prefix=prefix, limit=limit)
    return reply({"sessions": [session_json(one) for one in found]})


@router.get("/conversations/{session_id}/turns", tags=["conversations"], responses=answers(TurnPage))
async def list_turns(call: Reading, session_id: SessionId, limit: Limit = 50, cursor: Cursor = None) -> Response:
    """List what was said, the latest stored first. Pages give each turn once, whatever is said between them."""
    log, after = call.services.conversation, place_of(cursor)
    found = await log.page(session_id=session_id, limit=limit + 1, after=after)
    page = found[:limit]
    more = cursor_of(page[-1].recorded_at, page[-1].id) if len(found) > limit else None
    return reply({"turns": [to_image(turn) for turn in page], "next_cursor": more})


@router.post(
    "/conversations/{session_id}/turns", tags=["conversations"], status_code=201, responses=answers(TurnResponse, 201)
)
async def append_turn(
    request: Request, call: Writing, session_id: SessionId, body: NewTurn, key: IdempotencyKey = None
) -> Response:
    """Log one message."""

    async def work() -> Response:
        turn = await call.services.conversation.append(
            session_id=session_id,
            role=body.role,
            content=body.content,
            speaker=body.speaker,
            occurred_at=aware(body.occurred_at, "occurred_at"),
            generated=body.generated,
        )
        return reply(to_image(turn), 201)

    return await once(request, call, key, work, lambda records: _turn_again(call, records))


@router.get("/turns/{turn_id}", tags=["conversations"], responses=answers(TurnResponse))
async def get_turn(call: Reading, turn_id: RecordId) -> Response:
    """Return one message."""
    turn = await call.services.conversation.get(turn_id)
    if turn is None:
        raise UnknownRecordError(kind="turn", value=turn_id)
    return reply(to_image(turn))


async def _turn_again(call: ScopedCall, records: Records) -> Response:
    return reply(to_image(await logged_turn(call, records)), 201)


async def logged_turn(call: ScopedCall, records: Records) -> Turn:
    """Return the turn that a request logged."""
    named = next((name for kind, name in records if kind == RecordKind.TURN), "")
    turn = await call.services.conversation.get(named)
    if turn is None:
        raise UnknownRecordError(kind="turn", value=named)
    return turn


@router.get(
    "/conversations/{session_id}/forgetting",
    tags=["conversations"],
    responses=answers(ForgottenResponse, says="What a forget would remove now."),
)
async def preview_forget_conversation(call: Administering, session_id: SessionId) -> Response:
    """Show what forgetting a conversation would remove; nothing is changed."""
    return reply(forgotten_json(await call.services.conversation.preview_forget(session_id=session_id)))


@router.delete("/conversations/{session_id}", tags=["conversations"], responses=answers(ForgottenResponse))
async def forget_conversation(
    request: Request, call: Administering, session_id: SessionId, key: IdempotencyKey = None
) -> Response:
    """Redact all that was said in a conversation, and remove for good all that was learnt from it."""

    async def work() -> Response:
        return reply(forgotten_json(await call.services.conversation.forget(session_id=session_id)))

    async def again(records: Records) -> Response:
        gone = [name for kind, name in records if kind == RecordKind.ENTRY]
        return reply({"removed": gone, "restored": [], "withheld": []})

    return await once(request, call, key, work, again)


@router.post("/context", tags=["conversations"], responses=answers(ContextResponse))
async def context_for_turn(call: Reading, body: ContextAsked) -> Response:
    """Return what a turn should see of all that is known, within a budget; what it saw already is left out."""
    found = await call.services.context.for_turn(body.session_id, body.message, budget_tokens=body.budget_tokens)
    return reply(
        {
            "text": found.text,
            "tokens": found.tokens,
            "query": found.query,
            "memories": [entry.id for entry in (*found.always, *found.entries)],
            "turns": [turn.id for turn in found.turns],
            "skills": [skill.name for skill in found.skills],
        }
    )


@router.get("/feedback", tags=["feedback"], responses=answers(FeedbackList))
async def list_feedback(call: Reading, limit: Limit = 50, since: Instant | None = None) -> Response:
    """List signals about the agent's work, the newest first."""
    found = await call.services.feedback.newest(limit=limit, since=aware(since, "since"))
    return reply({"feedback": [to_image(one) for one in found]})


@router.post("/feedback", tags=["feedback"], status_code=201, responses=answers(FeedbackResponse, 201))
async def give_feedback(request: Request, call: Writing, body: NewFeedback, key: IdempotencyKey = None) -> Response:
    """Log one signal about the agent's work."""

    async def work() -> Response:
        signal = await call.services.feedback.append(
            session_id=body.session_id,
            kind=body.kind,
            summary=body.summary,
            detail=body.detail,
            rating=body.rating,
            occurred_at=aware(body.occurred_at, "occurred_at"),
        )
        return reply(to_image(signal), 201)

    async def again(records: Records) -> Response:
        named = [name for kind, name in records if kind == RecordKind.FEEDBACK]
        found = await call.host.storage.read(call.scope, lambda view: view.feedback.get_many(named))
        if not found:
            raise UnknownRecordError(kind="feedback", value=named[0] if named else "")
        return reply(to_image(found[0]), 201)

    return await once(request, call, key, work, again)
