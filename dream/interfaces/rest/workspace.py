"""Serves the documents that the agent shares with its people."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from dream.interfaces.rest.bodies import DocumentItems, ItemChange
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, IdempotencyKey, Reading, Writing
from dream.interfaces.rest.shapes import DocumentResponse
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=f"{PREFIX}/documents", tags=["documents"])
DocumentName = Annotated[str, Path(pattern=r"^(MEMORY|DREAMS)\.md$", description="MEMORY.md or DREAMS.md.")]
Editable = Annotated[str, Path(pattern=r"^MEMORY\.md$", description="MEMORY.md; DREAMS.md is the dreams' own.")]


@router.get("/{name}", responses=answers(DocumentResponse))
async def read_document(call: Reading, name: DocumentName) -> Response:
    """Return the text of a document, empty if there is none yet."""
    return await _text(call, name)


@router.post("/{name}/items", status_code=201, responses=answers(DocumentResponse, 201, says="Added."))
async def add_items(
    request: Request, call: Writing, name: Editable, body: DocumentItems, key: IdempotencyKey = None
) -> Response:
    """Add items to a document, below the headings of a section."""

    async def work() -> Response:
        await _refuse_secrets(call, *body.texts)
        await call.services.workspace.append(*body.texts, section=tuple(body.section), name=name)
        return await _text(call, name, 201)

    return await once(request, call, key, work, lambda _: _text(call, name, 201), always=True)


@router.patch("/{name}/items", responses=answers(DocumentResponse, says="Changed."))
async def change_item(
    request: Request, call: Writing, name: Editable, body: ItemChange, key: IdempotencyKey = None
) -> Response:
    """Let the item that says `old`, the whole of it, say `new`."""

    async def work() -> Response:
        await _refuse_secrets(call, body.new)
        await call.services.workspace.replace(body.old, body.new, name=name)
        return await _text(call, name)

    return await once(request, call, key, work, lambda _: _text(call, name), always=True)


async def _text(call: ScopedCall, name: str, status: int = 200) -> Response:
    return reply({"name": name, "text": await call.services.workspace.read(name)}, status)


async def _refuse_secrets(call: ScopedCall, *texts: str) -> None:
    for text in texts:
        await call.services.memory.refuse_secret(text)
