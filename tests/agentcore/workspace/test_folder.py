"""The folder: documents whole, other people's work never overwritten, nothing outside touched."""

import os
from pathlib import Path

import pytest

from agentcore.workspace import (
    MAX_BYTES,
    MEMORY,
    DocumentChangedError,
    InvalidWorkspaceError,
    UnreadableDocumentError,
    UnwritableDocumentError,
    WorkspaceFolder,
    Written,
)


@pytest.fixture
def folder(tmp_path: Path) -> WorkspaceFolder:
    return WorkspaceFolder(tmp_path)


def _names(folder: WorkspaceFolder) -> list[str]:
    return [path.name for path in folder.root.iterdir()]


def test_what_is_written_is_read_and_nothing_else_is_left(folder: WorkspaceFolder):
    assert folder.read(MEMORY) == Written("", None)
    first = folder.write(MEMORY, "\ufeff# Memory\r\n", over=None)
    written = folder.read(MEMORY)
    assert (written.text, written.hash) == ("\ufeff# Memory\r\n", first)
    assert written.changed_at is not None
    folder.write(MEMORY, "- b", over=first)
    assert (folder.root / MEMORY).read_bytes() == b"- b"
    assert _names(folder) == [MEMORY]


def test_who_changed_it_meanwhile_wins(folder: WorkspaceFolder):
    read = folder.write(MEMORY, "- a\n", over=None)
    (folder.root / MEMORY).write_text("- by a person\n", "utf-8")
    with pytest.raises(DocumentChangedError, match="read it again"):
        folder.write(MEMORY, "- c\n", over=read)
    with pytest.raises(DocumentChangedError):
        folder.write(MEMORY, "- c\n", over=None)
    assert (folder.root / MEMORY).read_text("utf-8") == "- by a person\n"
    assert _names(folder) == [MEMORY]


def test_what_was_removed_meanwhile_stays_removed(folder: WorkspaceFolder):
    read = folder.write(MEMORY, "- a\n", over=None)
    (folder.root / MEMORY).unlink()
    with pytest.raises(DocumentChangedError):
        folder.write(MEMORY, "- b\n", over=read)
    assert _names(folder) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_its_permissions_stay(folder: WorkspaceFolder, mode: int):
    read = folder.write(MEMORY, "- a\n", over=None)
    (folder.root / MEMORY).chmod(mode)
    folder.write(MEMORY, "- b\n", over=read)
    assert (folder.root / MEMORY).stat().st_mode & 0o777 == mode


def test_a_file_whose_owner_took_the_right_to_write_away_is_left_as_it_is(folder: WorkspaceFolder):
    written = folder.write(MEMORY, "- a", over=None)
    (folder.root / MEMORY).chmod(0o444)
    with pytest.raises(UnwritableDocumentError, match="is as it was: permission denied"):
        folder.write(MEMORY, "- b", over=written)
    assert (folder.root / MEMORY).read_bytes() == b"- a"
    assert _names(folder) == [MEMORY]
    (folder.root / MEMORY).chmod(0o644)
    folder.write(MEMORY, "- b", over=written)


def test_a_link_out_of_the_workspace_is_refused_and_one_within_is_followed(tmp_path: Path):
    outside, inside = tmp_path / "outside.md", tmp_path / "workspace"
    outside.write_text("- secret\n", "utf-8")
    inside.mkdir()
    (inside / MEMORY).symlink_to(outside)
    folder = WorkspaceFolder(inside)
    with pytest.raises(UnreadableDocumentError, match="out of the workspace"):
        folder.read(MEMORY)
    with pytest.raises(UnreadableDocumentError, match="out of the workspace"):
        folder.write(MEMORY, "- x\n", over=None)
    assert outside.read_text("utf-8") == "- secret\n"
    (inside / MEMORY).unlink()
    (inside / "notes.md").write_text("- a\n", "utf-8")
    (inside / MEMORY).symlink_to("notes.md")
    folder.write(MEMORY, "- b\n", over=folder.read(MEMORY).hash)
    assert (inside / MEMORY).is_symlink()
    assert (inside / "notes.md").read_text("utf-8") == "- b\n"


def test_no_name_leads_out(folder: WorkspaceFolder):
    for name in ("../MEMORY.md", "/etc/hosts", "..", "."):
        with pytest.raises(UnreadableDocumentError):
            folder.read(name)


def test_what_is_no_document_is_told_in_a_sentence(folder: WorkspaceFolder):
    path = folder.root / MEMORY
    path.write_bytes(b"- caf\xe9\n")
    with pytest.raises(UnreadableDocumentError, match="byte 6 is not UTF-8; save it as UTF-8"):
        folder.read(MEMORY)
    path.write_bytes(b"-" * (MAX_BYTES + 1))
    with pytest.raises(UnreadableDocumentError, match="at most 2,000,000"):
        folder.read(MEMORY)
    path.unlink()
    path.mkdir()
    with pytest.raises(UnreadableDocumentError, match="no file"):
        folder.read(MEMORY)


def test_a_folder_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(InvalidWorkspaceError, match="create it first"):
        WorkspaceFolder(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InvalidWorkspaceError, match="name a folder"):
        WorkspaceFolder(tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is barred from root")
def test_a_read_only_folder_is_told_and_nothing_lost(folder: WorkspaceFolder):
    read = folder.write(MEMORY, "- a\n", over=None)
    folder.root.chmod(0o500)
    try:
        with pytest.raises(UnwritableDocumentError, match="permission"):
            folder.write(MEMORY, "- b\n", over=read)
    finally:
        folder.root.chmod(0o700)
    assert folder.read(MEMORY).text == "- a\n"
