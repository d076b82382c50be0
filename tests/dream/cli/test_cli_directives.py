"""directives list, show, eject, check."""

import asyncio
from pathlib import Path

import pytest
from commandline import CommandLine

from agentcore.clock import SystemClock
from agentcore.domain import Scope
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage
from dream.cycle import REVIEWER
from dream.directives import KNOWN, built_in
from dream.stores import dream_stores


def _own(cli: CommandLine, content: str | bytes, name: str = "dream.md") -> Path:
    path = cli.data / "directives" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def _listed(cli: CommandLine) -> dict[str, dict[str, object]]:
    return {one["name"]: one for one in cli.json("directives", "list")["directives"]}


def test_the_list_tells_names_origins_and_readers_and_makes_no_folder(cli: CommandLine):
    found = _listed(cli)
    assert list(found) == list(KNOWN)
    assert found["dream"] == {
        "name": "dream",
        "purpose": KNOWN["dream"].purpose,
        "passes": ["memory-consolidation"],
        "path": None,
        "hash": built_in("dream").hash,
        "tokens": -(-len(built_in("dream").text.encode()) // 4),
        "problem": None,
    }
    assert built_in("dream").hash in cli.good("directives", "list")
    assert not cli.data.exists()


def test_the_list_shows_an_own_text_and_a_bad_one(cli: CommandLine):
    path = _own(cli, "Merge nothing.")
    _own(cli, b"\xff", "memory-rules.md")
    found = _listed(cli)
    assert (found["dream"]["path"], found["dream"]["tokens"]) == (str(path), 4)
    assert (found["memory-rules"]["hash"], found["memory-rules"]["tokens"]) == (None, None)
    assert "not UTF-8" in str(found["memory-rules"]["problem"])
    out = " ".join(cli.good("directives", "list").split())
    assert "your own, " in out
    assert "line 1 is not UTF-8" in out


def test_a_text_in_the_data_folder_itself_is_read_as_rockbot_does_and_the_folder_of_directives_comes_first(
    cli: CommandLine,
):
    cli.data.mkdir()
    (cli.data / "dream.md").write_text("Merge nothing.", "utf-8")
    assert cli.good("directives", "show", "dream") == "Merge nothing.\n"
    assert _listed(cli)["dream"]["path"] == str(cli.data / "dream.md")
    _own(cli, "Merge everything.")
    assert cli.good("directives", "show", "dream") == "Merge everything.\n"
    assert "is read by nothing" in " ".join(cli.good("directives", "check").split())


def test_the_settings_of_the_scope_say_which_file_is_its_directive(cli: CommandLine):
    cli.data.mkdir()
    (cli.data / "careful.md").write_text("Be careful.", "utf-8")
    settings = '[scopes."acme/*/*".dreaming]\ndirectives = { dream = "careful.md" }\n'
    (cli.data / "agentcore.toml").write_text(settings, "utf-8")
    assert cli.good("--scope", "acme/rex/ana", "directives", "show", "dream") == "Be careful.\n"
    assert cli.good("directives", "show", "dream") == built_in("dream").text + "\n"


def test_the_text_in_force_is_shown_alone(cli: CommandLine):
    assert cli.good("directives", "show", "dream") == built_in("dream").text + "\n"
    _own(cli, "Merge nothing.\r\n")
    assert cli.good("directives", "show", "dream") == "Merge nothing.\n"
    assert cli.good("directives", "show", "dream", "--built-in") == built_in("dream").text + "\n"
    assert cli.json("directives", "show", "dream")["text"] == "Merge nothing."


def test_a_bad_text_is_not_shown_but_told(cli: CommandLine):
    path = _own(cli, "  \n")
    told = cli("directives", "show", "dream")
    assert told.code == 2
    assert told.complaint.startswith(f"The directive {path} cannot be used: it is empty;")


@pytest.mark.parametrize("command", ["show", "eject"])
def test_an_unknown_name_is_told_with_the_known_ones(cli: CommandLine, command: str):
    told = cli("directives", command, "../secrets")
    assert told.code == 2
    assert told.complaint == f"There is no directive '../secrets': choose among {', '.join(KNOWN)}."
    assert not cli.data.exists()


def test_an_ejected_text_is_the_built_in_one_and_is_in_force(cli: CommandLine):
    told = cli.json("directives", "eject", "memory-mining")
    path = cli.data / "directives" / "memory-mining.md"
    assert told["path"] == str(path)
    assert path.read_text("utf-8") == built_in("memory-mining").text + "\n"
    found = _listed(cli)["memory-mining"]
    assert (found["path"], found["hash"]) == (str(path), built_in("memory-mining").hash)
    assert [one.name for one in path.parent.iterdir()] == ["memory-mining.md"]


def test_an_edited_text_is_replaced_only_by_force(cli: CommandLine):
    path = _own(cli, "Merge nothing.")
    told = cli("directives", "eject", "dream")
    assert told.code == 2
    assert "--force" in told.complaint
    assert path.read_text() == "Merge nothing."
    assert str(path) in cli.good("directives", "eject", "dream", "--force").replace("\n", "")
    assert path.read_text("utf-8") == built_in("dream").text + "\n"


def test_a_link_counts_as_something_that_stands_there(cli: CommandLine, tmp_path: Path):
    (cli.data / "directives").mkdir(parents=True)
    (cli.data / "directives" / "dream.md").symlink_to(tmp_path / "elsewhere.md")
    assert cli("directives", "eject", "dream").code == 2
    assert not (tmp_path / "elsewhere.md").exists()


def test_a_folder_that_cannot_be_made_is_told(cli: CommandLine):
    cli.data.write_text("no folder")
    told = cli("directives", "eject", "dream")
    assert told.code == 1
    assert "cannot be written" in told.complaint


def test_the_built_in_directives_pass_the_check(cli: CommandLine):
    cli.make_folder()
    assert "All is well." in cli.good("directives", "check")
    found = cli.json("directives", "check")
    assert (found["usable"], found["forecast"]["entries"]) == (True, 0)
    assert [one["subject"] for one in found["findings"]] == [*KNOWN, "vocabulary"]
    assert list(cli.data.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("dream.md", b"", "it is empty"),
        ("memory-rules.md", b"\xff\xfe", "not UTF-8"),
        ("memory-mining.md", b"x" * 1_000_000, "more than 100,000 bytes"),
        ("merge-coverage-vocabulary.json", b'{"colour": []}', "unknown field 'colour'"),
    ],
)
def test_the_check_finds_what_cannot_be_used(cli: CommandLine, name: str, content: bytes, part: str):
    path = _own(cli, content, name)
    told = cli("directives", "check")
    assert told.code == 2
    assert told.err.count("\n") == 1
    assert part in " ".join(told.out.split())
    assert "1 thing to put right." in told.out
    told = cli("--json", "directives", "check")
    (wrong,) = [one for one in told.document["findings"] if one["verdict"] == "wrong"]
    assert (told.code, told.document["usable"], told.document["forecast"]) == (2, False, None)
    assert str(path) in wrong["detail"]


def test_the_check_notes_what_is_only_odd(cli: CommandLine):
    _own(cli, "Merge nothing, and answer in JSON.")
    _own(cli, "", "memory_rules.md")
    out = " ".join(cli.good("directives", "check").split())
    assert "does not mention toDelete, toSave, sourceIds, content, category" in out
    assert "perhaps you mean memory-rules.md" in out


def _review(cli: CommandLine, *, but: str) -> None:
    """Have the consolidation be done with everything but one entry."""

    def work(unit: UnitOfWork) -> None:
        dream_stores(unit).cursors.move(REVIEWER, unit.entries.last_position())
        dream_stores(unit).cursors.reopen(REVIEWER, [but])

    async def write() -> None:
        storage = SqlStorage(cli.database, clock=SystemClock())
        await storage.start()
        await storage.write(Scope.default(), work)
        await storage.stop()

    asyncio.run(write())


def test_the_check_tells_what_a_change_costs(cli: CommandLine):
    first, *_ = cli.known(*(f"Ana's cup number {number} is blue" for number in range(5)))
    assert cli.json("directives", "check")["forecast"]["entries"] == 0
    _review(cli, but=first)
    cost = cli.json("directives", "check")["forecast"]
    share = sum(-(-len(built_in(name).text.encode()) // 4) for name in ("memory-rules", "dream", "verify"))
    assert (cost["pass"], cost["entries"], cost["runs"], cost["calls"]) == (REVIEWER, 4, 1, 1)
    assert share < cost["tokens"] < share + 4 * 300
    said = " ".join(cli.good("directives", "check").split())
    assert "Should memory-rules or dream change: at most 4 reviewed entries are looked at again, over 1 run" in said


def test_a_longer_directive_costs_more_with_each_call(cli: CommandLine):
    first, *_ = cli.known("Ana likes tea", "Ana likes cake")
    _review(cli, but=first)
    before = cli.json("directives", "check")["forecast"]["tokens"]
    _own(cli, built_in("dream").text + " " + "Be careful. " * 1_000)
    assert cli.json("directives", "check")["forecast"]["tokens"] == before + 3_000


def test_a_mistyped_word_within_the_group_is_told_with_what_was_meant(cli: CommandLine):
    told = cli("directives", "lst")
    assert (told.code, told.complaint.split(":")[0]) == (2, "There is no command 'lst', perhaps you mean list")
    told = cli("directive", "list")
    assert (told.code, told.complaint.split(":")[0]) == (
        2,
        "There is no command 'directive', perhaps you mean directives",
    )
