"""Serves export and import as streams, and backups of all scopes."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from agentcore.clock import Clock
from agentcore.domain.temporal import to_text
from agentcore.stores.acting import acting_as
from dream.errors import InvalidFileError
from dream.interfaces.exchange.export import export_scope
from dream.interfaces.exchange.formats import Format
from dream.interfaces.exchange.importer import import_file
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import PREFIX, Administering, Reading
from dream.interfaces.rest.shapes import BackupResponse, BackupsResponse, ImportedResponse, ResponseBody
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.problems import Problem, code_of
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX, tags=["exchange"])
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


@router.get("/backups", tags=["backups"], responses=answers(BackupsResponse))
async def list_backups(call: Administering) -> Response:
    """List the backups that are on record; it takes a token for all scopes."""
    _require_everything(call)
    copies = await call.host.storage.read(call.scope, lambda view: view.erasure.copies())
    found = sorted((one for one in copies if one.kind == "backup"), key=lambda one: one.made_at)
    told = [{"name": Path(one.place).name, "made_at": to_text(one.made_at), "records": one.records} for one in found]
    return reply({"backups": told})


@router.post("/backups", tags=["backups"], status_code=201, responses=answers(BackupResponse, 201, says="Made."))
async def make_backup(call: Administering) -> Response:
    """Copy the memory of all scopes to a file on the server, while it is in use; it takes a token for all scopes.

    It is read back before it is told of. To restore it takes the machine itself, with every process ended.
    """
    _require_everything(call)
    made = await call.host.backup()
    counts = {"entries": made.entries, "turns": made.turns, "skills": made.skills}
    return reply({"name": made.path.name, "bytes": made.size, "schema": made.revision, **counts}, 201)


def _require_everything(call: ScopedCall) -> None:
    if not call.caller.reaches_everything:
        raise NotAllowedError(
            problem="A backup holds all scopes, which the token does not reach", remedy="it takes one for */*/*"
        )
