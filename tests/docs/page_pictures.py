"""The pictures of the documentation: `python -m tests.docs.page_pictures` takes them anew, with Chromium.

Each view is shown at 1280 and at 390 pixels, over a memory that dreamt of a talk of `tests/data/talks`.
"""

import asyncio
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from playwright.async_api import Page as Tab, async_playwright

from agentcore import AgentHostBuilder
from agentcore.hosting.host import Host
from agentcore.testing.ids import SequentialIds
from dream.interfaces.benchmark.recordings import Quotes, RecordedClient, Recording
from dream.interfaces.benchmark.samples import read_questions
from dream.interfaces.benchmark.trial import AFTERWARDS, StandingClock, import_sample
from dream.interfaces.page import Page
from dream.interfaces.page.views import VIEWS
from dream.interfaces.serving.process import listening_socket, serve_http
from dream.interfaces.serving.settings import ServeOptions
from dream.options import DreamOptions

_ROOT: Final = Path(__file__).parents[2]
_TALKS: Final = _ROOT / "tests/data/talks"
_IMAGES: Final = _ROOT / "docs/images"
_SIZES: Final = {1280: 860, 390: 844}


async def _pictures(host: Host, url: str, page: Page) -> None:
    secret, _ = await host.tokens.create("pictures", scopes=["*/*/*"], rights=["admin"])
    run = (await host.dreams.runs(limit=50))[-1].run_id
    best = (await host.memory.recall("hip operation", 1))[0].entry.id
    edited = (await host.dreams.option_edits.directives.get("dream")).built_in.text
    added = "Never merge what two people said.\n\n## "
    await host.dreams.option_edits.directives.write("dream", edited.replace("## ", added, 1))
    await host.dreams.option_edits.edit({"schedule.trigger.every": "6h", "modes.preferences": "propose"})
    sources = [f"entry:{hit.entry.id}" for hit in await host.memory.recall("garden", 2)]
    await host.hypotheses.propose(
        "The garden may be what keeps the family at Lantern Hill.",
        what_if="They move to a flat in town.",
        sources=sources,
        possible_outcome="Somebody else has to look after the beds.",
        question="Is the garden why you stay?",
    )
    views = {name: "" if name == "overview" else name for name in VIEWS} | {
        "run": f"runs/{run}?pass=memory-consolidation",
        "search": "memories?q=hip+operation&explain=true",
        "memory": f"memories/{best}",
        "forget": f"memories/{best}/forget",
        "directive": "directives/dream",
    }
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width, height in _SIZES.items():
            tab = await browser.new_page(viewport={"width": width, "height": height})
            await tab.goto(f"{url}/login?code={page.logins.link(secret)}")
            home = tab.url
            for name, view in views.items():
                await _picture(tab, f"{home}{view}", _IMAGES / f"{name}-{width}.png")
        await browser.close()


async def _picture(tab: Tab, address: str, path: Path) -> None:
    await tab.goto(address)
    await tab.wait_for_load_state("networkidle")
    await tab.wait_for_timeout(300)
    await tab.screenshot(path=path)


async def _dreamt(host: Host, sample: Any, ids: SequentialIds) -> None:
    await import_sample(host, sample, ids)
    await host.dreams.run()
    await host.memory.remember("Leo sings in the choir.", category="people/leo")
    await host.memory.remember("Leo sings in a choir!", category="people/leo")
    await host.card.set("IDENTITY: lives at 3 Lantern Hill, Harle Bay", why="told in the talk")
    await host.workspace.append("Ask before you book anything.", section=("Rules",))
    await host.dreams.run()


async def main() -> None:
    """Serve a dreamt memory and take the pictures."""
    (sample,) = read_questions([_TALKS / "family.json"], now=datetime.now(UTC))
    recording = Recording.read(_TALKS / "answers.jsonl", must_exist=True)
    client = RecordedClient(recording, sample.name, Quotes(sample.texts))
    ids = SequentialIds()
    _IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, listening_socket("127.0.0.1", 0) as bound:
        workspace = Path(folder) / "workspace"
        workspace.mkdir()
        builder = AgentHostBuilder(Path(folder) / "data", clock=StandingClock(sample.ended_at + AFTERWARDS), ids=ids)
        builder.with_memory().with_skills().with_conversation_log().with_feedback().with_workspace(workspace)
        builder.with_dreaming(DreamOptions(), in_background=False).with_llm(client)
        ready = asyncio.Queue[Page]()
        async with builder.build() as host, asyncio.TaskGroup() as tasks:
            await _dreamt(host, sample, ids)
            tasks.create_task(serve_http(host, ServeOptions(), bound, ready=ready.put_nowait))
            await _pictures(host, f"http://127.0.0.1:{bound.getsockname()[1]}", await ready.get())
            host.request_stop()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
