"""Puts the routes together."""

import re
from functools import cache
from typing import Any, cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agentcore.errors import AgentcoreError
from dream.interfaces.release import installed_version
from dream.interfaces.rest import (
    claims,
    configuration,
    conversations,
    desk,
    erasures,
    exchange,
    hypotheses,
    memories,
    review,
    runs,
    scope,
    session_peers,
    skills,
    tokens,
    workspace,
)
from dream.interfaces.rest.requests import PREFIX
from dream.interfaces.serving.problems import MEDIA_TYPE, Problem, answer_problem

_PARTS = (
    memories,
    conversations,
    session_peers,
    skills,
    runs,
    hypotheses,
    claims,
    review,
    desk,
    workspace,
    scope,
    configuration,
    tokens,
    exchange,
    erasures,
)
_ABOUT = "A memory for AI agents that looks after itself. Routes take a token and, by `scope`, whose memory."


def api() -> FastAPI:
    """Return the app of all REST routes; `app.state` has the host, the run desk and the makers of ids to be set."""
    app = FastAPI(
        title="agentcore-dream",
        version=installed_version("agentcore-dream"),
        description=_ABOUT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        redirect_slashes=False,
    )
    # Not included router by router: FastAPI would look for the route of a request once on each level.
    app.router.routes += [route for part in _PARTS for route in part.router.routes]
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    for kind in (AgentcoreError, ExceptionGroup, Exception):
        app.add_exception_handler(kind, answer_problem)
    app.openapi = lambda: _described(app)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    refused = cast("HTTPException", error)
    if isinstance(refused, Problem):
        return refused.response()
    codes = {404: "unknown_route", 405: "method_not_allowed"}
    said = {404: "There is no such route: the OpenAPI document lists them all.", 405: "The route has no such method."}
    status = refused.status_code
    detail = said.get(status, "The request cannot be read: send what the OpenAPI document says.")
    headers = {"Allow": ", ".join(_methods(request))} if status == 405 else refused.headers
    return Problem(status=status, code=codes.get(status, "bad_request"), detail=detail, headers=headers).response()


def _methods(request: Request) -> list[str]:
    """Return the methods that the document knows for the path of a request."""
    paths: dict[str, dict[str, Any]] = request.app.openapi()["paths"]
    fitting = [path for path in paths if _pattern(path).fullmatch(request.url.path)]
    nearest = min(fitting, key=lambda path: path.count("{"), default=None)
    return [] if nearest is None else sorted(map(str.upper, paths[nearest]))


@cache
def _pattern(path: str) -> re.Pattern[str]:
    # The name of a skill is a slash path.
    part = ".+" if path.startswith(f"{PREFIX}/skill") else "[^/]+"
    return re.compile(re.sub(r"\{\w+\}", part, path))


async def _invalid(_: Request, error: Exception) -> Response:
    """Say what is wrong with a request, without repeating what was sent."""
    faults = cast("RequestValidationError", error).errors()
    told = [{"where": ".".join(map(str, fault["loc"])), "what": str(fault["msg"])[:300]} for fault in faults[:20]]
    first = f"{told[0]['where']}: {told[0]['what']}" if told else "the request"
    is_broken = any(fault["type"] == "json_invalid" for fault in faults)
    return Problem(
        status=400 if is_broken else 422,
        code="invalid_json" if is_broken else "invalid_request",
        detail=f"The request cannot be taken ({first}): send what the OpenAPI document says.",
        more={"faults": told},
    ).response()


def _described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the tokens that every route takes."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        _share_problems(document)
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema


def _share_problems(document: dict[str, Any]) -> None:
    """Say each problem once, and have the routes refer to it."""
    shared: dict[str, Any] = document["components"].setdefault("responses", {})
    for operations in document["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                if MEDIA_TYPE in answer.get("content", {}):
                    schema = {"$ref": "#/components/schemas/ProblemDocument"}
                    shared[f"Problem{status}"] = {**answer, "content": {MEDIA_TYPE: {"schema": schema}}}
                    operation["responses"][status] = {"$ref": f"#/components/responses/Problem{status}"}
