import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agentcore import AgentHostBuilder, Decay, Scope
from agentcore.clock import SystemClock
from agentcore.domain import Capability, MemoryEntry
from agentcore.errors import InvalidInputError, InvalidOptionsError, ServiceMissingError
from agentcore.hosting import AlreadyBuiltError, MemoryOptions, SkillOptions
from agentcore.ids import RandomIds
from agentcore.llm import ChatOptions, EndpointUse, OpenAIChatClient
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock, ScriptedChatClient, SequentialIds
from dream import DreamOptions

NOON = datetime(2025, 6, 14, 12, tzinfo=UTC)


def refused(builder: AgentHostBuilder):
    with pytest.raises(InvalidInputError) as refusal:
        builder.build()
    return str(refusal.value)


def test_a_host_has_the_services_it_was_built_with():
    built = AgentHostBuilder(None).with_memory().with_skills().with_conversation_log().with_feedback().with_wisps()
    host = built.with_tool_calls().with_llm(ScriptedChatClient([])).build()
    assert host.capabilities == frozenset(Capability) - {Capability.WORKSPACE}
    for service in (host.memory, host.skills, host.conversation, host.feedback, host.wisps, host.tool_calls):
        assert service.scope == Scope.default()


@pytest.mark.parametrize(
    ("service", "sentence"),
    [
        ("memory", "This host has no memory: add .with_memory() to its AgentHostBuilder."),
        ("conversation", "This host has no conversation log: add .with_conversation_log() to its AgentHostBuilder."),
        ("skills", "This host has no skills: add .with_skills() to its AgentHostBuilder."),
        ("feedback", "This host has no feedback log: add .with_feedback() to its AgentHostBuilder."),
        ("wisps", "This host has no wisp log: add .with_wisps() to its AgentHostBuilder."),
        ("tool_calls", "This host has no log of tool calls: add .with_tool_calls() to its AgentHostBuilder."),
        ("dreams", "This host has no dreams: add .with_dreaming() to its AgentHostBuilder."),
    ],
)
def test_a_service_it_was_built_without_is_missing_by_name_in_every_scope(service: str, sentence: str):
    host = AgentHostBuilder(None).build()
    for bound in (host, host.for_scope(Scope.parse("a/b/c"))):
        with pytest.raises(ServiceMissingError) as missing:
            getattr(bound, service)
        assert str(missing.value) == sentence
    assert host.capabilities == frozenset()


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize("nowhere", [None, ":memory:"])
async def test_without_a_folder_nothing_is_written_to_disk(
    nowhere: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    async with AgentHostBuilder(nowhere).with_memory().build() as host:
        await host.memory.remember("Ana likes tea")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("kind", [str, lambda path: path])
async def test_the_folder_is_made_when_the_host_starts(kind: Any, tmp_path: Path):
    folder = tmp_path / "deep" / "agent-data"
    host = AgentHostBuilder(kind(folder)).with_memory().build()
    assert not folder.exists()
    async with host:
        assert folder.is_dir()


@pytest.mark.parametrize("named", [None, "memory"])
def test_what_is_plugged_in_knows_the_folder(named: str | None, tmp_path: Path):
    folder = tmp_path / named if named else None
    assert AgentHostBuilder(folder).build()._parts.data_dir == folder


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "agent-data").write_text("a file")
    assert "data_dir" in refused(AgentHostBuilder("~/agent-data"))


@pytest.mark.parametrize("folder", ["", "  ", 7, b"data"])
def test_a_folder_without_a_name_is_refused(folder: Any):
    assert refused(AgentHostBuilder(folder)) == (
        f"Option data_dir = {folder!r} is not possible: name a folder, or give None to keep everything in memory."
    )


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path):
    (tmp_path / "data").write_text("a file")
    assert "it is a file; name a folder" in refused(AgentHostBuilder(tmp_path / "data"))


async def test_options_are_given_whole_or_as_a_function():
    whole = AgentHostBuilder(None, clock=ManualClock(NOON)).with_memory(MemoryOptions(half_life=timedelta(days=10)))
    function = AgentHostBuilder(None, clock=ManualClock(NOON)).with_memory(
        lambda options: options.replace(half_life=timedelta(days=10))
    )
    for builder in (whole, function):
        async with builder.build() as host:
            entry = await host.memory.remember("tea", importance=0.8, occurred_at=NOON - timedelta(days=40))
            assert entry.importance == pytest.approx(0.4)


async def test_a_second_call_goes_on_from_the_first():
    builder = AgentHostBuilder(None, clock=ManualClock(NOON)).with_memory(lambda o: o.replace(grace=timedelta(0)))
    builder.with_memory(lambda o: o.replace(half_life=timedelta(days=10))).with_memory()
    async with builder.build() as host:
        entry = await host.memory.remember("tea", importance=0.8, occurred_at=NOON - timedelta(days=10))
        assert entry.importance == pytest.approx(0.4)


def test_nothing_is_checked_before_build():
    AgentHostBuilder("").with_memory(lambda options: options.replace(floor=7)).with_skills({})


def test_bad_options_are_refused_with_their_sentence():
    builder = AgentHostBuilder(None).with_memory(lambda options: options.replace(floor=7))
    assert refused(builder) == "Option floor = 7.0 is not possible: give a number from 0 to 1."


@pytest.mark.parametrize(
    ("options", "value"),
    [({"floor": 0.2}, "{'floor': 0.2}"), (lambda _: None, "None"), (SkillOptions(), "SkillOptions(trust=")],
)
def test_what_are_no_options_of_the_service_is_refused(options: Any, value: str):
    sentence = refused(AgentHostBuilder(None).with_memory(options))
    assert sentence.startswith(f"Option memory = {value}")
    assert "give MemoryOptions, or a function of them" in sentence


def test_after_a_refusal_later_functions_of_the_same_options_are_not_asked():
    builder = AgentHostBuilder(None).with_memory({"floor": 0.2}).with_memory(lambda options: options.replace(k1=2.0))
    assert refused(builder).startswith("Option memory = {'floor': 0.2}")


def test_every_function_that_returns_nothing_is_told():
    builder = AgentHostBuilder(None).with_memory(lambda _: None).with_skills(lambda _: None)
    with pytest.raises(ExceptionGroup) as refusals:
        builder.build()
    assert [str(error).split(" is ")[0] for error in refusals.value.exceptions] == [
        "Option memory = None",
        "Option skills = None",
    ]


def test_an_error_of_the_configuring_function_itself_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        AgentHostBuilder(None).with_memory(lambda _: 1 / 0).build()
    with pytest.raises(ExceptionGroup, match="mine"):
        AgentHostBuilder(None).with_memory(raising_a_group).build()


def raising_a_group(_: Any):
    raise ExceptionGroup("mine", [InvalidOptionsError(field="x", value=1, allowed="y"), KeyError("z")])


def test_everything_that_is_wrong_is_told_at_once():
    builder = AgentHostBuilder("", ids="x").with_memory(lambda options: options.replace(k1="x", b="y"))
    builder.with_skills({}).with_llm("gpt").with_service(object()).with_dreaming(lambda o: o.replace(step_size=0))
    with pytest.raises(ExceptionGroup) as refusals:
        builder.build()
    told = sorted(str(error).split(" = ")[0].removeprefix("Option ") for error in refusals.value.exceptions)
    assert told == [
        "data_dir",
        "dreaming.step_size",
        "ids",
        "memory.b",
        "memory.k1",
        "skills",
        "with_llm",
        "with_service",
    ]


@pytest.mark.parametrize(
    ("builder", "sentence"),
    [
        (AgentHostBuilder(None, clock=NOON), "give an object with the methods now, sleep"),
        (AgentHostBuilder(None).with_storage(7), "give an object with the methods start, stop, read, write"),
        (AgentHostBuilder(None, shutdown_timeout=timedelta(0)), "give a duration longer than zero"),
    ],
)
def test_a_part_that_cannot_do_its_work_is_refused(builder: AgentHostBuilder, sentence: str):
    assert sentence in refused(builder)


def test_a_refused_builder_is_not_used_up():
    builder = AgentHostBuilder(None).with_memory({"floor": 0.2})
    assert refused(builder) == refused(builder.with_skills())


def test_a_builder_builds_one_host():
    builder = AgentHostBuilder(None).with_memory()
    builder.build()
    for again in (builder.build, builder.with_skills, lambda: builder.with_service(SystemClock())):
        with pytest.raises(AlreadyBuiltError, match="builds only one: make a new AgentHostBuilder"):
            again()


async def test_a_storage_of_the_hosts_own_is_opened_used_and_closed(tmp_path: Path):
    storage = SqlStorage(tmp_path / "own.db", clock=ManualClock(NOON), decay=Decay(grace=timedelta(0)))
    host = AgentHostBuilder(None, clock=ManualClock(NOON)).with_storage(storage).with_memory().build()
    async with host:
        assert host.storage is storage
        entry = await host.memory.remember("tea", importance=0.8, occurred_at=NOON - timedelta(days=45))
        assert entry.importance == pytest.approx(0.4)
        (hit,) = await host.memory.recall("tea")
        assert hit.entry == entry
    assert (tmp_path / "own.db").exists()


def test_a_storage_of_the_hosts_own_decides_how_importance_fades(tmp_path: Path):
    storage = SqlStorage(tmp_path / "own.db", clock=ManualClock(NOON))
    AgentHostBuilder(None).with_storage(storage).with_memory(MemoryOptions(k1=1.5)).build()
    sentence = refused(AgentHostBuilder(None).with_storage(storage).with_memory(MemoryOptions(floor=0.2)))
    assert "a storage of your own decides how importance fades" in sentence


def test_dreams_come_with_their_options_checked():
    host = AgentHostBuilder(None).with_memory().with_dreaming(DreamOptions(step_size=7)).build()
    assert host.dreams.scope == Scope.default()
    assert host.for_scope(Scope.parse("a/b/c")).dreams.scope == Scope.parse("a/b/c")
    assert "no-such-pass" in refused(AgentHostBuilder(None).with_dreaming(DreamOptions(modes={"no-such-pass": "off"})))
    assert "give DreamOptions" in refused(AgentHostBuilder(None).with_dreaming(lambda _: None))


async def test_ids_and_instants_come_from_what_the_builder_was_given():
    builder = AgentHostBuilder(None, clock=ManualClock(NOON), ids=SequentialIds("mine")).with_memory()
    async with builder.build() as host:
        entry = await host.memory.remember("tea")
        assert (entry.id, entry.created_at, host.clock.now()) == ("mine-000001", NOON, NOON)


@pytest.mark.parametrize("source", [None, True, "busy"])
def test_a_busy_source_that_cannot_be_called_is_refused(source: Any):
    assert refused(AgentHostBuilder(None).with_busy_source(source)) == (
        f"Option with_busy_source = {source!r} is not possible: give a function without parameters."
    )


async def test_a_busy_source_keeps_the_dreams_of_its_host_waiting():
    asked: list[str] = []
    is_busy = True

    def lamp() -> bool:
        asked.append("lamp")
        return is_busy

    async def phone() -> bool:
        asked.append("phone")
        return False

    clock = ManualClock(NOON)
    built = AgentHostBuilder(None, clock=clock).with_memory().with_dreaming().with_busy_source(lamp)
    async with built.with_busy_source(phone).build() as host:
        for _ in range(2):
            await host.storage.write(
                host.memory.scope, lambda unit: unit.entries.add([memory_of("Ana likes tea", host.memory.scope)])
            )
        assert asked == []
        dreaming = asyncio.create_task(host.dreams.run())
        async with asyncio.timeout(30):
            while len(asked) < 2:
                await asyncio.sleep(0.01)
        await asyncio.wait([dreaming], timeout=0.05)
        assert not dreaming.done()
        assert sorted(asked) == ["lamp", "phone"]
        is_busy = False
        for _ in range(100):
            clock.advance(timedelta(seconds=1))
            await asyncio.wait([dreaming], timeout=0.02)
            if dreaming.done():
                break
        assert (await dreaming).changes == 2


def memory_of(content: str, scope: Scope) -> MemoryEntry:
    said = {"created_at": NOON, "recorded_at": NOON, "last_seen_at": NOON}
    return MemoryEntry(id=RandomIds().new(), scope=scope, content=content, **said)


async def test_two_hosts_on_one_folder_tell_each_other_that_they_serve_people(tmp_path: Path):
    async with AgentHostBuilder(tmp_path).build() as host, AgentHostBuilder(tmp_path).build() as other:
        async with host.gate.foreground(), other.gate.foreground():
            for _ in range(200):
                found = await host.storage.read(Scope.default(), lambda view: view.busy.holders())
                if len(found) == 2:
                    break
                await asyncio.sleep(0.01)
        assert len({one.holder for one in found}) == 2
        assert {one.pid for one in found} == {os.getpid()}
    async with AgentHostBuilder(tmp_path).build() as host:
        assert await host.storage.read(Scope.default(), lambda view: view.busy.holders()) == []


@pytest.mark.parametrize(
    ("client", "is_shared"),
    [
        (None, False),
        (ScriptedChatClient([]), False),
        (ChatOptions(model="tiny"), False),
        (ChatOptions(model="tiny", endpoint=EndpointUse.SHARED), True),
        (OpenAIChatClient(ChatOptions(model="tiny", endpoint=EndpointUse.SHARED)), True),
        (OpenAIChatClient(ChatOptions(model="tiny")), False),
    ],
    ids=["none", "own", "options", "shared options", "shared client", "client"],
)
def test_dreams_know_whether_the_model_works_for_people_too(client: Any, is_shared: bool):
    builder = AgentHostBuilder(None)
    host = (builder if client is None else builder.with_llm(client)).build()
    assert host._parts.shares_endpoint is is_shared
