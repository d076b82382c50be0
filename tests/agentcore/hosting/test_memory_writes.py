import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.domain import SourceKind, SourceRef
from agentcore.hosting import MemoryOptions
from agentcore.stores import UnitOfWork

_BEN = Scope("acme", "agent", "ben")
_REMEMBER_UNTIL_KILLED = textwrap.dedent("""
    import asyncio, sys
    from agentcore import AgentHostBuilder

    async def main(folder):
        async with AgentHostBuilder(folder).with_memory().build() as host:
            async def remember(number):
                entry = await host.memory.remember(f"Visitor {number} came to house {7 * number}")
                print(entry.id, flush=True)

            for first in range(0, 1_000_000, 100):
                await asyncio.gather(*(remember(first + more) for more in range(100)))

    asyncio.run(main(sys.argv[1]))
""")


@pytest.fixture
async def host(tmp_path: Path):
    async with AgentHostBuilder(tmp_path).with_memory().build() as running:
        yield running


async def revision(host: Host) -> int:
    return await host.storage.read(host.memory.scope, lambda view: view.revision)


class Held:
    """A write that keeps the storage busy until it is let go."""

    def __init__(self, host: Host) -> None:
        self._begun, self._ended = Event(), Event()
        self._writing = asyncio.create_task(host.storage.write(_BEN, self._wait))

    async def begin(self) -> "Held":
        await asyncio.to_thread(self._begun.wait)
        return self

    def _wait(self, _: UnitOfWork) -> None:
        self._begun.set()
        self._ended.wait()

    async def let_go(self) -> None:
        self._ended.set()
        await self._writing


async def test_what_many_remember_at_once_is_in_few_transactions_and_in_their_order(host: Host):
    texts = [f"Visitor {number} came to house {7 * number}" for number in range(400)]
    entries = await asyncio.gather(*map(host.memory.remember, texts))
    assert [entry.content for entry in entries] == texts
    assert await revision(host) <= 4
    found = await host.storage.read(
        host.memory.scope, lambda view: view.entries.material(after=0, also=frozenset(), limit=1_000)
    )
    assert [item.id for item in found] == [entry.id for entry in entries]


async def test_repeats_among_them_reinforce_and_each_keeps_its_own_particulars(host: Host):
    tea, again, rain = await asyncio.gather(
        host.memory.remember("Ana likes tea", tags=["drink"]),
        host.memory.remember("ana likes tea.", tags=["taste"]),
        host.memory.remember("It rains", category="weather", pinned=True),
    )
    assert (again.id, again.own_count, again.tags) == (tea.id, 2, ("drink", "taste"))
    assert (rain.category, rain.pinned, rain.tags) == ("weather", True, ())


async def test_scopes_that_remember_at_once_keep_their_own(host: Host):
    mine, others = host.memory, host.for_scope(_BEN).memory
    texts = [f"Visitor {number} came" for number in range(50)]
    await asyncio.gather(*(memory.remember(text) for text in texts for memory in (mine, others)))
    assert (await mine.count(), await others.count()) == (50, 50)


async def test_who_alone_is_refused_gets_the_error_and_the_others_are_remembered(host: Host):
    broken = SourceRef(SourceKind.DOCUMENT, "\ud800")
    answers = await asyncio.gather(
        host.memory.remember("Ana likes tea"),
        host.memory.remember("No database can hold this source", sources=[broken]),
        host.memory.remember("It rains"),
        return_exceptions=True,
    )
    assert [isinstance(answer, BaseException) for answer in answers] == [False, True, False]
    assert {entry.content for entry in await host.memory.list()} == {"Ana likes tea", "It rains"}


async def test_who_is_cancelled_before_the_turn_came_leaves_nothing(host: Host):
    held = await Held(host).begin()
    first = asyncio.create_task(host.memory.remember("Ana likes tea"))
    await asyncio.sleep(0.01)
    later = [asyncio.create_task(host.memory.remember(text)) for text in ("It rains", "It snows")]
    await asyncio.sleep(0.01)
    later[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await later[0]
    await held.let_go()
    await asyncio.gather(first, later[1])
    assert {entry.content for entry in await host.memory.list()} == {"Ana likes tea", "It snows"}


async def test_who_is_cancelled_while_it_is_written_learns_it_when_that_is_over(host: Host):
    texts = [f"Visitor {number} came" for number in range(200)]
    alone, *others = [asyncio.create_task(host.memory.remember(text)) for text in texts]
    await alone
    # The group of the others is under way now.
    await asyncio.sleep(0.001)
    others[0].cancel()
    answers = await asyncio.gather(*others, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert not any(isinstance(answer, BaseException) for answer in answers[1:])
    assert await host.memory.count() in {199, 200}


async def test_a_host_that_stops_writes_what_was_to_be_remembered(tmp_path: Path):
    async with AgentHostBuilder(tmp_path).with_memory().build() as host:
        remembering = [asyncio.create_task(host.memory.remember(f"Visitor {number} came")) for number in range(600)]
        await asyncio.sleep(0)
    assert len({entry.id for entry in await asyncio.gather(*remembering)}) == 600
    async with AgentHostBuilder(tmp_path).with_memory().build() as host:
        assert await host.memory.count() == 600


@pytest.mark.parametrize("told", [1, 150, 420])
async def test_what_was_returned_survives_a_kill(tmp_path: Path, told: int):
    command = [sys.executable, "-c", _REMEMBER_UNTIL_KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ids = [process.stdout.readline().strip() for _ in range(told)]
        process.send_signal(signal.SIGKILL)
        ids += [line.strip() for line in process.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    async with AgentHostBuilder(tmp_path).with_memory().build() as host:
        known = await host.storage.read(host.memory.scope, lambda view: view.entries.existing(ids))
    assert len(ids) >= told
    assert known == set(ids)


@pytest.mark.parametrize(("told", "level"), [("normal", 1), ("full", 2)])
async def test_writes_reach_the_disk_as_the_options_say(tmp_path: Path, told: str, level: int):
    options = MemoryOptions.model_validate({"synchronous": told})
    async with AgentHostBuilder(tmp_path).with_memory(options).build() as host:
        await host.memory.remember("Ana likes tea")

        def asked(unit: Any) -> int:
            return unit.transaction.connection.exec_driver_sql("PRAGMA synchronous").scalar_one()

        assert await host.storage.write(host.memory.scope, asked) == level
