"""Two tenants of one page in a real browser: whoever sees the one finds no trace of the other."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx2
from browsing import NEEDS_CHROMIUM, Browser, browsing
from served import RUNS, Served, served

from dream.interfaces.page.views import VIEWS

pytestmark = NEEDS_CHROMIUM

_MINE, _OTHERS = "umbra/agent/ana", "qualle/agent/brunhild"
_SECRET = "zebrafish"
_OFFERS = 'form[method="post"]:not([action$="/logout"])'


async def _filled(server: Served, scope: str, name: str) -> list[str]:
    """Fill a scope with a record for every view; return the ids of what is in it."""
    async with server.client_of(f"{name}-owner", "admin", reach=scope) as owner:
        ids = list[str]()

        async def put(method: str, path: str, body: Any) -> Any:
            answer = await owner.request(method, f"/api/v1{path}", json=body)
            assert answer.status_code < 300, (path, answer.text)
            return answer.json()

        for text in ("Ana rows.", "Ana  rows!", f"The {name} is blue.", f"The {name} is green."):
            ids.append((await put("POST", "/memories", {"content": text, "category": name}))["id"])
        sources = [f"entry:{one}" for one in ids[:2]]
        ids.append((await put("POST", f"/conversations/{name}/turns", {"role": "user", "content": f"A {name}!"}))["id"])
        await put("PUT", f"/skills/{name}", {"summary": name, "content": f"Feed the {name}."})
        await put("POST", "/feedback", {"session_id": name, "kind": "correction", "summary": name})
        await put("POST", "/off-limits", {"words": f"the {name} pond"})
        await put("POST", "/card/lines", {"line": f"IDENTITY: keeps a {name}"})
        await put("PATCH", "/options", {"said": {"modes.near-duplicates": "propose"}})
        await put("PUT", "/directives/dream", {"text": f"Keep every {name}."})
        await put("POST", "/tokens", {"name": f"{name}-guest", "scopes": [scope]})
        told = server.host.for_scope(scope).hypotheses
        await told.propose(f"The {name} may be tame.", what_if="It bites.", sources=sources, question="Is it?")
        await _dreamt(server, owner, ids)
        return ids


async def _dreamt(server: Served, owner: httpx2.AsyncClient, ids: list[str]) -> None:
    answer = await owner.post(RUNS, json={})
    while (run := (await owner.get(answer.headers["Location"])).json())["state"] != "finished":
        await asyncio.sleep(0.02)
    ids += [one["id"] for one in (await owner.get("/api/v1/questions")).json()["questions"]]
    ids.append(run["run_id"])


@dataclass
class Seen:
    """What a browser was told.

    Args:
        browser: The tab.
        forbidden: Words that may be nowhere.
        headers: Address and headers of every answer.
    """

    browser: Browser
    forbidden: list[str]
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    under_way: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    def watch(self) -> None:
        self.browser.tab.on("response", lambda one: self.under_way.append(asyncio.ensure_future(self._keep(one))))

    async def _keep(self, answer: Any) -> None:
        self.headers.append((answer.url, str(await answer.all_headers())))

    def traces(self, told: str, asked: str = "") -> list[str]:
        """Return the forbidden words of a text that an address did not say itself."""
        return [word for word in self.forbidden if word in told.lower() and word not in unquote(asked).lower()]

    async def visited(self, address: str) -> int:
        """Open an address, look for traces in the tab and its storage; return the status."""
        answer = await self.browser.tab.goto(address)
        if await self.browser.tab.locator("[hx-trigger=load]").count():
            await self.browser.tab.wait_for_selector(".plot")
        held = await self.browser.tab.evaluate(
            "() => document.documentElement.outerHTML + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)"
        )
        told = f"{held}{await self.browser.tab.context.storage_state()}"
        assert self.traces(told, address) == [], address
        return answer.status


_VIEWS = ["" if one == "overview" else one for one in VIEWS if one != "directives"]


async def test_a_users_token_finds_no_trace_of_another_scope_in_any_view():
    async with served() as server:
        others = await _filled(server, _OTHERS, _SECRET)
        mine = await _filled(server, _MINE, "heron")
        forbidden = [_SECRET, "qualle", "brunhild", *others]
        async with browsing(server, name="reader", reach=_MINE, rights=("read",)) as browser:
            seen = Seen(browser, forbidden)
            seen.watch()
            known = [f"memories/{mine[0]}", f"runs/{mine[-1]}", "sessions/heron", "skills/heron", "memories?q=zebra"]
            for view in [*_VIEWS, *known]:
                assert await seen.visited(f"{browser.home}{view}") == 200, view
                assert await browser.tab.locator(_OFFERS).count() == 0, f"{view} offers a reader to change something"
            # What is not theirs is as if it was not there, under their own scope and under its own.
            theirs = browser.home.replace(_MINE, _OTHERS)
            foreign = [f"memories/{others[0]}", f"runs/{others[-1]}", f"skills/{_SECRET}", "directives/dream"]
            addresses = [f"{browser.home}{view}" for view in foreign]
            addresses += [f"{theirs}{view}" for view in ("", "memories", "schedule", "overview/plots", *foreign)]
            assert [await seen.visited(one) for one in addresses] == [404] * len(addresses)
            await asyncio.gather(*seen.under_way)
            assert [address for address, told in seen.headers if seen.traces(told, address)] == []
            assert len(seen.headers) > len(_VIEWS) + len(addresses)
        async with browsing(server, name="writer", reach=_MINE, rights=("write",)) as browser:
            seen = Seen(browser, forbidden)
            for view in ("", "review", "memories", "peers", "schedule", "settings"):
                assert await seen.visited(f"{browser.home}{view}") == 200, view
            assert await browser.tab.locator(_OFFERS).count() == 0
            assert await browser.tab.locator("#scope").count() == 0
