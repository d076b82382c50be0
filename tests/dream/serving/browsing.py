"""A tab of a real browser, logged in, and what it complains of."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from served import Served

playwright = pytest.importorskip(
    "playwright.async_api", reason="the page is tried with playwright, which is not installed"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_CHROMIUM = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium on this machine to try the page with"
)

SIZES = {"desk": (1280, 900), "phone": (390, 844)}


@dataclass
class Browser:
    """A tab, and what it complained of.

    Args:
        tab: Playwright's page.
        home: The first view.
        faults: Errors of the console, requests to elsewhere, and such as failed.
    """

    tab: Any
    home: str = ""
    faults: list[str] = field(default_factory=list[str])

    async def to(self, view: str = "") -> None:
        answer = await self.tab.goto(f"{self.home}{view}")
        assert answer.status == 200, view

    async def says(self) -> str:
        return str(await self.tab.inner_text("main"))


@asynccontextmanager
async def browsing(
    server: Served,
    size: str = "desk",
    *,
    name: str = "person",
    reach: str = "*/*/*",
    rights: tuple[str, ...] = ("admin",),
) -> AsyncGenerator[Browser]:
    """Open a browser and log in by the link that is printed."""
    secret, _ = await server.host.tokens.create(name, scopes=[reach], rights=rights)
    width, height = SIZES[size]
    async with playwright.async_playwright() as started:
        chromium = await started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = await chromium.new_page(viewport={"width": width, "height": height})
        browser = Browser(tab)
        tab.on("console", lambda said: browser.faults.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: browser.faults.append(str(error)))
        tab.on("request", lambda sent: None if sent.url.startswith(server.url) else browser.faults.append(sent.url))
        await tab.goto(f"{server.url}/login?code={server.page.logins.link(secret)}")
        browser.home = tab.url
        yield browser
        await chromium.close()
