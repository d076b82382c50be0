"""The whole way of an idle dream: a host left alone, its clock, its files, and nobody who hears of it."""

import logging
from pathlib import Path

import orjson
import pytest
from dreaming import NOW, VerifyingChatClient
from watching_over import HOUR, MINUTE, WatchedClock

from agentcore import AgentHostBuilder, Host
from agentcore.llm import ChatClient, ModelTier
from dream.domain import RunReport
from dream.options import DreamOptions

USER = b"# User\r\n\r\n- Keeps bees. Keeps bees.\r\n"
IDLE = DreamOptions.preset("idle")
ALSO_PROMOTING = IDLE.replace(modes={**IDLE.modes, "promotion": "apply"})


def a_host(tmp_path: Path, clock: WatchedClock, options: DreamOptions, chat: ChatClient | None = None) -> Host:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "USER.md").write_bytes(USER)
    builder = AgentHostBuilder(tmp_path / "data", clock=clock).with_memory().with_conversation_log()
    builder = builder.with_workspace(folder).with_dreaming(options)
    return (builder if chat is None else builder.with_llm(chat)).build()


async def needed(host: Host, text: str) -> None:
    """Remember a text that three questions ask for."""
    await host.memory.remember(text)
    for query in ("who keeps bees", "what does Ana keep", "who keeps bees"):
        assert await host.memory.recall(query)


async def test_a_host_left_alone_dreams_once_in_silence_and_only_memory_md_shows_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.WARNING)
    clock = WatchedClock(NOW)
    reports: list[RunReport] = []
    async with a_host(tmp_path, clock, ALSO_PROMOTING) as host:
        host.dreams.on_report(reports.append)
        await needed(host, "Ana keeps bees in Sintra")
        await host.workspace.append("Bo sails on Sundays")
        await host.conversation.append(session_id="s1", role="user", content="Good morning.")
        await clock.go_on(119 * MINUTE)
        # A message begins the silence anew.
        await host.conversation.append(session_id="s1", role="user", content="One more thing.")
        await clock.go_on(MINUTE)
        await clock.go_on(118 * MINUTE)
        assert reports == []
        said = await host.conversation.sessions()
        await clock.go_on(MINUTE)
        (report,) = reports
        assert (report.trigger, report.started_at) == ("idle", NOW + 239 * MINUTE)
        text = (tmp_path / "workspace" / "MEMORY.md").read_text()
        assert text.startswith("- Bo sails on Sundays\n")
        assert "Ana keeps bees in Sintra" in text
        (session,) = await host.dreams.sessions()
        assert (session.run_id, session.trigger) == (report.run_id, "idle")
        assert (session.wrote, session.documents[-1]) == (True, "MEMORY.md")
        assert "MEMORY.md" in {row.record_id for row in await host.dreams.diff(session.session)}
        # It said nothing to anybody, left the file about the user alone, and with nothing new does not come back.
        assert await host.conversation.sessions() == said
        assert (tmp_path / "workspace" / "USER.md").read_bytes() == USER
        await clock.go_on(30 * HOUR)
        assert reports == [report]
    assert capfd.readouterr() == ("", "")
    assert caplog.records == []


async def test_a_host_left_alone_has_its_model_tidy_memory_md_once_and_heeds_what_is_marked(tmp_path: Path):
    clock = WatchedClock(NOW)
    edits = [
        {"op": "merge", "items": ["i1", "i2"], "text": "Ana keeps bees in Sintra"},
        {"op": "archive", "items": ["i3"]},
    ]
    chat = VerifyingChatClient([orjson.dumps({"edits": edits}).decode()])
    others = dict.fromkeys(("fact-mining", "memory-consolidation", "preferences"), "off")
    async with a_host(tmp_path, clock, IDLE.replace(modes={**IDLE.modes, **others}), chat) as host:
        memory = tmp_path / "workspace" / "MEMORY.md"
        kept = "\n<!-- keep -->\n\n- Bo sails\n\n<!-- /keep -->\n"
        memory.write_text(f"- Ana keeps bees in Sintra\n- In Sintra Ana keeps bees\n{kept}")
        await host.conversation.append(session_id="s1", role="user", content="Good morning.")
        await clock.go_on(121 * MINUTE)
        assert memory.read_text() == f"- Ana keeps bees in Sintra\n{kept}"
        await clock.go_on(30 * HOUR)
        assert len(chat.requests) == 1
        assert chat.requests[0].tier is ModelTier.DREAMING


async def test_a_host_whose_dreams_are_off_never_dreams(tmp_path: Path):
    clock = WatchedClock(NOW)
    async with a_host(tmp_path, clock, ALSO_PROMOTING.replace(enabled=False)) as host:
        await needed(host, "Ana keeps bees in Sintra")
        for _ in range(3):
            await clock.go_on(24 * HOUR)
        assert await host.dreams.sessions() == []
        assert not (tmp_path / "workspace" / "MEMORY.md").exists()
