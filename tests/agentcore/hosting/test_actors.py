"""Every write carries who asked for it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentcore import Actor, ActorKind, AgentHostBuilder, Host, acting_as
from agentcore.domain import RecordKind
from agentcore.errors import InvalidContentError

_ANA = Actor(ActorKind.PERSON, "ana")
_LAPTOP = Actor(ActorKind.TOKEN, "laptop")


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    async with AgentHostBuilder(tmp_path).with_memory().with_skills().build() as running:
        yield running


async def writers(host: Host, record_id: str, kind: RecordKind = RecordKind.ENTRY) -> list[tuple[str, str, int]]:
    found = await host.storage.read(host.memory.scope, lambda view: view.authorship.of_record(kind, record_id))
    return [(write.actor, write.action.value, write.times) for write in found]


async def test_what_nobody_else_asked_for_is_the_hosts(host: Host):
    entry = await host.memory.remember("Ana likes tea")
    assert await writers(host, entry.id) == [("host", "added", 1)]


async def test_each_sort_of_write_names_its_actor_and_is_counted(host: Host):
    with acting_as(_LAPTOP):
        entry = await host.memory.remember("Ana likes tea")
    for _ in range(3):
        await host.memory.remember("Ana likes tea.")
    with acting_as(_ANA):
        await host.memory.update(entry.id, content="Ana likes green tea")
        await host.memory.archive(entry.id, reason="no longer")
    assert sorted(await writers(host, entry.id)) == [
        ("host", "reinforced", 3),
        ("person:ana", "changed", 1),
        ("person:ana", "retired", 1),
        ("token:laptop", "added", 1),
    ]


async def test_who_remembers_at_once_keeps_their_own_name(host: Host):
    async def remember(number: int) -> str:
        with acting_as(Actor(ActorKind.TOKEN, f"client-{number}")):
            return (await host.memory.remember(f"House {number} has a garden")).id

    ids = await asyncio.gather(*map(remember, range(40)))
    for number, entry_id in enumerate(ids):
        assert await writers(host, entry_id) == [(f"token:client-{number}", "added", 1)]


async def test_a_tool_of_the_agent_writes_as_the_agent(host: Host):
    await host.tools().call("remember", {"content": "Ana likes tea"})
    (entry,) = await host.memory.list()
    assert await writers(host, entry.id) == [("agent", "added", 1)]


async def test_a_forgotten_entry_leaves_no_name_behind(host: Host):
    entry = await host.memory.remember("Ana likes tea")
    await host.memory.forget(entry.id)
    assert await writers(host, entry.id) == []


async def test_a_skill_names_who_wrote_it_and_not_who_used_it(host: Host):
    with acting_as(_ANA):
        skill = await host.skills.save("brew", summary="Brew tea", content="Boil water.")
    await host.skills.use(skill.name, session_id="s1")
    assert await writers(host, skill.id, RecordKind.SKILL) == [("person:ana", "added", 1)]


def test_the_name_of_an_actor_fits_on_one_line():
    for name in ("two\nlines", "x" * 129):
        with pytest.raises(InvalidContentError, match="128 printable"):
            Actor(ActorKind.TOKEN, name)
