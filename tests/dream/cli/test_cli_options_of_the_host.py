"""The command goes by what a host's code says, and says so."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from commandline import CommandLine
from sqlalchemy import create_engine, update

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from agentcore.stores.sql.schema import hosts
from dream import DreamOptions
from dream.options import OwnPasses
from dream.passes.exact_fold import ExactFold

Configure = Callable[[AgentHostBuilder], AgentHostBuilder]


def lived(data: Path, configure: Configure) -> None:
    """Let a host live once on a folder."""
    asyncio.run(_lived(data, configure))


async def _lived(data: Path, configure: Configure) -> None:
    async with configure(AgentHostBuilder(data)).build() as host:
        for text in ("The contract ends in May.", "the contract ends in May"):
            await host.memory.remember(text, category="legal" if text.startswith("The") else "legal/copies")


def told(cli: CommandLine, name: str, *options: str, part: str = "options") -> tuple[Any, str]:
    found = cli("--json", *options, "config", "show").document[part]
    return next((one["value"], one["source"]) for one in found if one["name"] == name)


def examined(cli: CommandLine) -> dict[str, str]:
    return {one["subject"]: one["detail"] for one in cli("--json", "doctor").document["findings"]}


def legal(builder: AgentHostBuilder) -> AgentHostBuilder:
    builder.with_memory(lambda memory: memory.replace(half_life=timedelta(days=90)))
    builder.with_dreaming(DreamOptions(protected_categories=("legal",)), in_background=False)
    return builder.with_dreaming(DreamOptions(alarm_after=9), scope="acme/*/*")


def test_a_command_protects_what_the_code_of_the_host_protects(cli: CommandLine):
    lived(cli.data, legal)
    run = cli("run", "--pass", "exact-fold")
    assert run.code == 0
    assert "Goes by the options of the host that ran here last" in " ".join(run.err.split())
    (report,) = cli("--json", "runs").document["runs"]
    assert report["changes"] == 0
    ignored = cli("--options", "file", "--json", "run", "--pass", "exact-fold")
    assert ignored.err == ""


def test_who_said_what_is_told_and_the_file_alone_on_request(cli: CommandLine):
    lived(cli.data, legal)
    assert told(cli, "protected_categories") == (["legal"], "host")
    assert told(cli, "protected_categories", "--options", "file") == (["active-plans"], "default")
    assert told(cli, "memory.half_life", part="parts") == ("P90D", "host")
    assert told(cli, "alarm_after", "--scope", "acme/rex/ana") == (9, "host")
    assert told(cli, "alarm_after") == (3, "default")
    assert cli("--json", "config", "show").document["host"]["alive"] is False


def test_what_only_code_has_is_named(cli: CommandLine):
    class Own(ExactFold):
        name = "own"

    passes = OwnPasses().append(Own())
    lived(cli.data, lambda one: one.with_memory().with_dreaming(DreamOptions(passes=passes), in_background=False))
    told = " ".join(cli("status").err.split())
    assert "It cannot follow 1 thing that only its code has: dreaming.passes." in told


def test_a_host_whose_code_says_nothing_leaves_nothing_to_tell(cli: CommandLine):
    lived(cli.data, lambda one: one.with_memory().with_dreaming(in_background=False))
    assert cli("status").err == ""


def test_options_of_a_later_version_are_not_guessed(cli: CommandLine):
    lived(cli.data, legal)
    engine = create_engine(f"sqlite:///{cli.database}")
    with engine.begin() as connection:
        connection.execute(update(hosts).values(options=json.dumps({"version": 99})))
    engine.dispose()
    refused = cli("status")
    assert refused.code == 2
    assert "are of a later version: upgrade agentcore-dream, or give --options file" in refused.complaint
    assert cli("--options", "file", "status").code == 0


async def test_two_hosts_with_unequal_options_are_told_and_the_one_that_started_last_is_followed(
    cli: CommandLine, caplog: pytest.LogCaptureFixture
):
    first = legal(AgentHostBuilder(cli.data)).build()
    second = AgentHostBuilder(cli.data).with_memory().with_dreaming(DreamOptions(alarm_after=1), in_background=False)
    async with first, second.build() as later:
        assert "hosts_differ" in caplog.text
        await later.memory.remember("Ana likes tea.")
        findings = await asyncio.to_thread(examined, cli)
        assert "hosts with unequal options work here" in findings["hosts"]
        assert await asyncio.to_thread(told, cli, "alarm_after") == (1, "host")
        assert await asyncio.to_thread(told, cli, "protected_categories") == (["active-plans"], "default")
    assert [one async for one in _living(cli.data)] == []


async def _living(data: Path) -> Any:
    async with AgentHostBuilder(data).with_memory().following(None).build() as host:
        for one in await host.storage.read(Scope.default(), lambda view: view.hosts.newest()):
            if one.is_alive:
                yield one


def test_the_doctor_tells_everything_that_is_wrong_in_the_settings(cli: CommandLine):
    cli.data.mkdir()
    said = "[memory]\nfloor = 7\n[skills]\nnone = 1\n[dreaming]\nstep_size = 'x'\n"
    (cli.data / "agentcore.toml").write_text(said, "utf-8")
    told = examined(cli)["settings"]
    assert [word for word in ("floor", "none", "step_size") if word not in told] == []


def test_config_show_tells_the_workspace_that_the_narrowest_pattern_gives(cli: CommandLine):
    cli.make_folder()
    of_scopes = '[scopes."acme/*/*"]\nworkspace = "wide"\n[scopes."acme/rex/*"]\nworkspace = "narrow"\n'
    said = f'workspace = "notes/{{observer}}"\n{of_scopes}'
    (cli.data / "agentcore.toml").write_text(said, "utf-8")

    def shown(scope: str) -> tuple[object, object]:
        parts = cli.json("--scope", scope, "config", "show")["parts"]
        return next((one["value"], one["scopes"]) for one in parts if one["name"] == "workspace.folder")

    assert [shown(one) for one in ("acme/rex/ana", "acme/mia/ana", "home/mia/ana")] == [
        ("narrow", "acme/rex/*"),
        ("wide", "acme/*/*"),
        ("notes/{observer}", None),
    ]


def test_the_doctor_names_a_table_that_nobody_reads(cli: CommandLine):
    cli.data.mkdir()
    (cli.data / "agentcore.toml").write_text("[memori]\nfloor = 0.2\n", "utf-8")
    assert cli("doctor").code == 1
    assert "there is no table [memori]; write [memory]" in examined(cli)["settings"]


def test_what_the_file_makes_void_of_an_admins_edits_is_told_by_the_command_and_the_doctor(cli: CommandLine):
    async def edited() -> None:
        builder = AgentHostBuilder(cli.data).with_memory().with_dreaming(in_background=False)
        async with builder.build() as host:
            await host.dreams.option_edits.edit({"alarm_after": 5, "schedule.trigger.min_new": 3})

    file = cli.data / "agentcore.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[scopes."*/*/*".dreaming]\npreset = "peer"\n')
    asyncio.run(edited())
    assert told(cli, "schedule.trigger.min_new") == (3, "admin")
    file.write_text("")
    shown = cli("config", "show")
    assert "What an admin said of schedule.trigger.min_new is left out" in " ".join(shown.err.split())
    assert told(cli, "alarm_after") == (5, "admin")
    assert examined(cli)["edits"].startswith("left out of default/agent/agent: schedule.trigger.min_new. ")
