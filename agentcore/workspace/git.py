"""Commits the files that were written to the repository of a workspace, and nothing else."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from dulwich.errors import NotGitRepository
from dulwich.file import FileLocked
from dulwich.ignore import IgnoreFilterManager
from dulwich.index import IndexEntry, index_entry_from_stat
from dulwich.object_store import commit_tree_changes, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.refs import HEADREF
from dulwich.repo import Repo

_AUTHOR: Final = b"dream <dream@localhost>"
_DRAFT: Final = ".repository.draft"
_FILE_MODE: Final = 0o100644
_UNDER_WAY: Final = ("rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")


class NoCommit(StrEnum):
    """Why nothing was committed; the files are written all the same."""

    CLEAN_TREE = "clean_tree"
    """They are in the last commit as they are."""
    NO_REPOSITORY = "no_repository"
    """The workspace is none."""
    UNDER_WAY = "git_under_way"
    """Somebody is in the middle of a rebase, a merge or the like."""
    DETACHED_HEAD = "git_detached_head"
    """No branch is checked out that a commit could stand on."""
    STAGED = "git_staged_by_others"
    """Somebody staged another version of a file."""
    LOCKED = "git_locked"
    """Another program is writing to the repository."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A commit that was made."""

    commit_id: str


class WorkspaceGit:
    """The repository whose top is the workspace, if there is one; every method blocks, so ask from a thread.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def init(self) -> None:
        """Make the workspace a repository, unless it is one."""
        if (self._root / ".git").exists():
            return
        # Beside its place, so that it is there whole or not at all.
        draft = self._root / _DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        Repo.init(str(draft), mkdir=True).close()
        (draft / ".git").rename(self._root / ".git")
        draft.rmdir()

    def commit(self, names: Sequence[str], *, subject: str, body: str = "", at: datetime) -> Committed | NoCommit:
        """Commit the files *names* as they stand, on the branch that is checked out.

        Whatever else is changed or staged stays as it is. Nothing is committed where that cannot be done without
        touching somebody's work.

        Args:
            names: Files of the workspace; one that does not exist is committed as removed.
            subject: The first line of the message.
            body: What follows it.
            at: When.
        """
        try:
            repository = Repo(str(self._root))
        except NotGitRepository:
            return NoCommit.NO_REPOSITORY
        try:
            return _Commit(repository, self._root).of(names, f"{subject}\n\n{body}".strip() + "\n", at)
        except FileLocked:
            return NoCommit.LOCKED
        finally:
            repository.close()


class _Commit:
    def __init__(self, repository: Repo, root: Path) -> None:
        self._repository = repository
        self._root = root
        (*_, self._branch), head = repository.refs.follow(HEADREF)
        self._head: ObjectID | None = head

    def of(self, names: Sequence[str], message: str, at: datetime) -> Committed | NoCommit:
        control = Path(os.fsdecode(self._repository.controldir()))
        if any((control / name).exists() for name in _UNDER_WAY):
            return NoCommit.UNDER_WAY
        if self._branch == b"HEAD":
            return NoCommit.DETACHED_HEAD
        ignored = IgnoreFilterManager.from_repo(self._repository)
        wanted = [name for name in names if not ignored.is_ignored(name)]
        changes = {name: blob for name in wanted if (blob := self._blob(name)) != self._committed(name)}
        if not changes:
            return NoCommit.CLEAN_TREE
        if any(self._staged(name) not in {self._committed(name), blob} for name, blob in changes.items()):
            return NoCommit.STAGED
        return self._write(changes, message, at)

    def _write(self, changes: dict[str, ObjectID | None], message: str, at: datetime) -> Committed | NoCommit:
        repository, index = self._repository, self._repository.open_index()
        commit = self._commit(self._tree(changes), message, at)
        # The index first: killed between the two, the files look staged, and are committed by the next run.
        for name, blob in changes.items():
            if blob is not None:
                index[name.encode()] = index_entry_from_stat((self._root / name).stat(), blob)
            elif name.encode() in index:
                del index[name.encode()]
        index.write()
        repository.object_store.add_object(commit)
        moved = repository.refs.set_if_equals(self._branch, self._head, commit.id)
        return Committed(commit.id.decode()) if moved else NoCommit.LOCKED

    def _tree(self, changes: dict[str, ObjectID | None]) -> ObjectID:
        store = self._repository.object_store
        before = Tree() if self._head is None else store[self._top(self._head)]
        if self._head is None:
            store.add_object(before)
        after = [(name.encode(), None if blob is None else _FILE_MODE, blob) for name, blob in changes.items()]
        return commit_tree_changes(store, before.id, after)

    def _commit(self, tree: ObjectID, message: str, at: datetime) -> Commit:
        commit = Commit()
        commit.tree = tree
        commit.parents = [] if self._head is None else [self._head]
        commit.author = commit.committer = _AUTHOR
        commit.author_time = commit.commit_time = int(at.astimezone(UTC).timestamp())
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.encode()
        return commit

    def _top(self, commit_id: ObjectID) -> ObjectID:
        commit = self._repository[commit_id]
        assert isinstance(commit, Commit)  # noqa: S101  # a branch leads to a commit
        return commit.tree

    def _blob(self, name: str) -> ObjectID | None:
        """Store a file as git would, and return its id; None if there is no such file."""
        path = self._root / name
        if not path.is_file():
            return None
        blob = Blob.from_string(path.read_bytes())
        blob = self._repository.get_blob_normalizer().checkin_normalize(blob, name.encode())
        self._repository.object_store.add_object(blob)
        return blob.id

    def _committed(self, name: str) -> ObjectID | None:
        if self._head is None:
            return None
        store = self._repository.object_store
        try:
            return tree_lookup_path(store.__getitem__, self._top(self._head), name.encode())[1]
        except KeyError:
            return None

    def _staged(self, name: str) -> ObjectID | None:
        index, path = self._repository.open_index(), name.encode()
        entry = index[path] if path in index else None  # noqa: SIM401  # an Index is no dictionary: it has no `get`
        return entry.sha if isinstance(entry, IndexEntry) else None
