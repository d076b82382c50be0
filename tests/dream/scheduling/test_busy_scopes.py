"""Whose turn holds back whose dreams: of two hosts on one database, and of one host with many scopes."""

import asyncio
from pathlib import Path

import pytest

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.llm import ChatOptions
from dream import DreamOptions
from dream.options import SchedulingOptions

ANA, BEN, EVA = Scope("acme", "agent", "ana"), Scope("acme", "agent", "ben"), Scope("other", "agent", "eva")


def a_host(data: Path, **schedule: str) -> AgentHostBuilder:
    options = DreamOptions(schedule=SchedulingOptions(**schedule))
    return AgentHostBuilder(data).with_memory().with_dreaming(options, in_background=False)


async def waits(host: Host, scope: Scope) -> bool:
    """Whether a dream of the scope waits for somebody; it is not waited for."""
    dream = asyncio.create_task(host.for_scope(scope).dreams.run())
    done, _ = await asyncio.wait({dream}, timeout=0.7)
    if done:
        return False
    dream.cancel()
    await asyncio.wait({dream})
    return True


async def gates(host: Host, scope: Scope) -> list[str]:
    return [gate.name.value for gate in (await host.for_scope(scope).dreams.explain()).waits_for]


async def until(host: Host, scope: Scope, *, held: bool) -> None:
    """Wait until a scope's dreams are held back, or no longer are."""
    async with asyncio.timeout(20):
        while await waits(host, scope) is not held:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("is_elsewhere", [True, False])
async def test_a_person_holds_back_their_own_dreams_alone(tmp_path: Path, is_elsewhere: bool):
    async with a_host(tmp_path).build() as here, a_host(tmp_path).build() as other:
        serving = other if is_elsewhere else here
        async with serving.gate.foreground(ANA):
            await until(here, ANA, held=True)
            assert [await waits(here, scope) for scope in (ANA, BEN, EVA)] == [True, False, False]
            assert ["busy" in await gates(here, scope) for scope in (ANA, BEN, EVA)] == [True, False, False]
        await until(here, ANA, held=False)


@pytest.mark.parametrize(("reach", "held"), [("scope", [ANA]), ("workspace", [ANA, BEN]), ("all", [ANA, BEN, EVA])])
async def test_how_far_a_turn_reaches_is_an_option(tmp_path: Path, reach: str, held: list[Scope]):
    async with (
        a_host(tmp_path, busy_reach=reach).build() as here,
        a_host(tmp_path).build() as other,
        other.gate.foreground(ANA),
    ):
        await asyncio.sleep(0.5)
        assert [scope for scope in (ANA, BEN, EVA) if await waits(here, scope)] == held


async def test_a_turn_that_does_not_say_whose_it_is_holds_back_all(tmp_path: Path):
    async with (
        a_host(tmp_path).build() as here,
        a_host(tmp_path).build() as other,
        other.gate.foreground(),
    ):
        await asyncio.sleep(0.5)
        assert [await waits(here, scope) for scope in (ANA, EVA)] == [True, True]


async def test_a_model_marked_as_shared_waits_for_everybody_whosever_turn_it_is(tmp_path: Path):
    shared = ChatOptions(model="tiny", base_url="http://127.0.0.1:9/v1", endpoint="shared")
    async with (
        a_host(tmp_path).with_llm(shared).build() as here,
        a_host(tmp_path).build() as other,
        other.gate.foreground(ANA),
    ):
        await asyncio.sleep(0.5)
        assert [await waits(here, scope) for scope in (ANA, BEN, EVA)] == [True, True, True]


async def test_a_message_that_waits_here_is_activity_of_its_own_scope_alone(tmp_path: Path):
    async with a_host(tmp_path, trigger={"kind": "idle"}).build() as host:
        for scope in (ANA, BEN):
            await host.for_scope(scope).memory.remember("Tea is green")
        with host.gate.pending(ANA):
            assert [host.gate.serving(scope) for scope in (ANA, BEN)] == [1, 0]
            assert "busy" in await gates(host, ANA)
            assert "busy" not in await gates(host, BEN)
