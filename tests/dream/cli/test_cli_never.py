"""`dream never`: a person's off-limits topics, through the command."""

from pathlib import Path

import pytest
from commandline import CommandLine


def words(cli: CommandLine, *arguments: str) -> list[str]:
    return [topic["words"] for topic in cli.json("never", *arguments)["topics"]]


def test_topics_are_added_shown_changed_and_removed(cli: CommandLine):
    assert words(cli, "my health", "--yes") == ["my health"]
    assert words(cli, "what I earn", "--yes") == ["my health", "what I earn"]
    assert words(cli, "my illnesses", "--instead-of", "my health", "--yes") == ["my illnesses", "what I earn"]
    assert words(cli, "--remove", "WHAT I EARN") == ["my illnesses"]
    assert "my illnesses" in cli.good("never")


def test_nothing_is_kept_without_an_answer_of_the_person(cli: CommandLine):
    told = cli("never", "my health")
    assert (told.code, "give --yes" in told.complaint) == (2, True)
    cli.good("remember", "Ana moved.")
    assert words(cli) == []


@pytest.mark.parametrize(
    "arguments",
    [["--instead-of", "a"], ["b", "--remove", "a"], ["--remove", "unknown"], ["x" * 101, "--yes"], [" ", "--yes"]],
)
def test_a_mistake_is_told_in_one_sentence(cli: CommandLine, arguments: list[str]):
    cli.good("remember", "Ana moved.")
    told = cli("never", *arguments)
    assert told.code == 2
    assert told.complaint.endswith(".")


def test_topics_move_with_an_export(cli: CommandLine, tmp_path: Path):
    cli.good("never", "my health", "--yes")
    cli.good("export", "--output", tmp_path / "all.jsonl")
    other = tmp_path / "other"
    assert cli.bare("--data", other, "import", tmp_path / "all.jsonl", "--format", "export").code == 0
    (topic,) = cli.bare("--data", other, "--json", "never").document["topics"]
    assert topic["words"] == "my health"
