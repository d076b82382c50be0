"""Routes that read their parameters in one go answer as FastAPI alone does."""

from datetime import datetime
from typing import Annotated, Literal
from urllib.parse import urlencode

import httpx2
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.routing import APIRoute
from hypothesis import given, strategies as st

from dream.interfaces.rest.quick_route import QuickRoute

_NAMES = st.sampled_from(["query", "k", "tag", "about", "since", "kind", "explain", "scope", "name", "other"])
_VALUES = st.sampled_from(
    ["", "tea", "0", "1", "7", "101", "true", "no", "near", "far", "2025-06-14T09:00:00Z"]
) | st.text(max_size=8)


async def _whose(request: Request, scope: Annotated[str | None, Query(max_length=5)] = None) -> str:
    return f"{request.method} {scope}"


async def _answer(
    *,
    whose: Annotated[str, Depends(_whose)],
    name: Annotated[str, Path(min_length=2)],
    query: Annotated[str, Query(min_length=1, max_length=6)],
    k: Annotated[int, Query(ge=1, le=100)] = 10,
    tag: Annotated[list[str] | None, Query(max_length=2)] = None,
    about: Annotated[str | None, Query(alias="kind-of")] = None,
    since: datetime | None = None,
    kind: Literal["near", "far"] = "near",
    explain: Annotated[bool, Query()] = False,
) -> Response:
    return Response(repr((whose, name, query, k, tag, about, since, kind, explain)))


def _app(route_class: type[APIRoute]) -> FastAPI:
    router, app = APIRouter(route_class=route_class), FastAPI()
    router.add_api_route("/things/{name}", _answer, response_model=None)
    app.router.routes += router.routes
    return app


_QUICK, _PLAIN = (httpx2.ASGITransport(_app(kind)) for kind in (QuickRoute, APIRoute))


@given(name=st.sampled_from(["a", "ana"]), sent=st.lists(st.tuples(_NAMES | st.just("kind-of"), _VALUES), max_size=6))
async def test_a_request_is_taken_or_refused_with_the_same_words(name: str, sent: list[tuple[str, str]]):
    address = f"http://test/things/{name}?query=tea&{urlencode(sent)}"
    answers: list[httpx2.Response] = []
    for transport in (_QUICK, _PLAIN):
        async with httpx2.AsyncClient(transport=transport) as client:
            answers.append(await client.get(address))
    quick, plain = answers
    assert (quick.status_code, quick.content) == (plain.status_code, plain.content)
