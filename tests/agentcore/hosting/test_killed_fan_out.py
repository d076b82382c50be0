"""A process killed while observers follow what is said leaves nothing out, and does nothing twice."""

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from peering import Company, scope_of
from talking_peers import OBSERVERS

from agentcore import AgentHostBuilder

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("AGENTCORE_KILLS", "5"))
SCRIPT = Path(__file__).with_name("talking_peers.py")


def killed(folder: Path, chance: random.Random) -> None:
    """Have a process talk, and kill it at some instant."""
    with subprocess.Popen([sys.executable, str(SCRIPT), str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "learnt\n"
        time.sleep(chance.uniform(0.0, 1.5))
        process.kill()


async def test_what_a_kill_cut_short_is_made_up_for_once(tmp_path: Path):
    chance = random.Random(21)
    seen = 0
    for _ in range(KILLS):
        await asyncio.to_thread(killed, tmp_path, chance)
        made = AgentHostBuilder(tmp_path).with_memory().with_conversation_log().with_dreaming()
        async with made.build() as host:
            company = Company(host)
            await company.fan_out.catch_up()
            own = await company.knows("ana", "ana")
            said = await company.heard("ana", "ana")
            told = await host.for_scope(scope_of("ana", "ana")).memory.list(limit=1_000)
            counts = {entry.content: entry.own_count for entry in told}
            for observer in OBSERVERS:
                assert await company.knows(observer, "ana") == own
                assert await company.heard(observer, "ana") == said
                copies = await host.for_scope(scope_of(observer, "ana")).memory.list(status=None, limit=1_000)
                assert all(entry.own_count == counts[entry.content] for entry in copies)
                assert len({entry.content for entry in copies}) == len(copies)
        seen = max(seen, len(own))
    assert seen > 0
