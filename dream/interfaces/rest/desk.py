"""Serves what a person does by hand: edit, confirm, merge, tell apart, answer questions, and edit the peer card."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from agentcore.domain.card import MOST_LINES, CardLine
from agentcore.domain.question import QuestionCause, QuestionState
from agentcore.domain.records import to_image
from agentcore.hosting.amend import MemoryChanges
from agentcore.stores.storage import UnitOfWork
from dream.domain.report import RunReport
from dream.interfaces.rest.bodies import (
    NO_REASON,
    AnswerRequest,
    Confirmation,
    Distinction,
    MemoryEdit,
    Merge,
    NewCardLine,
)
from dream.interfaces.rest.replies import answers, guarded, once, reply
from dream.interfaces.rest.requests import (
    PREFIX,
    IdempotencyKey,
    IfMatch,
    Reading,
    RecordId,
    Reviewing,
    Writing,
    unchanged,
)
from dream.interfaces.rest.runs import run_again
from dream.interfaces.rest.shapes import CardResponse, QuestionResponse, QuestionsResponse, RunResponse
from dream.interfaces.serving.receipts import RUN, Records
from dream.interfaces.serving.scoped_call import ScopedCall
from dream.stores import dream_stores

router = APIRouter(prefix=PREFIX, tags=["desk"])
QuestionId = Annotated[str, Path(min_length=1, max_length=64, description="The id of the question.")]
_DONE = "What was done, as a run; `run_id` is empty where nothing had to change."


@router.get("/questions", responses=answers(QuestionsResponse))
async def list_questions(
    call: Reading,
    state: Annotated[Literal["open", "resolved", "dismissed"], Query(description="Only those in this state.")] = "open",
    cause: Annotated[Literal["near_duplicate", "close_call", "contradiction"] | None, Query()] = None,
) -> Response:
    """List the questions that only a person can answer, with the memories that they are about."""
    asked = None if cause is None else QuestionCause(cause)
    found = await call.services.desk.questions(state=QuestionState(state), cause=asked)
    return reply({"questions": [one.to_json() for one in found]})


@router.get("/questions/{question_id}", responses=answers(QuestionResponse))
async def get_question(call: Reading, question_id: QuestionId) -> Response:
    """Return one question, in whatever state."""
    return reply((await call.services.desk.question(question_id)).to_json())


@router.post("/questions/{question_id}/answer", responses=answers(RunResponse, says=_DONE))
async def answer_question(
    request: Request, call: Reviewing, question_id: QuestionId, body: AnswerRequest, key: IdempotencyKey = None
) -> Response:
    """Answer a question in one way: keep a member, write a text, tell them apart, or dismiss it."""
    said = body.model_dump()
    return await _done(request, call, key, lambda: call.services.desk.answer(question_id, **said))


@router.post("/memories/{memory_id}/edit", responses=answers(RunResponse, says=_DONE))
async def edit_memory(
    request: Request,
    call: Writing,
    memory_id: RecordId,
    body: MemoryEdit,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Change an active memory by a person's hand, as a run that an undo takes back."""
    changes = MemoryChanges(**body.model_dump(exclude_unset=True, exclude={"why"}))

    async def editing() -> RunReport:
        await call.services.memory.refuse_secret(changes.get("content", ""))
        return await call.services.desk.edit(memory_id, why=body.why, **changes)

    return await _done(request, call, key, lambda: guarded(unchanged(memory_id, if_match), editing))


@router.post("/memories/{memory_id}/set-aside", responses=answers(RunResponse, says=_DONE))
async def set_memory_aside(
    request: Request,
    call: Writing,
    memory_id: RecordId,
    body: Confirmation = NO_REASON,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Archive a memory by a person's hand, as a run that an undo takes back; nobody recalls it."""
    archive = call.services.desk.archive
    check = unchanged(memory_id, if_match)
    return await _done(request, call, key, lambda: guarded(check, lambda: archive(memory_id, why=body.why)))


@router.post("/memories/{memory_id}/confirm", responses=answers(RunResponse, says=_DONE))
async def confirm(
    request: Request,
    call: Reviewing,
    memory_id: RecordId,
    body: Confirmation = NO_REASON,
    key: IdempotencyKey = None,
) -> Response:
    """Vouch for a memory: consolidation ranks what is confirmed first."""
    return await _done(request, call, key, lambda: call.services.desk.confirm(memory_id, why=body.why))


@router.post("/merges", responses=answers(RunResponse, says=_DONE))
async def merge(request: Request, call: Reviewing, body: Merge, key: IdempotencyKey = None) -> Response:
    """Make one memory of several: the first takes over the others, or a text takes the place of all."""
    merging = call.services.desk.merge
    return await _done(request, call, key, lambda: merging(*body.memories, text=body.text, why=body.why))


@router.post("/distinctions", responses=answers(RunResponse, says=_DONE))
async def distinguish(request: Request, call: Reviewing, body: Distinction, key: IdempotencyKey = None) -> Response:
    """Say that memories differ: no dream puts two of them together, as long as their texts stay."""
    return await _done(request, call, key, lambda: call.services.desk.distinct(*body.memories, why=body.why))


@router.get("/card", tags=["card"], responses=answers(CardResponse))
async def get_card(call: Reading) -> Response:
    """Return the lines that stand on the peer card, in its order, each with the entries that it goes back to."""
    return _card(await call.services.card.lines())


@router.get("/card/history", tags=["card"], responses=answers(CardResponse))
async def get_card_history(call: Reading) -> Response:
    """Return all lines that stand on the card or ever stood there, the one set last first."""
    return _card(await call.services.card.history())


@router.post("/card/lines", tags=["card"], responses=answers(RunResponse, says=_DONE))
async def set_card_line(request: Request, call: Reviewing, body: NewCardLine, key: IdempotencyKey = None) -> Response:
    """Put a person's line on the peer card: no dream changes it. A full card needs one that gives way."""

    async def setting() -> RunReport:
        await call.services.memory.refuse_secret(body.line)
        return await call.services.card.set(body.line, replaces=body.replaces, why=body.why)

    return await _done(request, call, key, setting)


@router.delete("/card/lines/{line_id}", tags=["card"], responses=answers(RunResponse, says=_DONE))
async def remove_card_line(
    request: Request, call: Reviewing, line_id: RecordId, key: IdempotencyKey = None
) -> Response:
    """Take a line off the peer card; no dream writes one of its sort from the same entries again."""
    return await _done(request, call, key, lambda: call.services.card.remove(line_id))


def _card(lines: Sequence[CardLine]) -> Response:
    return reply({"lines": [to_image(one) for one in lines], "most": MOST_LINES})


async def _done(
    request: Request, call: ScopedCall, key: str | None, do: Callable[[], Awaitable[RunReport]]
) -> Response:
    async def work() -> Response:
        return reply((await do()).to_json())

    return await once(request, call, key, work, lambda records: run_again(call, records), names=_newest)


def _newest(unit: UnitOfWork) -> Records:
    """Name the run that was written in this transaction."""
    return [(RUN, report.run_id) for report in dream_stores(unit).runs.newest(limit=1)]
