"""The options of every command, and what is said to somebody who mistypes."""

from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from commandline import CommandLine

from dream.interfaces.cli.app import COMMANDS, GROUPS, build_app


def test_global_options_stand_before_or_after_the_command(cli: CommandLine):
    cli.good("--scope", "acme/bot/ana", "remember", "Ana likes tea")
    before = cli.bare("--data", cli.data, "--scope", "acme/bot/ana", "--json", "memories")
    after = cli.bare("memories", "--json", "--scope", "acme/bot/ana", "--data", cli.data)
    assert before == after
    assert before.document["total"] == 1


def test_the_environment_names_the_data_directory(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.good("remember", "Ana likes tea")
    monkeypatch.setenv("AGENTCORE_DATA", str(cli.data))
    assert "Ana likes tea" in cli.bare("memories").out


def test_the_option_wins_over_the_environment(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.good("remember", "Ana likes tea")
    monkeypatch.setenv("AGENTCORE_DATA", str(cli.data / "elsewhere"))
    assert cli.json("memories")["total"] == 1


def test_without_option_and_environment_the_users_own_folder_is_taken(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(cli.data))
    assert cli.bare("remember", "Ana likes tea").code == 0
    assert len(list(cli.data.glob("**/agentcore.db"))) == 1


def test_a_command_that_only_looks_makes_no_folder(cli: CommandLine):
    for command in (["status"], ["memories"], ["recall", "tea"], ["runs"], ["export"], ["doctor"], ["config", "show"]):
        told = cli(*command)
        assert (told.code, "There is no folder" in told.complaint) == (2, True), command
    assert not cli.data.exists()


@pytest.mark.parametrize("by", ["the option", "the environment"])
def test_a_data_directory_whose_name_is_mistyped_is_told_and_not_made(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, by: str
):
    cli.good("remember", "Ana likes tea")
    typo = cli.data.with_name("daat")
    if by == "the environment":
        monkeypatch.setenv("AGENTCORE_DATA", str(typo))
    named = ["--data", typo] if by == "the option" else []
    for command in (
        ["run"],
        ["plan"],
        ["forget", "abc"],
        ["undo", "abc"],
        ["pause"],
        ["edit", "abc", "x"],
        ["recall", "a"],
    ):
        told = cli.bare(*named, *command)
        assert (told.code, f"There is no folder {typo}" in told.complaint) == (2, True), command
    assert not typo.exists()


def test_a_command_that_only_looks_makes_no_database(cli: CommandLine):
    cli.make_folder()
    for command in (["status"], ["memories"], ["recall", "tea"], ["runs"], ["export"], ["doctor"], ["config", "show"]):
        assert cli(*command).code == 0
    assert list(cli.data.iterdir()) == []


def test_help_lists_every_command_and_global_option(cli: CommandLine):
    told = cli.bare("--help")
    assert told.code == 0
    listed = {name.split()[0] for name in COMMANDS} | {"--data", "--scope", "--json", "--debug"}
    assert {name for name in listed if name not in told.out} == set()


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(cli: CommandLine, group: str):
    told = cli.bare(group)
    assert told.code == 0
    assert GROUPS[group] in told.out
    listed = {name.split()[1] for name in COMMANDS if name.startswith(f"{group} ")}
    assert {name for name in listed if f" {name} " not in told.out} == set()


def test_the_bare_command_helps(cli: CommandLine):
    assert cli.bare().out == cli.bare("--help").out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_of_its_own(cli: CommandLine, name: str):
    told = cli.bare(*name.split(), "--help")
    assert told.code == 0
    assert f"Usage: dream {name}" in told.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_and_argument_says_what_it_is(name: str):
    for argument in reduce(getitem, name.split(), build_app()).assemble_argument_collection(parse_docstring=True):
        assert argument.parameter.help or not argument.parse, argument.name


def test_the_help_names_defaults_of_values_and_none_of_flags(cli: CommandLine):
    told = cli.bare("promote", "--help").out
    assert "[default: 10]" in told
    assert {"False", "True", "None"}.isdisjoint(told.replace("]", " ").split())


def test_the_version_is_told(cli: CommandLine):
    assert cli.bare("--version").out.strip()


@pytest.mark.parametrize("typo", ["forgit", "forge", "forecats", "forget-all"])
def test_nobody_who_mistypes_a_command_is_led_to_one_that_destroys(cli: CommandLine, typo: str):
    told = cli.bare(typo)
    assert (told.code, "forget:" in told.complaint) == (2, False)
    assert "you mean forget" not in told.complaint


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rum"], "perhaps you mean run"),
        (["forecast"], "perhaps you mean plan --forecast"),
        (["--json"], "`dream --help` lists them"),
        (["run", "--nope"], "`dream run --help`"),
        (["remember"], "`dream remember --help`"),
        (["remember", "Ana", "likes"], "put in quotes"),
        (["remember", "tea", "--importance", "high"], "--importance"),
        (["remember", "tea", "--importance", "1.5"], "from 0 to 1"),
        (["remember", "tea", "--subject-time", "soon"], "subject time"),
        (["remember", " "], "blank"),
        (["memories", "--status", "lost"], "superseded"),
        (["memories", "--limit", "-1"], "give 0 or more"),
        (["runs", "--limit", "0"], "give 1 or more"),
        (["recall", "tea", "-k", "0"], "give 1 or more"),
        (["run", "--now", "tomorrow"], "2025-10-12"),
        (["run", "--now", "2025-10-12T20:00:00"], "with its zone"),
        (["run", "--now", "2025-02-30"], "2025-10-12"),
        (["run", "--plan", "p", "--pass", "retention"], "exclude each other"),
        (["run", "--plan", "p", "--now", "2025-10-12"], "exclude each other"),
        (["undo", "r", "--pass", "retention", "--change", "1"], "exclude each other"),
        (["undo", "r", "--change", "first"], "--change"),
        (["import", "f", "--format", "xml"], "chat-jsonl"),
        (["--scope", "acme/ana", "status"], "WORKSPACE/OBSERVER/OBSERVED"),
        (["--scope", "acme/bot/\x1b[31m", "status"], "WORKSPACE/OBSERVER/OBSERVED"),
        (["--data", "", "status"], "name a folder"),
        (["--data"], "--data"),
        (["--busy-timeout", "-1", "status"], "0 or more"),
        (["--busy-timeout", "nan", "status"], "0 or more"),
    ],
)
def test_a_mistyped_command_gets_one_sentence_that_helps(cli: CommandLine, arguments: list[str], hint: str):
    cli.make_folder()
    told = cli.bare(*([] if "--data" in arguments else ["--data", cli.data]), *arguments)
    assert told.code == 2
    assert hint in told.complaint
    assert "\x1b" not in told.complaint
    assert not cli.database.exists()


def test_debug_shows_where_an_error_came_from(cli: CommandLine):
    told = cli("--debug", "import", "/no/such/file")
    assert told.code == 2
    assert "Traceback" in told.err
    assert told.err.endswith("does not exist; check the path.\n")


def test_debug_behind_the_double_dash_is_text(cli: CommandLine):
    cli.good("remember", "--", "--debug")
    assert cli.json("memories")["entries"][0]["content"] == "--debug"


def test_an_unknown_scope_is_refused_with_the_known_ones(cli: CommandLine):
    cli.good("--scope", "acme/bot/ana", "remember", "Ana likes tea")
    for command in (["status"], ["memories"], ["run"], ["plan"], ["pause"], ["doctor"], ["export"], ["forget", "a"]):
        told = cli("--json", "--scope", "acme/bot/ben", *command)
        assert told.code == 2
        assert "acme/bot/ana" in told.complaint


def test_the_default_scope_is_unknown_once_there_are_others(cli: CommandLine):
    cli.good("--scope", "acme/bot/ana", "remember", "Ana likes tea")
    assert "acme/bot/ana" in cli("status").complaint


def test_a_refused_scope_is_not_made_by_asking(cli: CommandLine):
    cli.good("remember", "Ana likes tea")
    for _ in range(2):
        assert cli("--scope", "acme/bot/ben", "pause").code == 2


def test_remember_and_import_make_a_scope(cli: CommandLine, tmp_path: Path):
    notes = tmp_path / "MEMORY.md"
    notes.write_text("- Ben likes coffee\n")
    cli.good("--scope", "acme/bot/ana", "remember", "Ana likes tea")
    cli.good("--scope", "acme/bot/ben", "import", notes)
    assert "Ben likes coffee" in cli.good("--scope", "acme/bot/ben", "memories")
    assert "Ana" not in cli.good("--scope", "acme/bot/ben", "memories")
