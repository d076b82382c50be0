"""Serves the documents that the agent shares with its people."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from agentcore.stores.acting import acting_as
from dream.interfaces.rest.bodies import DocumentItems, ItemChange
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import Reading, Writing
from dream.interfaces.rest.shapes import DocumentResponse
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix="/documents", tags=["documents"])
DocumentName = Annotated[str, Path(pattern=r"^(MEMORY|DREAMS)\.md$", description="MEMORY.md or DREAMS.md.")]
Editable = Annotated[str, Path(pattern=r"^MEMORY\.md$", description="MEMORY.md; DREAMS.md is the dreams' own.")]


@router.get("/{name}", responses=answers(DocumentResponse))
async def read_document(call: Reading, name: DocumentName) -> Response:
    """Return the text of a document, empty if there is none yet."""
    return await _text(call, name)


@router.post("/{name}/items", status_code=201, responses=answers(DocumentResponse, 201, says="Added."))
async def add_items(call: Writing, name: Editable, body: DocumentItems) -> Response:
    """Add items to a document, below the headings of a section."""
    with acting_as(call.caller.actor):
        await _refuse_secrets(call, *body.texts)
        await call.services.workspace.append(*body.texts, section=tuple(body.section), name=name)
    return await _text(call, name, 201)


@router.patch("/{name}/items", responses=answers(DocumentResponse, says="Changed."))
async def change_item(call: Writing, name: Editable, body: ItemChange) -> Response:
    """Let the item that says `old`, the whole of it, say `new`."""
    with acting_as(call.caller.actor):
        await _refuse_secrets(call, body.new)
        await call.services.workspace.replace(body.old, body.new, name=name)
    return await _text(call, name)


async def _text(call: ScopedCall, name: str, status: int = 200) -> Response:
    return reply({"name": name, "text": await call.services.workspace.read(name)}, status)


async def _refuse_secrets(call: ScopedCall, *texts: str) -> None:
    for text in texts:
        await call.services.memory.refuse_secret(text)
