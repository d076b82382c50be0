"""Many scopes at the command line, and the switches of each."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from commandline import CommandLine

from agentcore import AgentHostBuilder
from agentcore.domain import Scope
from dream.interfaces.cli.screen import Screen


def three(cli: CommandLine) -> None:
    for scope in ("acme/rex/ana", "acme/rex/ben", "beta/agent/ana"):
        for text in ("Ana likes tea.", "ana likes tea"):
            cli.good("--scope", scope, "remember", text, "--category", f"c{len(text)}")


def test_scopes_are_listed_by_pattern_with_what_they_hold(cli: CommandLine):
    three(cli)
    assert [one["scope"] for one in cli.json("scopes")["scopes"]] == ["acme/rex/ana", "acme/rex/ben", "beta/agent/ana"]
    assert [(one["scope"], one["entries"]) for one in cli.json("scopes", "*/*/ana")["scopes"]] == [
        ("acme/rex/ana", 2),
        ("beta/agent/ana", 2),
    ]
    assert "2 scopes, 4 entries, 0 turns, 0 to review." in cli.good("--scope", "acme/*/*", "status")
    assert len(cli.json("status", "--all-scopes")["scopes"]) == 3


def test_a_run_on_a_pattern_dreams_on_each_scope_that_fits_and_on_no_other(cli: CommandLine):
    three(cli)
    ran = cli("--json", "--scope", "acme/*/*", "run", "--no-model").document["runs"]
    assert [one["scope"] for one in ran] == ["acme/rex/ana", "acme/rex/ben"]
    seen = {one["scope"]: one["last_dream_at"] is not None for one in cli.json("scopes")["scopes"]}
    assert seen == {"acme/rex/ana": True, "acme/rex/ben": True, "beta/agent/ana": False}
    refused = cli("--scope", "acme/*/*", "run", "--now", "2030-01-01")
    assert (refused.code, "--all-scopes and --now exclude each other" in refused.complaint) == (2, True)


def test_usage_exports_and_the_doctor_go_by_a_pattern_too(cli: CommandLine):
    three(cli)
    used = cli("--json", "--scope", "acme/*/*", "usage").document
    assert [(one["scope"], one["calls"]) for one in used["scopes"]] == [("acme/rex/ana", 0), ("acme/rex/ben", 0)]
    assert "left today" in cli.good("usage", "--all-scopes")
    folder = cli.data / "out"
    written = cli.json("export", "--all-scopes", "--output", str(folder))["exports"]
    assert [one["records"] for one in written] == [2, 2, 2]
    assert min(one.name for one in folder.iterdir()) == "acme+rex+ana.jsonl"
    assert "name one with --output" in cli("export", "--all-scopes").complaint
    findings = {one["subject"]: one["detail"] for one in cli.json("doctor", "--all-scopes")["findings"]}
    assert findings["scopes"] == "3 were looked at"
    assert cli("--scope", "nobody/*/*", "usage").code == 2


def test_what_the_doctor_notes_of_several_scopes_alike_is_told_once(cli: CommandLine):
    async def recalled() -> None:
        async with AgentHostBuilder(cli.data).with_memory().with_dreaming(in_background=False).build() as host:
            for scope in ("acme/rex/ana", "acme/rex/ben"):
                await host.for_scope(scope).memory.recall("tea")

    three(cli)
    asyncio.run(recalled())
    found = cli.json("doctor", "--all-scopes")["findings"]
    (told,) = [one["detail"] for one in found if one["subject"].endswith("promotion")]
    assert told.startswith("in 2 scopes (acme/rex/ana, acme/rex/ben): no entry meets ")


def test_the_doctor_examines_a_folder_whose_usual_scope_is_empty(cli: CommandLine):
    three(cli)
    examined = cli.json("doctor")
    assert examined["healthy"] is True
    (scope,) = [one for one in examined["findings"] if one["subject"] == "scope"]
    assert "3 others do" in scope["detail"]


def test_several_scopes_are_erased_only_when_a_person_or_yes_says_so(cli: CommandLine):
    three(cli)
    asked = cli("--scope", "acme/*/*", "forget", "--everything")
    assert asked.code == 2
    assert "give --yes" in asked.complaint
    assert [one["entries"] for one in cli.json("scopes")["scopes"]] == [2, 2, 2]
    cli.good("--scope", "acme/*/*", "forget", "--everything", "--yes")
    left = {one["scope"]: one["entries"] for one in cli.json("scopes")["scopes"]}
    assert (left["beta/agent/ana"], sum(left.values())) == (2, 2)
    told = cli("--scope", "beta/*/*", "forget", "3f2a91")
    assert (told.code, "else name one scope" in told.complaint) == (2, True)


def test_of_a_pattern_all_about_a_peer_is_erased_and_nothing_else(cli: CommandLine):
    three(cli)
    about = ("--scope", "acme/*/*", "forget", "--yes", "--all-of")
    told = cli(*about, "nobody")
    assert (told.code, "see the names with `dream scopes`" in told.complaint) == (2, True)
    cli.good(*about, "ana")
    assert held(cli) == {"acme/rex/ben": 2, "beta/agent/ana": 2}


def paused(cli: CommandLine) -> set[str]:
    return {one["scope"] for one in cli.json("scopes")["scopes"] if one["paused"]}


def held(cli: CommandLine) -> dict[str, int]:
    return {one["scope"]: one["entries"] for one in cli.json("scopes")["scopes"]}


def test_all_scopes_never_widens_what_scope_names(cli: CommandLine):
    three(cli)
    beyond = ("--scope", "acme/*/*")
    assert len(cli.json(*beyond, "status", "--all-scopes")["scopes"]) == 2
    assert len(cli.json(*beyond, "usage", "--all-scopes")["scopes"]) == 2
    assert len(cli.json(*beyond, "export", "--all-scopes", "--output", str(cli.data / "out"))["exports"]) == 2
    findings = {one["subject"]: one["detail"] for one in cli.json(*beyond, "doctor", "--all-scopes")["findings"]}
    assert findings["scopes"] == "2 were looked at"
    ran = cli("--json", *beyond, "run", "--no-model", "--all-scopes").document["runs"]
    assert [one["scope"] for one in ran] == ["acme/rex/ana", "acme/rex/ben"]
    one = cli("--scope", "acme/rex/ana", "forget", "--everything", "--all-scopes", "--yes")
    assert (one.code, "exclude each other" in one.complaint) == (2, True)
    cli.good("--scope", "acme/rex/b*", "forget", "--everything", "--all-scopes", "--yes")
    left = held(cli)
    assert (left["acme/rex/ana"], left["beta/agent/ana"], left.get("acme/rex/ben", 0)) == (2, 2, 0)


def test_a_person_is_asked_by_how_many_and_which_scopes_go(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    three(cli)
    asked: list[str] = []

    def declined(_: Screen, question: str) -> str:
        asked.append(question)
        return "no"

    monkeypatch.setattr(Screen, "has_person", True)
    monkeypatch.setattr(Screen, "ask", declined)
    assert cli("--scope", "acme/*/*", "forget", "--everything", "--all-scopes").code == 0
    assert asked == ["Erase 2 scopes (acme/rex/ana, acme/rex/ben) for good? [y/N]"]
    assert set(held(cli).values()) == {2}


def test_what_concerns_the_whole_folder_does_not_look_at_the_scope(cli: CommandLine, tmp_path: Path):
    three(cli)
    for scope in ((), ("--scope", "acme/*/*")):
        cli.good(*scope, "token", "create", "page", "--reach", "acme/*/*")
        assert "page" in cli.good(*scope, "token", "list")
        cli.good(*scope, "token", "revoke", "page")
        made = cli.json(*scope, "backup", "--to", str(tmp_path / "kept"))
        assert made["entries"] == 6
        assert cli(*scope, "restore-backup", made["path"], "--yes").code == 0
        assert sum(held(cli).values()) == 6


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "Ana likes tea."),
        ("never", "tea", "--yes"),
        ("switch", "dream", "off"),
        ("schedule",),
        ("recall", "tea"),
        ("explain",),
        ("config", "show"),
        ("directives", "eject", "consolidate"),
    ],
)
def test_a_command_on_one_scope_refuses_a_pattern_and_writes_nothing(cli: CommandLine, words: tuple[str, ...]):
    three(cli)
    refused = cli("--scope", "acme/*/*", *words)
    assert refused.code == 2
    assert "name one scope" in refused.complaint
    assert "these take patterns" in refused.complaint
    assert len(held(cli)) == 3
    assert not (cli.data / "directives").exists()


def test_an_import_into_a_pattern_is_refused_before_the_folder_is_made(cli: CommandLine, tmp_path: Path):
    file = tmp_path / "notes.md"
    file.write_text("# people\n\n- Ana likes tea.\n")
    assert "name one scope" in cli("--scope", "acme/*/*", "import", file).complaint
    assert not cli.data.exists()


def test_a_scope_whose_own_name_holds_a_star_is_reached_by_a_backslash(cli: CommandLine):
    three(cli)
    stray = ("--scope", r"acme/\*/\*")
    cli.good(*stray, "remember", "Ana likes coffee.")
    assert held(cli)["acme/*/*"] == 1
    assert r"acme/\*/\*" in cli("--scope", "nobody/*/*", "usage").complaint
    cli.good(*stray, "forget", "--everything", "--yes")
    left = held(cli)
    assert (left.pop("acme/*/*", 0), set(left.values())) == (0, {2})


def test_dreams_are_switched_for_a_scope_a_workspace_and_a_conversation(cli: CommandLine):
    three(cli)
    assert "dream is off for acme/rex/ana" in cli.good("--scope", "acme/rex/ana", "switch", "dream", "off")
    explained = cli.json("--scope", "acme/rex/ana", "explain")
    assert "dreaming" in explained["waits_for"]
    cli.good("--scope", "acme/rex/ana", "switch", "dream", "inherit")
    assert "dreaming" not in cli.json("--scope", "acme/rex/ana", "explain")["waits_for"]
    cli.good("switch", "dream", "off", "--all-of", "acme")
    assert "dreaming" in cli.json("--scope", "acme/rex/ben", "explain")["waits_for"]
    assert "dreaming" not in cli.json("--scope", "beta/agent/ana", "explain")["waits_for"]
    found = cli.json("switch", "learning", "off", "--session-id", "s-7")
    assert (found["level"], found["session"], found["learning"]) == ("session", "s-7", False)


def test_a_dream_is_asked_for_once_and_the_request_is_taken_back(cli: CommandLine):
    three(cli)
    scope = ("--scope", "acme/rex/ana")
    assert "is asked for" in cli.good(*scope, "schedule")
    assert "already_pending" in cli.good(*scope, "schedule")
    assert cli.json(*scope, "unschedule")["withdrawn"] is True
    assert cli.json(*scope, "unschedule")["withdrawn"] is False
    assert cli.json(*scope, "explain")["requested_at"] is None


async def test_a_session_is_switched_before_its_first_message_and_a_peer_is_named_in_honchos_way(tmp_path: Path):
    builder = AgentHostBuilder(tmp_path).with_memory().with_conversation_log().with_dreaming(in_background=False)
    async with builder.build() as host:
        assert (await host.session("s-1", learning=False)).learning is False
        request = await host.dreams.schedule(observer="rex", observed="ana")
        assert (request.scope, request.is_taken) == (Scope("default", "rex", "ana"), True)
        assert await host.dreams.unschedule(observer="rex", observed="ana")


@pytest.mark.slow
def test_ten_thousand_scopes_are_told_within_three_seconds(cli: CommandLine):
    cli.good("--scope", "t0/agent/ana", "remember", "Ana likes tea.")
    cli.good("--scope", "t0/agent/ana", "run", "--no-model")
    _multiply(cli.data / "agentcore.db", 10_000)
    began, worked = time.perf_counter(), time.process_time()
    told = cli.json("status", "--all-scopes")
    took, work = time.perf_counter() - began, time.process_time() - worked
    assert len(told["scopes"]) == 10_000
    assert {(one["entries"], one["last_dream_at"] is None, one["reason"]) for one in told["scopes"]} == {
        (1, False, "never")
    }
    # Of the two the processor's time is what another process does not lengthen.
    assert work < 1.5, (work, took)
    assert len(cli.json("scopes", "t7*/*/*")["scopes"]) == 1_111


def _multiply(database: Path, count: int) -> None:
    """Copy what the one scope holds to others, by SQL alone: a write of each takes a quarter of a minute."""
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript("PRAGMA foreign_keys = OFF")
        for table in ("scopes", "entries", "runs", "schedules"):
            given = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            names = [name for name in given if name != "pk" or table == "scopes"]
            made = {"scope_id": "n.value + 1", "workspace": "'t' || n.value", "pk": "n.value + 1"}
            values = ", ".join(made.get(name, f"one.{name}") for name in names)
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} AS one, "
                f"(WITH RECURSIVE up(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM up WHERE value < {count - 1}) "
                "SELECT value FROM up) AS n"
            )


def test_a_pattern_that_no_scope_fits_is_refused_by_every_command_that_takes_one(cli: CommandLine, tmp_path: Path):
    three(cli)
    for words in (("status",), ("run",), ("usage",), ("doctor",), ("export", "--output", str(tmp_path / "out"))):
        refused = cli("--scope", "acne/*/*", *words)
        assert (refused.code, "No scope fits acne/*/*" in refused.complaint) == (2, True), words
    assert "acme/rex/ana" in cli("scopes", "acne/*/*").complaint


def test_a_switch_in_a_folder_that_was_mistyped_makes_none(cli: CommandLine):
    assert cli("switch", "dream", "off").code == 2
    assert not cli.data.exists()


def test_a_switch_of_a_workspace_makes_no_scope_and_tells_if_nobody_is_in_it(cli: CommandLine):
    three(cli)
    assert cli("switch", "dream", "off", "--all-of", "acme").err == ""
    assert "look for a mistake in its name" in cli("switch", "dream", "off", "--all-of", "acne").err
    assert set(held(cli)) == {"acme/rex/ana", "acme/rex/ben", "beta/agent/ana"}
    ran = cli("run", "--all-scopes", "--no-model").err
    assert "acme/rex/ana deferred (dreaming_off" in ran
    assert "none while dreams are switched off" in cli.good("--scope", "acme/rex/ana", "explain")


def test_the_dreams_of_all_scopes_or_of_a_pattern_are_stopped_by_one_command(cli: CommandLine):
    three(cli)
    cli.good("--scope", "acme/*/*", "pause")
    assert paused(cli) == {"acme/rex/ana", "acme/rex/ben"}
    assert "resume --all-scopes" in cli.good("pause", "--all-scopes")
    assert len(paused(cli)) == 3
    assert len(cli.json("resume", "--all-scopes")["scopes"]) == 3
    assert paused(cli) == set()


def test_what_names_scopes_twice_is_refused(cli: CommandLine):
    three(cli)
    about = ("export", "--all-of", "ana", "--readable")
    for words in (("--scope", "acme/rex/ana", *about), (*about, "--all-scopes")):
        assert "--all-of and --" in cli(*words).complaint
    assert "--everything and --all-of" in cli("forget", "--everything", "--all-of", "ana").complaint
    assert "--no-http and --port" in cli("serve", "--no-http", "--port", "80").complaint


def test_a_model_that_nothing_can_ask_is_told_wherever_one_looks(cli: CommandLine):
    three(cli)
    (cli.data / "agentcore.toml").write_text('[scopes."acme/*/*".dreaming.model]\nname = "small"\n', "utf-8")
    told = "dreaming.model.name is 'small' of acme/*/*, and nothing says where that model answers"
    assert told in cli("--scope", "acme/rex/ana", "config", "show", "--changed").err
    assert told in " ".join(cli.good("--scope", "acme/rex/ana", "status").split())
    findings = {one["subject"]: one for one in cli.json("doctor")["findings"]}
    assert (findings["settings"]["verdict"], findings["settings"]["detail"]) == ("note", told)
    assert "nothing says" not in cli.good("--scope", "beta/agent/ana", "explain")


def test_config_show_can_leave_out_the_defaults(cli: CommandLine):
    three(cli)
    (cli.data / "agentcore.toml").write_text("[dreaming.model]\ntokens_per_day = 7\n", "utf-8")
    assert [one["name"] for one in cli.json("config", "show", "--changed")["options"]] == ["model.tokens_per_day"]
