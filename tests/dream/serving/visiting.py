"""Somebody who visits the page without a browser: cookies, forms, and what stands in them."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx2
from served import Served

HOME = "/in/default/agent/agent/"


@dataclass(frozen=True)
class Visitor:
    """A person who is logged in.

    Args:
        client: With their cookie.
    """

    client: httpx2.AsyncClient

    async def see(self, view: str = "", *, home: str = HOME, status: int = 200) -> str:
        """Open a view; return its text."""
        answer = await self.client.get(f"{home}{view}", follow_redirects=True)
        assert answer.status_code == status, answer.text
        return answer.text

    async def do(self, action: str, *, home: str = HOME, **fields: Any) -> httpx2.Response:
        """Send a form of the page, and follow where it leads."""
        stamp = re.search(r'name="stamp" value="([^"]+)"', await self.see(home=home))
        assert stamp is not None
        form = {"stamp": stamp[1], **fields}
        return await self.client.post(f"{home}do/{action}", data=form, follow_redirects=True)


@asynccontextmanager
async def visiting(
    server: Served, *rights: str, reach: str = "*/*/*", name: str = "visitor"
) -> AsyncGenerator[Visitor]:
    """Log somebody in by a link, with rights of their own."""
    secret, _ = await server.host.tokens.create(name, scopes=[reach], rights=rights or ("admin",))
    async with httpx2.AsyncClient(base_url=server.url, timeout=60) as client:
        answer = await client.get(f"/login?code={server.page.logins.link(secret)}", follow_redirects=True)
        assert answer.status_code == 200, answer.text
        yield Visitor(client)


def texts(page: str) -> str:
    """Return what a page says, without its tags."""
    return unescape(re.sub(r"<[^>]+>", "", page))
