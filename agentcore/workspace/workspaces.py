"""Finds which folder is whose workspace."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from agentcore.domain.scope import Scope
from agentcore.workspace.errors import InvalidWorkspaceError
from agentcore.workspace.folder import WorkspaceFolder

Whereabouts = Path | Callable[[Scope], Path | None]


class GitUse(StrEnum):
    """Whether what dreams write is committed."""

    AUTO = "auto"
    """If the workspace is a repository."""
    INIT = "init"
    """Always; a workspace that is no repository becomes one."""
    OFF = "off"
    """Never."""


@dataclass(frozen=True, slots=True)
class Workspaces:
    """The workspaces of a host; lives as long as it.

    Args:
        where: The default scope's folder, or what names the folder of a scope, None for a scope without one.
        git: Whether what dreams write is committed.
        is_readonly: Whether nothing is written, as in the trial of a plan.
    """

    where: Whereabouts
    git: GitUse = GitUse.AUTO
    is_readonly: bool = False
    _owners: dict[Path, Scope] = field(default_factory=dict[Path, Scope])

    def folder(self, scope: Scope) -> WorkspaceFolder | None:
        """Return a scope's workspace, None if it has none.

        Raises:
            InvalidWorkspaceError: the folder is none or another scope's, or the host's function failed.
        """
        path = self._path(scope)
        if path is None:
            return None
        folder = WorkspaceFolder(path)
        owner = self._owners.setdefault(folder.root, scope)
        if owner != scope:
            raise InvalidWorkspaceError(
                path=str(path), problem=f"it is that of {owner} already; give {scope} another folder"
            )
        return folder

    def _path(self, scope: Scope) -> Path | None:
        if isinstance(self.where, Path):
            return self.where.expanduser() if scope == Scope.default() else None
        try:
            path = self.where(scope)
            return None if path is None else path.expanduser()
        except InvalidWorkspaceError:
            raise
        except Exception as error:
            problem = f"the function given to with_workspace failed ({type(error).__name__}: {error}); mend it"
            raise InvalidWorkspaceError(path=f"of {scope}", problem=problem) from error

    def read_only(self) -> "Workspaces":
        """Return the same workspaces, for a trial that must leave no trace."""
        return replace(self, is_readonly=True)
