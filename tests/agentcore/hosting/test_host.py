import asyncio

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.errors import HostNotStartedError
from agentcore.hosting import NotRestartableError

ANA = Scope("acme", "agent", "ana")


def full():
    return (
        AgentHostBuilder(None)
        .with_memory()
        .with_skills()
        .with_conversation_log()
        .with_feedback()
        .with_wisps()
        .with_tool_calls()
    )


class Noted:
    """A service that notes what the host's memory can do when it starts and stops."""

    def __init__(self, name: str, notes: list[str]) -> None:
        self.name = name
        self.notes = notes
        self.host = None

    async def start(self):
        self.notes.append(f"{self.name} starts with {await self.host.memory.count()}")

    async def stop(self):
        self.notes.append(f"{self.name} stops with {await self.host.memory.count()}")


CALLS = {
    "memory.remember": lambda host: host.memory.remember("tea"),
    "memory.recall": lambda host: host.memory.recall("tea"),
    "memory.count": lambda host: host.memory.count(),
    "skills.list": lambda host: host.skills.list(),
    "conversation.append": lambda host: host.conversation.append(session_id="s", role="user", content="Hi"),
    "feedback.newest": lambda host: host.feedback.newest(),
    "wisps.newest": lambda host: host.wisps.newest(),
    "tool_calls.newest": lambda host: host.tool_calls.newest(),
}


@pytest.mark.parametrize("name", CALLS)
async def test_a_service_works_only_inside_the_hosts_block(name: str):
    host = full().build()
    for _ in range(2):
        for bound in (host, host.for_scope(ANA)):
            with pytest.raises(HostNotStartedError, match="use it inside `async with host:`"):
                await CALLS[name](bound)
        if host.state == "created":
            async with host:
                await CALLS[name](host)


async def test_a_service_fetched_before_the_block_works_inside_it():
    host = full().build()
    memory = host.memory
    async with host:
        await memory.remember("tea")
        assert await host.memory.count() == 1


async def test_a_host_lives_once():
    host = full().build()
    async with host as entered:
        assert entered is host
        assert isinstance(entered, Host)
    with pytest.raises(NotRestartableError):
        await host.__aenter__()


async def test_own_services_start_after_the_storage_and_stop_before_it():
    notes = []
    services = [Noted("one", notes), Noted("two", notes)]
    builder = full()
    for service in services:
        builder.with_service(service)
    host = builder.build()
    for service in services:
        service.host = host
    async with host:
        await host.memory.remember("tea")
    assert notes == ["one starts with 0", "two starts with 0", "two stops with 1", "one stops with 1"]


async def test_a_service_that_fails_to_start_closes_what_was_open():
    class Broken:
        async def start(self) -> None:
            raise OSError("no network")

        async def stop(self) -> None:
            raise AssertionError("never started")

    host = full().with_service(Broken()).build()
    with pytest.raises(OSError, match="no network"):
        async with host:
            raise AssertionError("never entered")
    with pytest.raises(HostNotStartedError):
        await host.memory.count()


async def test_a_persons_turn_keeps_the_gate_busy():
    async with full().build() as host:
        async with host.gate.foreground():
            assert host.gate.is_busy
        assert not host.gate.is_busy


async def test_services_of_two_scopes_work_side_by_side():
    async with full().build() as host:
        scopes = [Scope("acme", "agent", f"user-{number}") for number in range(8)]
        async with asyncio.TaskGroup() as group:
            for number, scope in enumerate(scopes):
                group.create_task(host.for_scope(scope).memory.remember_many([f"tea {n}" for n in range(number)]))
        counts = [await host.for_scope(scope).memory.count() for scope in scopes]
        assert counts == list(range(8))
        assert await host.memory.count() == 0


def test_services_of_a_scope_are_made_once_per_binding():
    host = full().build()
    bound = host.for_scope(ANA)
    assert bound.memory is bound.memory
    assert host.memory is host.memory
    assert (bound.scope, bound.memory.scope) == (ANA, ANA)
