"""Which text of a directive is in force, and what becomes of one that cannot be used."""

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agentcore.errors import InvalidOptionsError
from dream.directives import KNOWN, MAX_BYTES, Directive, DirectiveLibrary, built_in
from dream.directives.library import _text
from dream.domain import FindingLevel
from dream.errors import InvalidDirectiveError, UnknownDirectiveError


def library(folder: Path | None, **paths: str) -> DirectiveLibrary:
    return DirectiveLibrary(folder, {name.replace("_", "-"): path for name, path in paths.items()})


def own(folder: Path, content: str | bytes, name: str = "directives/dream.md") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def problem(folder: Path, **paths: str) -> str:
    with pytest.raises(InvalidDirectiveError) as refusal:
        library(folder, **paths).read(["dream"])
    return str(refusal.value)


@pytest.mark.parametrize("exists", [True, False])
def test_without_own_files_the_built_in_texts_are_in_force(tmp_path: Path, exists: bool):
    folder = tmp_path if exists else tmp_path / "later"
    for found in (library(folder).read(KNOWN), library(None).read(KNOWN)):
        assert list(found) == list(KNOWN)
        assert all(one.path is None and one == built_in(name) for name, one in found.items())


def test_an_own_file_replaces_the_built_in_text_wholly_and_no_other(tmp_path: Path):
    path = own(tmp_path, "Merge nothing.\n")
    found = library(tmp_path).read(["memory-rules", "dream"])
    assert found["dream"] == Directive(name="dream", text="Merge nothing.", path=path)
    assert found["memory-rules"] == built_in("memory-rules")


def test_each_reading_takes_what_the_file_says_then(tmp_path: Path):
    books = library(tmp_path)
    before = books.read(["dream"])["dream"]
    own(tmp_path, "One.")
    during = books.read(["dream"])["dream"]
    own(tmp_path, "Two.")
    after = books.read(["dream"])["dream"]
    (tmp_path / "directives/dream.md").unlink()
    assert (before.path, during.text, after.text) == (None, "One.", "Two.")
    assert books.read(["dream"])["dream"] == before
    assert len({before.hash, during.hash, after.hash}) == 3


def test_an_option_names_another_file(tmp_path: Path):
    own(tmp_path, "The usual place.")
    path = own(tmp_path, "Mine.", "prompts/night.md")
    found = library(tmp_path, dream="prompts/night.md").read(["dream"])["dream"]
    assert (found.text, found.path) == ("Mine.", path)


@given(st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["", "\ufeff"]), st.sampled_from(["", "\n\n", "  \n"]))
def test_editors_do_not_change_the_hash(end: str, mark: str, around: str):
    text = "# Dream\n\nKeep *everything*, also 東京.\n"
    plain = Directive(name="dream", text=text.strip())
    given_bytes = (mark + around + text + around).replace("\n", end).encode()
    assert Directive(name="dream", text=_text(given_bytes, Path("dream.md"))).hash == plain.hash


def test_the_hash_follows_the_text_alone(tmp_path: Path):
    path = own(tmp_path, built_in("dream").text + "\n")
    found = library(tmp_path).read(["dream"])["dream"]
    assert found.path == path
    assert found.hash == built_in("dream").hash
    assert len(found.hash) == 32
    assert Directive(name="dream", text=found.text + ".").hash != found.hash


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "it is empty"),
        (b" \r\n\t\n", "it is empty"),
        (b"\xef\xbb\xbf\n", "it is empty"),
        (b"fine\nfine\ncaf\xe9", "line 3 is not UTF-8"),
        ("Größe".encode("utf-16"), "line 1 is not UTF-8"),
        (b"M\0e\0r\0g\0e\0", "control characters"),
        (b"\x1b[31mred", "control characters"),
        (b"x" * (MAX_BYTES + 1), "more than 100,000 bytes"),
        (b"x" * 1_000_000, "more than 100,000 bytes"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused_by_name_and_reason(tmp_path: Path, content: bytes, part: str):
    path = own(tmp_path, content)
    sentence = problem(tmp_path)
    assert sentence.startswith(f"The directive {path} cannot be used: ")
    assert part in sentence
    assert sentence.count("\n") == 0
    assert library(tmp_path).read(["memory-rules"])


def test_the_longest_text_is_taken(tmp_path: Path):
    own(tmp_path, b"x" * MAX_BYTES)
    assert len(library(tmp_path).read(["dream"])["dream"].text) == MAX_BYTES


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path):
    place = tmp_path / "directives/dream.md"
    place.mkdir(parents=True)
    assert "it is a folder" in problem(tmp_path)
    place.rmdir()
    os.mkfifo(place)
    assert "no regular file" in problem(tmp_path)
    place.unlink()
    place.symlink_to("/dev/zero")
    assert "no regular file" in problem(tmp_path)
    place.unlink()
    place.symlink_to("gone.md")
    assert "a link that leads nowhere" in problem(tmp_path)
    place.unlink()
    place.symlink_to("dream.md")
    assert "cannot be read" in problem(tmp_path)


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path):
    (tmp_path / "directives").write_text("Merge nothing.")
    assert "cannot be read (Not a directory)" in problem(tmp_path)
    wrong = [finding.subject for finding in library(tmp_path).check() if finding.verdict is FindingLevel.WRONG]
    assert wrong == [*KNOWN, "directives"]


def test_a_file_that_an_option_names_must_be_there(tmp_path: Path):
    assert "it is not there" in problem(tmp_path, dream="prompts/night.md")


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path):
    sentence = f"There is no directive 'drem': choose among {', '.join(KNOWN)}."
    for ask in (
        lambda: library(tmp_path).read(["drem"]),
        lambda: library(tmp_path).path_of("drem"),
        lambda: library(tmp_path, drem="drem.md"),
        lambda: built_in("drem"),
    ):
        with pytest.raises(UnknownDirectiveError) as refusal:
            ask()
        assert str(refusal.value) == sentence


def test_a_host_without_a_folder_reads_no_files():
    with pytest.raises(InvalidOptionsError, match="keeps everything in memory"):
        library(None, dream="mine.md")


def test_a_name_is_no_way_out_of_the_folder(tmp_path: Path):
    own(tmp_path, "Outside.", "secret.md")
    with pytest.raises(UnknownDirectiveError):
        library(tmp_path / "data").read(["../../secret"])
