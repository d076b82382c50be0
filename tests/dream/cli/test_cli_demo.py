"""demo."""

import shutil
import tempfile
from pathlib import Path

import pytest
from commandline import CommandLine

from dream.interfaces.cli.commands.demo import FILES


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_demo_tells_a_story_from_before_to_undo(cli: CommandLine):
    told = cli.bare("demo")
    assert (told.code, told.err) == (0, "")
    order = ["334 turns", "Before: 181 active", "The dream, as of 2025-10-12 20:00 UTC", "What it changed", "keeps ",
             "archives", "more changes", "clusters of near-duplicates", "No model was asked", "After: 162 active",
             "(seen 3 times)", " diff ", " undo ", "rm -r "]  # fmt: skip
    places = [told.out.index(part) for part in order]
    assert places == sorted(places)
    assert max(len(line) for line in told.out.splitlines() if "dream-demo-" not in line) <= 80


def test_the_commands_it_suggests_work_as_they_are_printed(cli: CommandLine):
    out = cli.bare("demo").out
    commands = [line.split() for line in out.splitlines() if line.startswith("    dream --data")]
    assert {command[3] for command in commands} == {"diff", "why", "undo", "run"}
    for command in commands:
        assert cli.bare(*command[1:]).code == 0
    folder = Path(commands[0][2])
    undone = cli.bare("--data", folder, "--json", "memories").document
    assert undone["total"] == 181
    assert sorted(path.name for path in (folder / "examples").iterdir()) == sorted(FILES)
    shutil.rmtree(folder)


def test_later_dreams_on_the_demo_remove_nothing_though_its_weeks_are_long_past(cli: CommandLine):
    cli.good("demo")
    assert "removed for good" not in cli.good("run")
    assert cli.json("memories")["total"] == 162


def test_the_json_of_the_demo_is_one_document(cli: CommandLine):
    document = cli.bare("--json", "demo").document
    assert document["report"]["changes"] == len([row for row in document["diff"] if row["operation"] != "ask"]) == 36
    assert document["before"]["status"]["entries"]["active"] == 181
    assert document["after"]["status"]["entries"]["active"] == 162
    decay = next(item for item in document["report"]["passes"] if item["name"] == "importance-decay")
    assert decay["notes"]["faded"] > decay["notes"]["at_floor"] > 0


def test_the_demo_can_be_told_where_to_go_but_spares_a_memory(cli: CommandLine):
    assert str(cli.data) in cli.good("--scope", "a/b/c", "demo")
    assert cli.json("--scope", "a/b/c", "memories")["total"] == 162
    told = cli("demo")
    assert told.code == 2
    assert "holds a memory already" in told.complaint


def test_the_demo_never_touches_the_folder_of_the_environment(cli: CommandLine, monkeypatch: pytest.MonkeyPatch):
    cli.good("remember", "Ana likes tea")
    monkeypatch.setenv("AGENTCORE_DATA", str(cli.data))
    assert cli.bare("demo").code == 0
    assert cli.json("memories")["total"] == 1
