"""A person at a real browser: keys, a narrow screen, no request to anywhere else, and nothing that shuts people out."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from browsing import NEEDS_CHROMIUM, SIZES, browsing
from served import MEMORIES, RUNS, Served, served

from agentcore.domain import Scope
from dream.interfaces.page.views import VIEWS

pytestmark = NEEDS_CHROMIUM


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        for content in ("Ana is vegetarian.", "Ana is a vegetarian!", "Rui rows.", "Rui  rows!", "Ana's cat is Miso."):
            await running.client.post(MEMORIES, json={"content": content})
        await running.client.post("/api/v1/conversations/s1/turns", json={"role": "user", "content": "I like tea."})
        await running.finished(await running.client.post(RUNS, json={}))
        yield running


async def test_a_person_finds_what_changed_and_undoes_it_by_keys_alone(server: Served):
    async with browsing(server) as browser:
        keys = browser.tab.keyboard
        for key in "gu":
            await keys.press(key)
        await browser.tab.wait_for_url("**/runs")
        assert "UTC" not in await browser.says(), "times are those of the browser's clock"
        for key in ("j", "Enter"):
            await keys.press(key)
        await browser.tab.wait_for_url("**/runs/*")
        assert "Undo the whole run …" in await browser.says()
        await keys.press("j")
        await keys.press("u")
        await browser.tab.wait_for_selector("text=Taken back")
        assert browser.faults == []


async def test_a_person_searches_edits_forgets_and_answers(server: Served):
    async with browsing(server) as browser:
        tab = browser.tab
        await browser.to("memories")
        await tab.keyboard.press("/")
        await tab.keyboard.type("cat")
        await tab.wait_for_selector("#list >> text=1 memory found")
        assert "Rui" not in await tab.inner_text("#list")
        await tab.click("#list >> text=Ana's cat is Miso.")
        await tab.click("summary >> text=Edit")
        await tab.fill("#text", "Ana's cat is called Miso.")
        await tab.click("text=Save")
        await tab.wait_for_selector("text=Changed.")
        await tab.click("text=Forget for good …")
        await tab.click("button >> text=Forget for good")
        await tab.wait_for_selector("text=Forgotten for good")
        assert "Miso" not in await browser.says()
        await browser.to("questions")
        await tab.click("text=This holds >> nth=0")
        await tab.wait_for_selector("text=Answered.")
        assert browser.faults == []


async def _proposed(server: Served, *texts: str) -> None:
    """Have folds wait for a person."""
    await server.client.patch("/api/v1/options", json={"said": {"modes.exact-fold": "propose"}})
    for text in texts or ("Ana keeps bees.",):
        again = replace(await server.host.memory.remember(text), id=f"again-{text[:3]}")
        await server.host.storage.write(Scope.default(), lambda unit, one=again: unit.entries.add([one]))
    await server.finished(await server.client.post(RUNS, json={"passes": ["exact-fold"]}))


async def test_a_person_approves_and_edits_a_directive_by_keys_on_a_phone(server: Served):
    await _proposed(server)
    async with browsing(server, "phone") as browser:
        tab, keys = browser.tab, browser.tab.keyboard
        for key in "gr":
            await keys.press(key)
        await tab.wait_for_url("**/review")
        assert "Ana keeps bees." in await browser.says()
        for key in "ja":
            await keys.press(key)
        await tab.wait_for_selector("text=Approved: 1.")
        assert "Nothing waits for you." in await browser.says()
        for key in "gi":
            await keys.press(key)
        await tab.wait_for_url("**/directives")
        for key in ("j", "Enter"):
            await keys.press(key)
        await tab.wait_for_url("**/directives/memory-rules")
        await tab.focus("#text")
        await keys.press("Control+End")
        await keys.type("Never keep what the weather was.")
        await tab.click("text=Check")
        await tab.wait_for_selector("text=It can be used.")
        assert "Never keep what the weather was." in await tab.inner_text("ins")
        await tab.click("text=Save")
        await tab.wait_for_selector("text=Saved: it is what the model is told from the next run on.")
        await tab.click("text=Undo")
        await tab.wait_for_selector("text=Undone")
        assert browser.faults == []


async def test_letters_typed_behind_a_slash_are_searched_for_and_decide_nothing(server: Served):
    await _proposed(server, "Ana keeps bees.", "Rui keeps a cat.")
    async with browsing(server) as browser:
        tab = browser.tab
        await browser.to("review")
        await tab.keyboard.type("ritaA")
        await tab.wait_for_selector("text=Select something first.")
        opened = asyncio.Event()

        async def slowly(route: Any) -> None:
            await opened.wait()
            await route.continue_()

        await tab.route("**/memories", slowly)
        await tab.keyboard.type("j/raxbbit")
        for _ in "bbit":
            await tab.keyboard.press("Backspace")
        opened.set()
        await tab.wait_for_url("**/memories#search")
        assert await tab.evaluate("document.activeElement.id") == "search"
        assert await tab.input_value("#search") == "rax"
        await tab.wait_for_selector("#list >> text=0 memories found")
        assert len((await server.client.get("/api/v1/proposals")).json()["proposals"]) == 2
        assert browser.faults == []


async def test_of_keys_in_quick_succession_the_first_alone_decides_and_can_be_undone(server: Served):
    await _proposed(server, "Ana keeps bees.", "Rui keeps a cat.")
    async with browsing(server) as browser:
        tab = browser.tab
        await browser.to("review")
        answered = asyncio.Event()

        async def slowly(route: Any) -> None:
            await answered.wait()
            await route.continue_()

        await tab.route("**/do/*", slowly)
        await tab.keyboard.type("jajraruA")
        answered.set()
        await tab.wait_for_selector("text=Approved: 1.")
        await tab.keyboard.type("aru")
        assert len((await server.client.get("/api/v1/proposals")).json()["proposals"]) == 1
        await tab.click("text=Undo it …")
        await tab.wait_for_selector("h1 >> text=Undo")
        await tab.wait_for_load_state()  # the keys are there then
        await tab.keyboard.press("a")
        await tab.wait_for_selector("text=Taken back")
        assert len((await server.client.get("/api/v1/proposals")).json()["proposals"]) == 2
        assert browser.faults == []


async def test_the_plots_and_the_graph_are_drawn(server: Served):
    async with browsing(server) as browser:
        await browser.tab.wait_for_selector(".plot canvas")
        assert await browser.tab.locator(".plot").count() == 5
        known = (await server.client.get(MEMORIES)).json()["memories"]
        both = [one["id"] for one in known[:2]]
        await server.client.post("/api/v1/merges", json={"memories": both, "text": "Ana and Rui are friends."})
        await browser.to(f"memories/{both[0]}")
        assert await browser.tab.locator(".graph path").count() >= 1
        assert browser.faults == []


@pytest.mark.parametrize("size", SIZES)
async def test_every_view_fits_the_screen_and_shuts_nobody_out(server: Served, size: str):
    axe = pytest.importorskip("axe_playwright_python.async_playwright", reason="axe is not installed").Axe()
    async with browsing(server, size) as browser:
        memory = (await server.client.get(MEMORIES)).json()["memories"][0]["id"]
        run = (await server.client.get(RUNS)).json()["runs"][0]["run_id"]
        views = [
            *("" if one == "overview" else one for one in VIEWS),
            f"memories/{memory}",
            f"runs/{run}",
            "sessions/s1",
            "directives/dream",
        ]
        for view in views:
            await browser.to(view)
            wide = await browser.tab.evaluate("document.documentElement.scrollWidth > innerWidth")
            assert not wide, f"{view} is wider than the screen"
            found = (await axe.run(browser.tab)).response["violations"]
            bad = [one for one in found if one["impact"] in {"serious", "critical"}]
            serious = [(one["id"], one["nodes"][0]["html"]) for one in bad]
            assert serious == [], view
        assert browser.faults == []


async def test_a_dark_screen_is_dark(server: Served):
    async with browsing(server) as browser:
        await browser.tab.emulate_media(color_scheme="dark")
        await browser.to("memories")
        back = await browser.tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in back.removeprefix("rgb(").removesuffix(")").split(",")) < 150
