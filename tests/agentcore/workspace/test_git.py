"""Commits: the files that were written and nothing else, as git itself sees it."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentcore.workspace import Committed, NoCommit, WorkspaceGit

_AT = datetime(2026, 4, 24, 3, tzinfo=UTC)


def _git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{part}": "person@example" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = os.environ | who | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "MEMORY.md").write_text("- a\n", "utf-8")
    (tmp_path / "notes.txt").write_text("one\n", "utf-8")
    _git(tmp_path, "add", "-A")
    _git(tmp_path, "commit", "-qm", "begin")
    return tmp_path


def _commit(folder: Path, *names: str) -> Committed | NoCommit:
    return WorkspaceGit(folder).commit(names, subject="promote: 1 entry", body="- a", at=_AT)


def test_only_the_named_files_are_committed(folder: Path):
    (folder / "MEMORY.md").write_text("- a\n- b\n", "utf-8")
    (folder / "DREAMS.md").write_text("# DREAMS.md\n", "utf-8")
    (folder / "notes.txt").write_text("two\n", "utf-8")
    (folder / "staged.txt").write_text("mine\n", "utf-8")
    _git(folder, "add", "staged.txt")
    done = _commit(folder, "MEMORY.md", "DREAMS.md")
    assert isinstance(done, Committed)
    assert _git(folder, "rev-parse", "HEAD") == done.commit_id
    assert (
        _git(folder, "show", "-s", "--format=%s|%b|%an|%at") == f"promote: 1 entry|- a\n|dream|{int(_AT.timestamp())}"
    )
    assert _git(folder, "show", "--name-only", "--format=").split() == ["DREAMS.md", "MEMORY.md"]
    assert _git(folder, "status", "--porcelain").split() == ["M", "notes.txt", "A", "staged.txt"]
    assert _git(folder, "fsck", "--strict") == ""


def test_what_is_committed_already_is_a_clean_tree(folder: Path):
    before = _git(folder, "rev-parse", "HEAD")
    assert _commit(folder, "MEMORY.md", "never-there.md") is NoCommit.CLEAN_TREE
    assert _git(folder, "rev-parse", "HEAD") == before


def test_a_file_that_is_gone_is_committed_as_gone(folder: Path):
    (folder / "MEMORY.md").unlink()
    assert isinstance(_commit(folder, "MEMORY.md"), Committed)
    assert _git(folder, "ls-files") == "notes.txt"
    assert _git(folder, "status", "--porcelain") == ""


def test_a_folder_that_is_no_repository_stays_none_until_it_is_asked_to_be(tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("- a\n", "utf-8")
    assert _commit(tmp_path, "MEMORY.md") is NoCommit.NO_REPOSITORY
    assert not (tmp_path / ".git").exists()
    WorkspaceGit(tmp_path).init()
    WorkspaceGit(tmp_path).init()
    assert isinstance(_commit(tmp_path, "MEMORY.md"), Committed)
    assert _git(tmp_path, "log", "--format=%s") == "promote: 1 entry"
    assert _git(tmp_path, "status", "--porcelain") == ""


def test_nobody_is_disturbed_in_the_middle_of_a_rebase_or_a_merge(folder: Path):
    _git(folder, "checkout", "-qb", "other")
    (folder / "notes.txt").write_text("theirs\n", "utf-8")
    _git(folder, "commit", "-qam", "theirs")
    _git(folder, "checkout", "-q", "main")
    (folder / "notes.txt").write_text("ours\n", "utf-8")
    _git(folder, "commit", "-qam", "ours")
    for command in ("rebase", "merge"):
        with pytest.raises(subprocess.CalledProcessError):
            _git(folder, command, "other")
        (folder / "MEMORY.md").write_text(f"- {command}\n", "utf-8")
        assert _commit(folder, "MEMORY.md") is NoCommit.UNDER_WAY
        _git(folder, "checkout", "-q", "--", "MEMORY.md")
        _git(folder, command, "--abort")


def test_a_detached_head_gets_no_commit_that_nobody_would_find(folder: Path):
    _git(folder, "checkout", "-q", "--detach")
    (folder / "MEMORY.md").write_text("- b\n", "utf-8")
    assert _commit(folder, "MEMORY.md") is NoCommit.DETACHED_HEAD


def test_another_version_that_somebody_staged_is_left_to_them(folder: Path):
    (folder / "MEMORY.md").write_text("- staged by a person\n", "utf-8")
    _git(folder, "add", "MEMORY.md")
    (folder / "MEMORY.md").write_text("- written since\n", "utf-8")
    assert _commit(folder, "MEMORY.md") is NoCommit.STAGED
    assert _git(folder, "show", ":MEMORY.md") == "- staged by a person"


def test_a_locked_index_is_told(folder: Path):
    (folder / "MEMORY.md").write_text("- b\n", "utf-8")
    (folder / ".git" / "index.lock").touch()
    before = _git(folder, "rev-parse", "HEAD")
    assert _commit(folder, "MEMORY.md") is NoCommit.LOCKED
    assert _git(folder, "rev-parse", "HEAD") == before


def test_what_git_ignores_is_not_committed(folder: Path):
    (folder / ".gitignore").write_text("DREAMS.md\n", "utf-8")
    (folder / "DREAMS.md").write_text("# DREAMS.md\n", "utf-8")
    assert _commit(folder, "DREAMS.md") is NoCommit.CLEAN_TREE


def test_a_worktree_is_a_repository_too(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    other = tmp_path_factory.mktemp("other") / "tree"
    _git(folder, "worktree", "add", "-q", "-b", "side", str(other))
    (other / "MEMORY.md").write_text("- side\n", "utf-8")
    assert isinstance(_commit(other, "MEMORY.md"), Committed)
    assert _git(other, "status", "--porcelain") == ""
    assert _git(folder, "log", "-1", "--format=%s", "side") == "promote: 1 entry"
    assert _git(folder, "log", "-1", "--format=%s", "main") == "begin"
