"""A dream whose database goes away, or whose server has no room: it goes on, and nothing is paid for twice."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.clock import SystemClock
from agentcore.domain import EntryFilter, MemoryEntry
from agentcore.errors import StorageUnavailableError, StorageUnreachableError
from agentcore.llm import ChatRequest
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ScriptedChatClient
from agentcore.testing.contracts.samples import an_entry
from dream.domain import Outcome, PassMode, RunReport
from dream.options import ConsolidationOptions, DreamOptions
from tests.postgres_server import Server, user

NOTHING = '{"toDelete": [], "toSave": []}'
ALONE = {"*": PassMode.OFF, "memory-consolidation": PassMode.APPLY}


@asynccontextmanager
async def opened(url: str, replies: Any, *, patience: float = 0.2, **options: Any) -> AsyncGenerator[Host]:
    """A host that does not wait long for its database."""
    storage = SqlStorage(url, clock=SystemClock(), busy_timeout=timedelta(seconds=patience))
    builder = AgentHostBuilder(None).with_storage(storage).with_memory()
    builder.with_llm(ScriptedChatClient(replies)).with_dreaming(DreamOptions(**options), in_background=False)
    async with builder.build() as host:
        yield host


async def remember(host: Host, *texts: str) -> None:
    for text in texts:
        await host.memory.remember(text)


async def test_an_answer_that_comes_while_the_database_is_away_is_kept_and_the_dream_goes_on(
    own_server: Server, caplog: pytest.LogCaptureFixture
):
    starts: list[asyncio.Task[None]] = []

    async def restarted() -> None:
        while not any(one.getMessage() == "answer_kept" for one in caplog.records):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(own_server.start)

    async def answer(_: ChatRequest) -> str:
        await asyncio.to_thread(own_server.stop)
        starts.append(asyncio.create_task(restarted()))
        return NOTHING

    async with opened(own_server.database("kept"), [answer], modes=ALONE) as host:
        await remember(host, "Ana likes tea.", "Ana likes green tea.")
        report = await host.dreams.run()
        await asyncio.gather(*starts)
        assert (report.outcome, calls(report), report.resumed) == (Outcome.COMPLETED, 1, False)
        assert calls(await host.dreams.run()) == 0


async def test_a_dream_that_is_broken_off_stores_what_is_still_answered_and_the_next_one_asks_nothing_again(
    own_server: Server,
):
    url = own_server.database("broken_off")
    with own_server.connect("broken_off") as connection:
        both = asyncio.Barrier(2)

        async def first(_: ChatRequest) -> str:
            connection.execute("BEGIN; LOCK TABLE agentcore.steps")
            await both.wait()
            return NOTHING

        async def second(_: ChatRequest) -> str:
            await both.wait()
            waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'agentcore.steps'::regclass"
            while connection.execute(waits).fetchone() == (0,):  # the first answer is stored then, and its step waits
                await asyncio.sleep(0.02)
            await asyncio.to_thread(own_server.stop)
            await asyncio.sleep(0.6)  # longer than a step waits for it
            await asyncio.to_thread(own_server.start)
            return NOTHING

        batches = ConsolidationOptions(batch_entries=2)
        async with opened(url, [first, second], patience=0, modes=ALONE, consolidation=batches) as host:
            await remember(host, "Ana likes tea.", "Ana likes green tea.", "Ben plays chess.", "Ben plays fast chess.")
            with pytest.raises(StorageUnreachableError):
                await host.dreams.run()
            report = await host.dreams.run()
            assert (report.outcome, report.resumed, calls(report)) == (Outcome.COMPLETED, True, 2)


@pytest.fixture
def small_disk(own_server: Server) -> Iterator[Path]:
    """A disk of the server with room for one database."""
    folder = own_server.folder / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(folder)]
    if os.getuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may make a small disk")
    (folder / "data").mkdir()
    shutil.chown(folder / "data", user() or "root")
    yield folder
    with own_server.connect() as connection:
        connection.execute("DROP DATABASE cramped WITH (FORCE)")
        connection.execute("DROP TABLESPACE small")
    subprocess.run(["umount", str(folder)], check=True)


async def test_a_server_whose_disk_is_full_is_told_in_one_sentence_and_the_dream_goes_on_when_there_is_room(
    own_server: Server, small_disk: Path
):
    with own_server.connect() as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{small_disk / 'data'}'")
        connection.execute("CREATE DATABASE cramped TABLESPACE small STRATEGY file_copy")
    folding = {"*": PassMode.OFF, "exact-fold": PassMode.APPLY}
    async with opened(own_server.url("cramped"), [], modes=folding) as host:
        told = [f"Fact {number % 300}: {'about tea ' * 20}" for number in range(600)]
        entries = [an_entry(f"e{number}", content=text, scope=Scope.default()) for number, text in enumerate(told)]
        await host.storage.write(Scope.default(), lambda unit: unit.entries.add(entries))
        before = await stored(host)
        (small_disk / "filler").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        with pytest.raises(StorageUnavailableError, match="cannot grow because the server's disk is full: free some"):
            await host.dreams.run()
        assert await stored(host) == before
        (small_disk / "filler").unlink()
        report = await host.dreams.run()
        assert (report.outcome, report.changes) == (Outcome.COMPLETED, 600)


def calls(report: RunReport) -> int:
    return sum(one.calls for one in report.passes)


async def stored(host: Host) -> list[MemoryEntry]:
    return await host.storage.read(Scope.default(), lambda view: view.entries.select(EntryFilter()))
