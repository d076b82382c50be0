"""Serves backups of the memory of all scopes; a restore is done on the machine, with every process ended."""

from pathlib import Path

from fastapi import APIRouter, Response

from agentcore.domain.temporal import to_text
from dream.interfaces.rest.bodies import Instant
from dream.interfaces.rest.replies import answers, reply
from dream.interfaces.rest.requests import Administering
from dream.interfaces.rest.shapes import ResponseBody
from dream.interfaces.serving.caller import NotAllowedError
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix="/backups", tags=["backups"])


class BackupResponse(ResponseBody):
    """A backup that was read back and found whole, in the folder of backups on the server."""

    name: str
    bytes: int
    entries: int
    turns: int
    skills: int


class NotedBackupResponse(ResponseBody):
    """A backup that was made earlier; whether the file is still there nobody looked."""

    name: str
    made_at: Instant
    records: int


class BackupsResponse(ResponseBody):
    """The backups that are on record, the earliest first."""

    backups: list[NotedBackupResponse]


@router.get("", responses=answers(BackupsResponse))
async def list_backups(call: Administering) -> Response:
    """List the backups that are on record; it takes a token for all scopes."""
    _require_everything(call)
    copies = await call.host.storage.read(call.scope, lambda view: view.erasure.copies())
    found = sorted((one for one in copies if one.kind == "backup"), key=lambda one: one.made_at)
    told = [{"name": Path(one.place).name, "made_at": to_text(one.made_at), "records": one.records} for one in found]
    return reply({"backups": told})


@router.post("", status_code=201, responses=answers(BackupResponse, 201, says="Made, and read back."))
async def make_backup(call: Administering) -> Response:
    """Copy the memory of all scopes to a file on the server, while it is in use; it takes a token for all scopes."""
    _require_everything(call)
    made = await call.host.backup()
    counts = {"entries": made.entries, "turns": made.turns, "skills": made.skills}
    return reply({"name": made.path.name, "bytes": made.size, "schema": made.revision, **counts}, 201)


def _require_everything(call: ScopedCall) -> None:
    if not call.caller.reaches_everything:
        raise NotAllowedError(
            problem="A backup holds all scopes, which the token does not reach", remedy="it takes one for */*/*"
        )
