"""Serves the page: logs people in, finds the view of an address, and answers with its template."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope as AsgiScope, Send

from agentcore.clock import Clock
from agentcore.domain.access import Right
from agentcore.domain.scope import Scope
from agentcore.hosting.tokens import AccessTokens
from dream.interfaces.gate_words import gate_words
from dream.interfaces.page.actions import ACTIONS
from dream.interfaces.page.api_calls import ApiCalls, RefusedCallError
from dream.interfaces.page.logins import LOGIN_HOLDS, Login, Logins
from dream.interfaces.page.rendering import Done, Rendering, Shown, amount, counted
from dream.interfaces.page.views import VIEWS, nowhere
from dream.interfaces.page.word_diff import changed_fields, is_instant, word_diff
from dream.interfaces.serving.caller import Caller, NotAllowedError

_HERE: Final = Path(__file__).parent
_COOKIE: Final = "dream_login"
_MOST_FORM: Final = 1_000_000
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Page:
    """The ASGI app of the page; lives as long as the server.

    Args:
        rest: The app of the REST routes, which the page calls for all it shows and does.
        tokens: Tell whom a secret stands for.
        clock: Tells when logins end.
    """

    def __init__(self, rest: ASGIApp, *, tokens: AccessTokens, clock: Clock) -> None:
        self.logins = Logins(tokens, clock)
        self._rest = rest
        self._clock = clock
        self._said: dict[str, Done] = {}
        self._templates = _environment()
        self._app = Starlette(
            routes=[
                Mount("/static", StaticFiles(directory=_HERE / "static"), name="static"),
                Route("/login", self._login, methods=["GET", "POST"]),
                Route("/logout", self._logout, methods=["POST"]),
                Route("/", self._home),
                Route("/in/{scope:path}/do/{action}", self._act, methods=["POST"]),
                Route("/in/{workspace}/{observer}/{observed}/{view:path}", self._show),
            ]
        )

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer one request, with the headers that keep a page to itself."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                if "/static/" not in scope["path"]:
                    added.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._app(scope, receive, guarded)

    async def _login(self, request: Request) -> Response:
        told = ""
        form = await _form(request) if request.method == "POST" else {}
        wanted = _inside(request, form.get("next") or request.query_params.get("next", ""))
        if request.method == "POST" or request.query_params.get("code"):
            cookie = (
                await self.logins.enter(form.get("token", "").strip())
                if form
                else await self.logins.enter_by_link(request.query_params["code"])
            )
            if cookie is not None:
                answer = RedirectResponse(wanted or f"{_root(request)}/", 303)
                answer.set_cookie(
                    _COOKIE,
                    cookie,
                    max_age=int(LOGIN_HOLDS.total_seconds()),
                    httponly=True,
                    samesite="strict",
                    secure=request.url.scheme == "https",
                )
                return answer
            told = _NOT_HELD if form else _USED_LINK
        return self._rendered(
            "login.html", {"told": told, "root": _root(request), "next": wanted}, 401 if told else 200
        )

    async def _logout(self, request: Request) -> Response:
        found = await self._person(request)
        form = await _form(request)
        if found is not None and found[0].is_stamped(form.get("stamp", "")):
            self.logins.leave(request.cookies[_COOKIE])
        answer = RedirectResponse(f"{_root(request)}/login", 303)
        answer.delete_cookie(_COOKIE)
        return answer

    async def _home(self, request: Request) -> Response:
        found = await self._person(request)
        if found is None:
            return RedirectResponse(f"{_root(request)}/login", 303)
        _, caller = found
        scopes = await self._scopes(caller)
        default = str(Scope.default())
        chosen = default if default in scopes or not scopes else scopes[0]
        return RedirectResponse(_address(request, chosen), 303)

    async def _show(self, request: Request) -> Response:
        found = await self._person(request)
        if found is None:
            # What a view fetches for a part of itself is no place to come back to.
            path = "" if "hx-request" in request.headers else f"{request.url.path}?{request.url.query}"
            return RedirectResponse(link(f"{_root(request)}/", "login", next=path.removesuffix("?")), 303)
        login, caller = found
        scope = "/".join(request.path_params[name] for name in ("workspace", "observer", "observed"))
        name, _, rest = request.path_params["view"].partition("/")
        context = await self._around(request, login, caller, scope, name or "overview")
        asked = Shown(rest, dict(request.query_params), self._clock.now())
        try:
            shown = await VIEWS.get(name or "overview", nowhere)(ApiCalls(self._rest, caller, scope), asked)
        except (RefusedCallError, NotAllowedError) as error:
            status = error.status if isinstance(error, RefusedCallError) else 404
            # What a token does not reach is not told apart from what is not there.
            status = 404 if status == 403 and caller.may(Right.READ) else status
            detail = _UNKNOWN if status == 404 else str(error)
            return self._rendered("problem.html", {**context, "problem": {"status": status, "detail": detail}}, status)
        return self._rendered(shown.template, {**context, **shown.values}, shown.status)

    async def _act(self, request: Request) -> Response:
        found = await self._person(request)
        form, scope = await _form(request), request.path_params["scope"]
        if found is None:
            ended = {"problem": {"status": 401, "detail": _ENDED}, "kept": form.get("text", ""), "root": _root(request)}
            back = link(f"{_root(request)}/", "login", next=_back(request, form, scope))
            return self._rendered("problem.html", {**ended, "back": back}, 401)
        login, caller = found
        context = await self._around(request, login, caller, scope, "")
        action = ACTIONS.get(request.path_params["action"])
        if action is None or not login.is_stamped(form.get("stamp", "")):
            detail = "The form was not made for this login: open the page again and repeat what you did."
            return self._rendered("problem.html", {**context, "problem": {"status": 403, "detail": detail}}, 403)
        try:
            done = await action(ApiCalls(self._rest, caller, scope), form)
        except RefusedCallError as error:
            values = {
                **context,
                "problem": error.problem,
                "kept": form.get("text", ""),
                "back": _back(request, form, scope),
            }
            return self._rendered("problem.html", values, error.status)
        if isinstance(done, Rendering):
            back = {"back": _back(request, form, scope)}
            return self._rendered(done.template, {**context, **done.values, **back}, done.status)
        self._said[request.cookies[_COOKIE]] = done
        return RedirectResponse(_back(request, {**form, **({"back": done.to} if done.to else {})}, scope), 303)

    async def _person(self, request: Request) -> tuple[Login, Caller] | None:
        return await self.logins.present(request.cookies.get(_COOKIE, ""))

    async def _around(self, request: Request, login: Login, caller: Caller, scope: str, view: str) -> Mapping[str, Any]:
        """Return what every view shows around its own."""
        return {
            "stamp": login.stamp,
            "me": caller.actor.name,
            "scope": scope,
            "scopes": await self._scopes(caller),
            "root": _root(request),
            "home": _address(request, scope),
            "view": view,
            "may": {right.value: caller.may(right) for right in Right},
            "said": self._said.pop(request.cookies.get(_COOKIE, ""), None),
            "query": dict(request.query_params),
        }

    async def _scopes(self, caller: Caller) -> list[str]:
        try:
            found = await ApiCalls(self._rest, caller, "").get("/scopes")
        except RefusedCallError:
            return []
        return list(found["scopes"])

    def _rendered(self, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
        return HTMLResponse(self._templates.get_template(template).render(**values), status)


_NOT_HELD: Final = "This token does not hold: it is mistyped, expired or revoked."
_USED_LINK: Final = (
    "This link was used, or is older than half an hour. `dream serve` prints a new one when it starts; meanwhile the "
    "token in the file that it names logs in as well."
)
_ENDED: Final = "Your login has ended, and nothing was done: log in again, and repeat it."
_UNKNOWN: Final = "There is nothing of this name."


def _environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = cast("dict[str, Any]", found.filters)
    filters |= {"when": when, "day": day, "thousands": _thousands}
    known = cast("dict[str, Any]", found.globals)
    known |= {"word_diff": word_diff, "changed_fields": changed_fields, "link": link, "amount": amount}
    known |= {"gate_words": gate_words, "counted": counted, "is_instant": is_instant}
    return found


def when(text: str | None) -> Markup:
    """Return an instant of a document as people read it; in a browser `page.js` makes it that of their own clock.

    Example:
        >>> str(when("2025-05-08T18:02:11.5Z")), str(when(None))
        ('<time datetime="2025-05-08T18:02:11.5Z">2025-05-08 18:02 UTC</time>', '')
    """
    return (
        Markup('<time datetime="{}">{:%Y-%m-%d %H:%M} UTC</time>').format(text, datetime.fromisoformat(text))
        if text
        else Markup()
    )


def day(text: str | None) -> Markup:
    """Return the day of an instant in the same way."""
    return (
        Markup('<time class="day" datetime="{}">{:%Y-%m-%d}</time>').format(text, datetime.fromisoformat(text))
        if text
        else Markup()
    )


def _thousands(value: int) -> str:
    return f"{value:,}"


def link(home: str, *parts: str, **query: object) -> str:
    """Return the address of a view, whatever stands in the names.

    Example:
        >>> link("/in/a/b/c/", "memories", "x/y", q="a b")
        '/in/a/b/c/memories/x%2Fy?q=a+b'
    """
    given = {name: value for name, value in query.items() if value not in (None, "")}
    return home + "/".join(quote(part, safe="") for part in parts) + (f"?{urlencode(given)}" if given else "")


def _root(request: Request) -> str:
    """Return what stands before all addresses where the server is mounted into another app."""
    return str(request.scope.get("root_path", ""))


def _address(request: Request, scope: str) -> str:
    return f"{_root(request)}/in/{quote(scope)}/"


def _inside(request: Request, wanted: str) -> str:
    """Return where a login leads to: a view of this server that somebody asked for before; nothing else."""
    return wanted if wanted.startswith(f"{_root(request)}/in/") else ""


def _back(request: Request, form: Mapping[str, str], scope: str) -> str:
    """Return where to go after an action: a view of the same scope, whatever a form says."""
    home, wanted = _address(request, scope), form.get("back", "")
    return wanted if wanted.startswith(home) else home


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form, of equal ones the last; what is too long is cut off and so holds no stamp."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_FORM:
            return {}
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
    form: dict[str, str] = {}
    for name, value in pairs:
        form[name] = f"{form[name]}\n{value}" if name == "id" and name in form else value
    return form
