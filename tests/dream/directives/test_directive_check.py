"""What a check says: fine, worth knowing, wrong."""

from pathlib import Path

import pytest

from agentcore import AgentHostBuilder
from agentcore.errors import InvalidOptionsError
from dream.directives import KNOWN, DirectiveLibrary
from dream.domain import Finding, FindingLevel
from dream.errors import UnknownDirectiveError
from dream.interfaces.plugin import install_dreaming
from dream.options import DreamOptions


def check(folder: Path | None, paths: dict[str, str] | None = None, **files: str) -> dict[str, Finding]:
    if folder is not None:
        (folder / "directives").mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / "directives" / name).write_text(content)
    found = DirectiveLibrary(folder, paths or {}).check(beside=("words.json",))
    return {finding.subject: finding for finding in found}


def unlike_fine(found: dict[str, Finding]) -> dict[str, FindingLevel]:
    return {name: finding.verdict for name, finding in found.items() if finding.verdict is not FindingLevel.FINE}


@pytest.mark.parametrize("kind", ["memory", "missing", "empty"])
def test_the_built_in_directives_pass(tmp_path: Path, kind: str):
    folder = {"memory": None, "missing": tmp_path / "later", "empty": tmp_path}[kind]
    found = DirectiveLibrary(folder, {}).check()
    assert [finding.subject for finding in found] == list(KNOWN)
    assert {finding.verdict for finding in found} == {FindingLevel.FINE}


def test_an_unusable_one_says_who_does_nothing(tmp_path: Path):
    found = check(tmp_path, **{"memory-rules.md": " "})
    assert unlike_fine(found) == {"memory-rules": FindingLevel.WRONG}
    assert "it is empty" in found["memory-rules"].detail
    assert "fact-mining, episodes, preferences and memory-consolidation cannot work" in found["memory-rules"].remedy


def test_one_that_leaves_out_what_the_answer_needs_is_noted_word_by_word(tmp_path: Path):
    text = "Put merges into toSave with content, category and sourceIds."
    found = check(tmp_path, **{"dream.md": text, "memory-rules.md": "Be brief."})
    assert unlike_fine(found) == {"dream": FindingLevel.NOTE}
    assert "does not mention toDelete, of which the answer to memory-consolidation is made" in found["dream"].detail


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("dreams.md", "dream.md"),
        ("Dream.MD", "dream.md"),
        ("dream.md.txt", "dream.md"),
        ("memory_rules.md", "memory-rules.md"),
        ("word.json", "words.json"),
        ("cooking.md", f"directives are {', '.join(KNOWN)}"),
    ],
)
def test_a_file_that_nothing_reads_is_noted_with_what_was_meant(tmp_path: Path, name: str, meant: str):
    found = check(tmp_path, **{name: "x"})
    assert unlike_fine(found) == {name: FindingLevel.NOTE}
    assert "is read by nothing" in found[name].detail
    assert meant in found[name].remedy


def test_other_files_are_nobodys_business(tmp_path: Path):
    assert (
        unlike_fine(check(tmp_path, **{"words.json": "{}", ".dream.md.swp": "", "notes.org": "", "LICENSE": ""})) == {}
    )


def test_a_file_that_an_option_passes_over_is_noted(tmp_path: Path):
    night = "toSave toDelete sourceIds content category"
    found = check(tmp_path, {"dream": "directives/night.md"}, **{"dream.md": night, "night.md": night})
    assert unlike_fine(found) == {"dream.md": FindingLevel.NOTE}
    assert "the option `directives` names another file" in found["dream.md"].remedy


@pytest.mark.parametrize("path", ["/etc/passwd", "../other/dream.md", "a/../../b.md", "", ".", "a\0b.md"])
def test_a_path_that_leaves_the_data_directory_is_refused_when_the_options_are_made(path: str):
    with pytest.raises(ValueError, match=r"Option dreaming\.directives\['dream'\] = .* directives/dream\.md\.$"):
        DreamOptions(directives={"dream": path})


def test_a_path_inside_is_taken():
    assert DreamOptions(directives={"dream": "prompts/dream.md"}).directives["dream"] == "prompts/dream.md"


def test_an_unknown_name_in_the_options_fails_the_build():
    with pytest.raises(UnknownDirectiveError, match="'drem'"):
        install_dreaming(DreamOptions(directives={"drem": "drem.md"}))


def test_a_host_that_keeps_everything_in_memory_cannot_name_a_file():
    builder = AgentHostBuilder(None).with_memory().with_dreaming(DreamOptions(directives={"dream": "dream.md"}))
    with pytest.raises(InvalidOptionsError, match="keeps everything in memory"):
        builder.build()
