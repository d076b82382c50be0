"""Serves export and import as streams."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from agentcore.clock import Clock
from agentcore.stores.acting import acting_as
from dream.errors import InvalidFileError
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.importer import import_file
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import Administering, Reading
from dream.interfaces.rest.shapes import ImportedResponse, ResponseBody
from dream.interfaces.serving.problems import Problem, code_of

router = APIRouter(tags=["exchange"])
_LINES = "application/x-ndjson"
_CHUNK = 64 * 1024


class Export(ResponseBody):
    """One JSON document per line: a header, the records by kind and id, the cursors, an end."""


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={**answers(Export), 200: {"description": Export.__doc__, "content": {_LINES: {}}}},
)
async def export(call: Reading) -> Response:
    """Return every record of the scope as it is at one instant, as sorted JSON lines."""
    # Written to a file first: a slow client must not hold a transaction open.
    file = await asyncio.to_thread(tempfile.TemporaryFile)
    try:
        await export_scope(call.host.storage, call.scope, file.write)
        await asyncio.to_thread(file.seek, 0)
    except BaseException:
        file.close()
        raise
    return StreamingResponse(_chunks(file), media_type=_LINES, headers={"Cache-Control": "no-store"})


async def _chunks(file: IO[bytes]) -> AsyncGenerator[bytes]:
    with file:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk


@router.post(
    "/import",
    responses=answers(ImportedResponse),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def import_(
    request: Request,
    call: Administering,
    file_format: Annotated[Format, Query(alias="format", description="What the file is.")] = Format.AUTO,
) -> Response:
    """Add what a file holds and the scope does not; a file with any fault adds nothing, and sent again adds nothing."""
    clock: Clock = call.host.clock
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "upload"
        with path.open("wb") as file:
            async for chunk in request.stream():
                await asyncio.to_thread(file.write, chunk)
        try:
            with acting_as(call.caller.actor):
                report = await import_file(
                    call.host.storage,
                    call.scope,
                    path,
                    file_format=file_format,
                    clock=clock,
                    ids=request.app.state.ids,
                )
        except InvalidFileError as error:
            # Where the server put the file is nobody's business outside.
            detail = str(error).replace(str(path), "The file")
            raise Problem(status=422, code=code_of(error), detail=detail) from error
    return reply({name: value for name, value in report.document().items() if name != "path"})
