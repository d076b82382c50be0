"""Serves memories: list, search, get, why, remember, change, archive, restore, forget."""

from collections.abc import Collection
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from agentcore.domain.memory import Level, MemoryEntry, Status, Trust
from agentcore.domain.records import RecordKind, entry_json
from agentcore.errors import UnknownRecordError
from agentcore.hosting.amend import MemoryChanges
from agentcore.hosting.checks import MAX_NAME
from agentcore.hosting.recall_filters import RecallFilters
from agentcore.hosting.remember import MemoryFields
from agentcore.hosting.restatements import says_it
from agentcore.recall.related_hypotheses import MOST_RELATED
from agentcore.stores.forgetting import SaysIt, TurnsChoice
from dream.domain.report import RunKind
from dream.interfaces.documents import forgotten_json, hit_json, restatement_json
from dream.interfaces.dream_shapes import related_json
from dream.interfaces.rest.bodies import NAME, SUBJECT_TIME, Id, Instant, MemoryChange, NewMemory, ReasonRequest
from dream.interfaces.rest.quick_route import QuickRoute
from dream.interfaces.rest.replies import answers, guarded, once, reply
from dream.interfaces.rest.requests import (
    PREFIX,
    Administering,
    Cursor,
    IdempotencyKey,
    IfMatch,
    Limit,
    Reading,
    RecordId,
    Writing,
    aware,
    cursor_of,
    etag,
    place_of,
    unchanged,
)
from dream.interfaces.rest.runs import run_again, under_way
from dream.interfaces.rest.shapes import (
    ForgottenResponse,
    HistoryResponse,
    HitsResponse,
    MemoryPage,
    MemoryResponse,
    ResponseBody,
    RunResponse,
)
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.receipts import Records
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/memories", tags=["memories"], route_class=QuickRoute)
_ABOUT = "A time, as 2025-05 or 1995..2003."
_ALSO = "What else says it and shall go too: ids of `restatements` of the preview."
_TAG = "The version of the record, for If-Match."
Category = Annotated[str | None, Query(min_length=1, max_length=1_000, description="This and everything below it.")]
Tags = Annotated[list[str] | None, Query(max_length=50, description="All of these.")]
State = Annotated[Literal["active", "superseded", "archived", "all"], Query(description="Only those in this state.")]


class RestatementResponse(ResponseBody):
    """Something else that says what shall be forgotten: a turn, a memory, feedback or a skill, and how it says it."""

    kind: str
    id: str
    text: str
    speaker: str | None
    name: str | None
    said_at: str | None
    likeness: str


class ForgettingResponse(ForgottenResponse):
    """What a forget would remove, and what else says it: that stays, unless it is named in `also`."""

    restatements: list[RestatementResponse]


@router.get("", responses=answers(MemoryPage))
async def list_memories(
    call: Reading,
    category: Category = None,
    tag: Tags = None,
    status: State = "active",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    """List memories, the latest stored first. Pages give each once, whatever changes between them."""
    found = await call.services.memory.page(
        category=category,
        tags=tag or (),
        status=None if status == "all" else Status(status),
        limit=limit + 1,
        after=place_of(cursor),
    )
    page = found[:limit]
    after = cursor_of(page[-1].recorded_at, page[-1].id) if len(found) > limit else None
    return reply({"memories": [entry_json(entry) for entry in page], "next_cursor": after})


@router.post("", status_code=201, responses=answers(MemoryResponse, 201, says="Remembered, or reinforced.", ETag=_TAG))
async def remember(request: Request, call: Writing, body: NewMemory, key: IdempotencyKey = None) -> Response:
    """Remember a text; what says the same as a known memory reinforces that one."""
    said = MemoryFields(
        category=body.category,
        tags=body.tags,
        importance=body.importance,
        subject_time=body.subject_time,
        occurred_at=aware(body.occurred_at, "occurred_at"),
        metadata=body.metadata,
        pinned=body.pinned,
        trust=Trust[body.trust.upper()],
    )

    async def work() -> Response:
        await call.services.memory.refuse_secret(body.content)
        return _entry(await call.services.memory.remember(body.content, **said), 201)

    return await once(request, call, key, work, lambda records: _again(call, records, 201))


@router.get("/search", responses=answers(HitsResponse))
async def search(
    call: Reading,
    query: Annotated[str, Query(min_length=1, max_length=10_000, description="What is asked.")],
    k: Annotated[int, Query(ge=1, le=100, description="How many at most.")] = 10,
    category: Category = None,
    tag: Tags = None,
    level: Annotated[Level | None, Query(description="Only those of this level.")] = None,
    about: Annotated[str | None, Query(max_length=100, json_schema_extra=SUBJECT_TIME, description=_ABOUT)] = None,
    created_after: Instant | None = None,
    created_before: Instant | None = None,
    session_id: Annotated[
        str | None, Query(min_length=1, max_length=MAX_NAME, json_schema_extra=NAME, description="Whose need it is.")
    ] = None,
    related_dreams: Annotated[int, Query(ge=0, le=MOST_RELATED, description="How many hypotheses beside them.")] = 0,
    explain: Annotated[bool, Query(description="Say how each score came about; then nothing counts as used.")] = False,
) -> Response:
    """Find the memories that answer a question best."""
    conditions = RecallFilters(
        category=category,
        tags=tag or (),
        level=level,
        about=about,
        created_after=aware(created_after, "created_after"),
        created_before=aware(created_before, "created_before"),
    )
    memory = call.services.memory
    if explain:
        explained = await memory.explain(query, k, **conditions)
    else:
        explained = [(hit, None) for hit in await memory.recall(query, k, session_id=session_id, **conditions)]
    ids = [hit.entry.id for hit, _ in explained]
    beside = await call.services.hypotheses.related(query, ids, limit=related_dreams) if related_dreams else ()
    hits = [hit_json(hit, why) for hit, why in explained]
    return reply({"query": query, "hits": hits, "related_dreams": await related_json(call.host.storage, beside)})


@router.get("/{memory_id}", responses=answers(MemoryResponse, ETag=_TAG))
async def get_memory(call: Reading, memory_id: RecordId) -> Response:
    """Return a memory, in whatever state."""
    return _entry(await _get(call, memory_id))


@router.patch("/{memory_id}", responses=answers(MemoryResponse, says="Changed.", ETag=_TAG))
async def change_memory(
    request: Request,
    call: Writing,
    memory_id: RecordId,
    body: MemoryChange,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Change an active memory; with If-Match only if nobody changed it since. `edit` does it as a run with an undo."""
    changes = MemoryChanges(**body.model_dump(exclude_unset=True))

    async def work() -> Response:
        check = unchanged(memory_id, if_match)
        await call.services.memory.refuse_secret(changes.get("content", ""))
        return _entry(await guarded(check, lambda: call.services.memory.update(memory_id, **changes)))

    return await once(request, call, key, work, lambda _: _present(call, memory_id))


@router.post("/{memory_id}/archive", responses=answers(MemoryResponse, says="Set aside.", ETag=_TAG))
async def archive_memory(
    request: Request,
    call: Writing,
    memory_id: RecordId,
    body: ReasonRequest,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Set a memory aside: nobody recalls it, `restore` brings it back. `set-aside` does it as a run with an undo."""

    async def work() -> Response:
        check = unchanged(memory_id, if_match)
        return _entry(await guarded(check, lambda: call.services.memory.archive(memory_id, reason=body.reason)))

    return await once(request, call, key, work, lambda _: _present(call, memory_id))


@router.post("/{memory_id}/restore", responses=answers(RunResponse, says="What the restore did."))
async def restore_memory(request: Request, call: Writing, memory_id: RecordId, key: IdempotencyKey = None) -> Response:
    """Bring a retired memory back; no dream retires it for the same reason again."""

    async def work() -> Response:
        await _get(call, memory_id)
        return reply((await call.services.dreams.restore(memory_id)).to_json())

    return await once(request, call, key, work, lambda them: run_again(call, them), names=under_way(RunKind.RESTORE))


@router.get("/{memory_id}/why", responses=answers(HistoryResponse))
async def why_memory(call: Reading, memory_id: RecordId) -> Response:
    """Tell who wrote a memory, what runs did to it, and where it came from, down to the turn."""
    return reply((await call.services.dreams.why(memory_id)).to_json())


@router.get("/{memory_id}/forgetting", responses=answers(ForgettingResponse, says="What a forget would remove now."))
async def preview_forget(call: Administering, memory_id: RecordId) -> Response:
    """Show what forgetting a memory would remove, and what else says it; nothing is changed. A model is asked once."""
    memory = call.services.memory
    found = await memory.restatements(memory_id)
    told = forgotten_json(await memory.preview_forget(memory_id))
    return reply({**told, "restatements": [restatement_json(one) for one in found]})


@router.delete("/{memory_id}", responses=answers(ForgottenResponse, says="Gone for good."))
async def forget_memory(
    request: Request,
    call: Administering,
    memory_id: RecordId,
    also: Annotated[list[Id] | None, Query(max_length=200, description=_ALSO)] = None,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Remove a memory for good, with its equal texts and all that was derived from it alone."""

    async def work() -> Response:
        chosen = await _chosen(call, memory_id, also or ())
        turns = TurnsChoice.ALL if also else TurnsChoice.CITED
        forget = partial(call.services.memory.forget, memory_id, turns=turns, says_it=chosen)
        return reply(forgotten_json(await guarded(unchanged(memory_id, if_match), forget)))

    async def again(records: Records) -> Response:
        named = [name for kind, name in records if kind == RecordKind.ENTRY]
        left = await call.host.storage.read(call.scope, lambda view: view.entries.existing(named))
        turns = [name for kind, name in records if kind == RecordKind.TURN]
        gone = [name for name in named if name not in left]
        return reply({"removed": gone, "restored": sorted(left), "withheld": turns})

    return await once(request, call, key, work, again)


async def _chosen(call: ScopedCall, memory_id: str, also: Collection[str]) -> SaysIt:
    """Return what else a forget takes, as a person chose it of the preview.

    Raises:
        Problem: one of them is not found any more.
    """
    found = {one.id: one for one in await call.services.memory.restatements(memory_id)} if also else {}
    if not found.keys() >= set(also):
        detail = "Not all that is named in `also` says it any more: look at the preview again; nothing was forgotten."
        raise Problem(status=409, code="not_confirmed", detail=detail)
    return says_it(found[one] for one in also)


def _entry(entry: MemoryEntry, status: int = 200) -> Response:
    return reply(entry_json(entry), status, {"ETag": etag(entry.version)})


async def _get(call: ScopedCall, memory_id: str) -> MemoryEntry:
    entry = await call.services.memory.get(memory_id)
    if entry is None:
        raise UnknownRecordError(kind="entry", value=memory_id)
    return entry


async def _present(call: ScopedCall, memory_id: str) -> Response:
    return _entry(await _get(call, memory_id))


async def _again(call: ScopedCall, records: Records, status: int) -> Response:
    """Answer with the entry that was written, as it is now."""
    written = [name for kind, name in records if kind == RecordKind.ENTRY]
    return _entry(await _get(call, written[-1] if written else ""), status)
