"""A story without Python: three personalities of one folder, each with its own schedule, model and workspace."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import repeat

import orjson
import pytest
from commandline import CommandLine

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from agentcore.testing import ChatServer, ManualClock

SETTINGS = """
workspace = "notes/{observer}"

[dreaming.schedule]
zone = "UTC"

[scopes."home/rex/*".dreaming]
schedule.trigger = { kind = "daily", at = "03:00" }
model.name = "small"

[scopes."home/mia/*".dreaming]
schedule.trigger = { kind = "idle", after = "2h" }
model.name = "large"

[scopes."home/tom/*".dreaming]
schedule.enabled = false
"""


@pytest.mark.slow
def test_three_personalities_live_a_day_by_settings_of_their_own(cli: CommandLine, caplog: pytest.LogCaptureFixture):
    cli.data.mkdir()
    (cli.data / "agentcore.toml").write_text(SETTINGS, "utf-8")
    for name in ("rex", "mia", "tom"):
        for text in ("Ana likes tea.", "ana likes tea"):
            cli.good("--scope", f"home/{name}/ana", "remember", text, "--category", f"c{len(text)}")
    shown = {name: _shown(cli, name) for name in ("rex", "mia", "tom")}
    assert [shown[name]["schedule.trigger.kind"] for name in shown] == [
        ("daily", "toml", "home/rex/*"),
        ("idle", "toml", "home/mia/*"),
        ("interval", "default", None),
    ]
    assert [shown[name]["model.name"][0] for name in shown] == ["small", "large", None]
    caplog.set_level(logging.INFO, logger="dream")
    asyncio.run(_a_day(cli))
    ended = [one.__dict__ for one in caplog.records if one.getMessage().startswith("dream_ended ")]
    assert {(one["scope"], one["trigger"]) for one in ended} == {("home/rex/ana", "daily"), ("home/mia/ana", "idle")}
    assert sorted(one.name for one in (cli.data / "notes").iterdir()) == ["mia", "rex", "tom"]


def _shown(cli: CommandLine, name: str) -> dict[str, tuple[object, str, str | None]]:
    told = cli("--scope", f"home/{name}/ana", "--json", "config", "show")
    assert told.code == 0
    options = orjson.loads(told.out)["options"]
    return {one["name"]: (one["value"], one["source"], one["scopes"]) for one in options}


async def _a_day(cli: CommandLine) -> None:
    """Let the server of the folder live a day, which is what `dream serve` runs."""
    clock = ManualClock(datetime.now(UTC))
    builder = AgentHostBuilder(cli.data, clock=clock).following(None).with_memory().with_dreaming()
    async with builder.build() as host:
        for _ in range(24 * 12):
            clock.advance(timedelta(minutes=5))
            for _ in range(20):
                await asyncio.sleep(0.002)
        assert await host.storage.scopes() == [Scope("home", one, "ana") for one in ("mia", "rex", "tom")]


_IDLE = SETTINGS.replace('kind = "daily", at = "03:00"', 'kind = "idle", after = "1m"').replace('"2h"', '"1m"')
SOON = f'{_IDLE}\n[llm]\nmodel = "base"\n'


@pytest.mark.slow
def test_a_served_folder_asks_the_model_of_each_personality_in_its_own_time(cli: CommandLine):
    cli.make_folder()
    (cli.data / "agentcore.toml").write_text(SOON, "utf-8")
    for name in ("rex", "mia", "tom"):
        for text in ("Ana likes green tea.", "Ana drinks green tea every morning.", "Ana has a dog."):
            cli.good("--scope", f"home/{name}/ana", "remember", text)
    told, models = asyncio.run(_served(cli))
    assert told.strip()
    assert models == {"small", "large"}
    runs = {name: cli.json("--scope", f"home/{name}/ana", "runs")["runs"] for name in ("rex", "mia", "tom")}
    assert {name: {one["trigger"] for one in found} for name, found in runs.items()} == {
        "rex": {"idle"},
        "mia": {"idle"},
        "tom": set(),
    }
    assert {name: _shown(cli, name)["schedule.enabled"][:2] for name in runs} == {
        "rex": (True, "default"),
        "mia": (True, "default"),
        "tom": (False, "toml"),
    }
    assert sorted(one.name for one in (cli.data / "notes").iterdir()) == ["mia", "rex", "tom"]


async def _served(cli: CommandLine) -> tuple[str, set[str]]:
    """Run `dream serve --no-http` until both models were asked and their dreams are over, then end it by SIGTERM."""
    async with ChatServer(repeat("{}")) as model:
        environment = {**os.environ, "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "none"}
        words = [sys.executable, "-m", "dream", "--data", str(cli.data), "serve", "--no-http"]
        server = await asyncio.create_subprocess_exec(*words, env=environment, stdout=subprocess.PIPE)
        assert server.stdout is not None
        told = (await asyncio.wait_for(server.stdout.readline(), 60)).decode()
        for _ in range(120):
            asked = {one.model for one in model.requests}
            if asked == {"small", "large"} and await _are_over(cli):
                break
            await asyncio.sleep(1)
        server.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(server.wait(), 60) == 0
        return told, {one.model for one in model.requests}


async def _are_over(cli: CommandLine) -> bool:
    words = [sys.executable, "-m", "dream", "--data", str(cli.data), "--json", "scopes"]
    shown = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    out, _ = await shown.communicate()
    return out.count(b'"last_dream_at":"') == 2
