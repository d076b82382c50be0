"""Serves what an admin changes of a scope's configuration: options of dreams, and directives."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from agentcore.errors import StaleVersionError
from dream.cycle.option_edits import OptionEdits
from dream.domain.edited_options import EditedOptions
from dream.interfaces.rest.bodies import DirectiveText, OptionChanges
from dream.interfaces.rest.configuration_shapes import (
    CheckedDirectiveResponse,
    DirectiveResponse,
    DirectivesResponse,
    OptionEditsResponse,
)
from dream.interfaces.rest.replies import answers, once, reply
from dream.interfaces.rest.requests import PREFIX, Administering, IdempotencyKey, IfMatch, etag
from dream.interfaces.serving.problems import Problem
from dream.interfaces.serving.scoped_call import ScopedCall

router = APIRouter(prefix=PREFIX, tags=["configuration"])
_VERSION = "The version of the edits, for If-Match."
_HASH = "The hash of the text in force, for If-Match."
EditNumber = Annotated[int, Path(ge=1, le=2**31, description="The number of the edit.")]
DirectiveName = Annotated[str, Path(min_length=1, max_length=64, description="The directive.")]


@router.get("/options/edits", responses=answers(OptionEditsResponse, ETag=_VERSION))
async def list_option_edits(call: Administering) -> Response:
    """Return what admins edited of the options of the scope, and the latest edits with their authors."""
    edits = call.services.dreams.option_edits
    return _told(edits, await edits.read())


@router.patch("/options", responses=answers(OptionEditsResponse, says="Changed.", ETag=_VERSION))
async def edit_options(
    request: Request,
    call: Administering,
    body: OptionChanges,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Edit options of dreams: all that are named, or none. Code of the host stands above, the settings file below."""
    edits = call.services.dreams.option_edits

    def check(edited: EditedOptions) -> None:
        if if_match not in {None, "*", etag(edited.version)}:
            raise StaleVersionError(kind="options", record_id=f"of the scope{edited.last_on()}")

    async def work() -> Response:
        return _told(edits, await edits.edit(body.said, leave=body.leave, check=check))

    return await _once(request, call, key, work, lambda: list_option_edits(call))


@router.post("/options/edits/{number}/undo", responses=answers(OptionEditsResponse, says="Undone.", ETag=_VERSION))
async def undo_option_edit(
    request: Request, call: Administering, number: EditNumber, key: IdempotencyKey = None
) -> Response:
    """Take one edit back, if the option was not edited since; that is an edit too."""
    edits = call.services.dreams.option_edits

    async def work() -> Response:
        return _told(edits, await edits.undo(number))

    return await _once(request, call, key, work, lambda: list_option_edits(call))


@router.get("/directives", responses=answers(DirectivesResponse))
async def list_directives(call: Administering) -> Response:
    """List what models are told: which passes send it, and whose words it has in the scope."""
    found = await call.services.dreams.option_edits.directives.all()
    return reply({"directives": [one.to_json(whole=False) for one in found]})


@router.get("/directives/{name}", responses=answers(DirectiveResponse, ETag=_HASH))
async def get_directive(call: Administering, name: DirectiveName) -> Response:
    """Return the words of a directive that are in force, and those it came with."""
    found = await call.services.dreams.option_edits.directives.get(name)
    return reply(found.to_json(), headers={} if found.in_force is None else {"ETag": f'"{found.in_force.hash}"'})


@router.post("/directives/{name}/check", responses=answers(CheckedDirectiveResponse, says="What was found."))
async def check_directive(call: Administering, name: DirectiveName, body: DirectiveText) -> Response:
    """Tell of a text whether it can be used, what it lacks, and what it would cost to save it. Nothing is changed."""
    return reply((await call.services.dreams.option_edits.directives.check(name, body.text)).to_json())


@router.put(
    "/directives/{name}", responses=answers(DirectiveResponse, says="In force from the next run on.", ETag=_HASH)
)
async def write_directive(
    request: Request,
    call: Administering,
    name: DirectiveName,
    body: DirectiveText,
    key: IdempotencyKey = None,
    if_match: IfMatch = None,
) -> Response:
    """Have the model told other words in the scope; with If-Match only if nobody changed them since."""
    writing = call.services.dreams.option_edits.directives.write

    async def work() -> Response:
        await writing(name, body.text, expected=_hash(if_match))
        return await get_directive(call, name)

    return await _once(request, call, key, work, lambda: get_directive(call, name))


@router.delete("/directives/{name}", responses=answers(DirectiveResponse, says="As file or program say.", ETag=_HASH))
async def reset_directive(
    request: Request, call: Administering, name: DirectiveName, key: IdempotencyKey = None, if_match: IfMatch = None
) -> Response:
    """Have the words of the host's file, or the built-in ones, sent again."""

    async def work() -> Response:
        await call.services.dreams.option_edits.directives.reset(name, expected=_hash(if_match))
        return await get_directive(call, name)

    return await _once(request, call, key, work, lambda: get_directive(call, name))


def _told(edits: OptionEdits, edited: EditedOptions) -> Response:
    told = {
        "version": edited.version,
        "said": edited.values,
        "refused": edits.refused(edited),
        "edits": [one.to_json() for one in edited.edits],
    }
    return reply(told, headers={"ETag": etag(edited.version)})


def _hash(tag: str | None) -> str | None:
    return None if tag in {None, "*"} else str(tag).removeprefix("W/").strip('"')


async def _once(
    request: Request,
    call: ScopedCall,
    key: str | None,
    work: Callable[[], Awaitable[Response]],
    again: Callable[[], Awaitable[Response]],
) -> Response:
    try:
        return await once(request, call, key, work, lambda _: again(), always=True)
    except StaleVersionError as error:
        raise Problem(status=412, code="stale_version", detail=str(error)) from error
