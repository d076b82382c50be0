"""Finds the folder of a scope's documents by a text such as `notes/{observer}`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidOptionsError
from agentcore.workspace.errors import InvalidWorkspaceError

_PARTS: Final = ("workspace", "observer", "observed")
_PLACE = re.compile(r"\{([^{}]*)\}")
_EVERY_SCOPE: Final = ScopePattern("*", "*", "*")
_UNSAFE: Final = frozenset('\\:<>|"?*')


@dataclass(frozen=True, slots=True)
class WorkspaceTemplate:
    """Where the documents of some scopes are, by the parts of the scope.

    Args:
        base: The folder that relative ones lie in.
        text: The folder; `{workspace}`, `{observer}` and `{observed}` stand for the parts of the scope.
        pattern: Which scopes; None for all if the text names a part, else for the default one.

    Raises:
        InvalidOptionsError: the text names no folder, or something between braces that is no part of a scope.

    Example:
        >>> WorkspaceTemplate(Path("data"), "notes/{observer}").path(Scope.parse("acme/rex/ana")).as_posix()
        'data/notes/rex'
    """

    base: Path
    text: str
    pattern: ScopePattern | None = None

    def __post_init__(self) -> None:
        """Refuse what names no folder."""
        field = "workspace" if self.pattern is None else f"scopes.{self.pattern}.workspace"
        if not self.text.strip() or not self.text.isprintable():
            raise InvalidOptionsError(field=field, value=self.text, allowed="name a folder, such as notes/{observer}")
        for name in _PLACE.findall(self.text):
            if name not in _PARTS:
                allowed = f"between braces stands one of {', '.join(_PARTS)}"
                raise InvalidOptionsError(field=field, value=self.text, allowed=allowed)

    @property
    def scopes(self) -> ScopePattern:
        """Which scopes it is about."""
        if self.pattern is not None:
            return self.pattern
        default = Scope.default()
        here = ScopePattern.of(default)
        return _EVERY_SCOPE if _PLACE.search(self.text) else here

    def path(self, scope: Scope) -> Path:
        """Return the folder of a scope.

        Raises:
            InvalidWorkspaceError: a part of the scope is no name of a folder, such as `..`.
        """

        def part(found: re.Match[str]) -> str:
            name: str = getattr(scope, found[1])
            if name.startswith(".") or name.endswith((".", " ")) or _UNSAFE & set(name):
                problem = f"{found[1]} {name!r} of {scope} is no name of a folder; name its folder in the settings"
                raise InvalidWorkspaceError(path=self.text, problem=problem)
            return name

        return self.base / Path(_PLACE.sub(part, self.text)).expanduser()


@dataclass(frozen=True, slots=True)
class WorkspacePlan:
    """Which folder is whose, by the code of a host and by its settings file; lives as long as the host.

    Args:
        templates: What the file says; the narrowest that is about a scope decides.
        code: What the code says, a path for the default scope or a function; what it names for a scope wins.
    """

    templates: Sequence[WorkspaceTemplate]
    code: Path | Callable[[Scope], Path | None] | None = None

    def __call__(self, scope: Scope) -> Path | None:
        """Return the folder of a scope, made if the file names it; None if nobody names one.

        Raises:
            InvalidWorkspaceError: it cannot be made, or a part of the scope is no name of a folder.
        """
        said = self._said_by_code(scope)
        if said is not None:
            return said
        about = [one for one in self.templates if one.scopes.matches(scope)]
        if not about:
            return None
        path = max(about, key=lambda one: one.scopes.narrowness).path(scope)
        try:
            # Each by itself: the mode of `parents=True` is that of the last alone.
            for one in reversed([path, *path.parents]):
                if not one.is_dir():
                    one.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            problem = f"it cannot be made ({error.strerror}); make it, or name another folder"
            raise InvalidWorkspaceError(path=str(path), problem=problem) from error
        return path

    def _said_by_code(self, scope: Scope) -> Path | None:
        if isinstance(self.code, Path):
            return self.code if scope == Scope.default() else None
        return None if self.code is None else self.code(scope)
