"""Names several scopes at once, as in `acme/*/*`."""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agentcore.domain.scope import Scope
from agentcore.errors import InvalidScopeError

_ANY = "*"
_SPECIAL = re.compile(r"(?<!\\)[*?]")
_ESCAPED = re.compile(r"\\([*?])")
_LITERAL = re.compile(r"\\[*?]|\[")


@dataclass(frozen=True, slots=True)
class ScopePattern:
    r"""Some scopes, by their three parts; in each, `*` stands for any characters and `?` for one.

    `\*` and `\?` stand for the characters themselves.

    Args:
        workspace: Which tenants or applications.
        observer: Who remembers.
        observed: Whom the memory is about.

    Raises:
        InvalidScopeError: a part is nothing that a scope's part could be.

    Example:
        >>> ScopePattern.parse("acme/*/*").matches(Scope.parse("acme/agent/ana"))
        True
        >>> ScopePattern.parse("acme/*/ana").narrowness > ScopePattern.parse("acme/*/*").narrowness
        True
        >>> ScopePattern.of(Scope("acme", "agent", "*")).matches(Scope("acme", "agent", "ana"))
        False
    """

    workspace: str
    observer: str
    observed: str
    _parts: tuple[str, str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what no scope could match."""
        parts = (self.workspace, self.observer, self.observed)
        Scope(*map(_plain, parts))
        object.__setattr__(self, "_parts", parts)

    @classmethod
    def parse(cls, text: str) -> "ScopePattern":
        """Read `WORKSPACE/OBSERVER/OBSERVED`, each part with or without `*` and `?`."""
        parts = text.split("/")
        if len(parts) != 3:
            raise InvalidScopeError(part="scope pattern", value=text)
        return cls(*parts)

    @classmethod
    def of(cls, scope: Scope) -> "ScopePattern":
        """Return what names *scope* and no other, whatever characters it holds."""
        parts = (scope.workspace, scope.observer, scope.observed)
        return cls(*(re.sub(r"[*?]", r"\\\g<0>", part) for part in parts))

    @property
    def scope(self) -> Scope | None:
        """The one scope that it names; None if it may name several."""
        return None if any(map(_SPECIAL.search, self._parts)) else Scope(*map(_plain, self._parts))

    @property
    def is_any_observer(self) -> bool:
        """Whether it leaves open who remembers."""
        return self.observer == _ANY

    @property
    def narrowness(self) -> tuple[int, int]:
        """How narrow it is: of two patterns that match a scope, the options of the greater one win.

        A part without `*` and `?` counts for more than one with other characters beside them, and that for more than
        `*` alone. Of two that are equal in this the narrower one is that whose wider parts stand further right.
        """
        ranks = [2 if not _SPECIAL.search(part) else 1 if part.strip(_ANY) else 0 for part in self._parts]
        return sum(ranks), int("".join(map(str, ranks)))

    def covers(self, other: "ScopePattern") -> bool:
        """Tell whether it surely matches all that *other* matches: each part is the same, or `*`.

        Example:
            >>> ScopePattern.parse("acme/*/*").covers(ScopePattern.parse("acme/agent/*"))
            True
            >>> ScopePattern.parse("acme/*/ana").covers(ScopePattern.parse("acme/*/*"))
            False
        """
        pairs = (
            (self.workspace, other.workspace),
            (self.observer, other.observer),
            (self.observed, other.observed),
        )
        return all(mine in {_ANY, its} for mine, its in pairs)

    def matches(self, scope: Scope) -> bool:
        """Tell whether it names *scope*."""
        given = (scope.workspace, scope.observer, scope.observed)
        return all(map(_matches, given, self._parts))

    def __str__(self) -> str:
        return "/".join(self._parts)


def _plain(part: str) -> str:
    return _ESCAPED.sub(r"\1", part)


def _matches(part: str, pattern: str) -> bool:
    # Brackets are characters like others here: fnmatch would read a set of characters.
    return pattern == _ANY or fnmatchcase(part, _LITERAL.sub(lambda found: f"[{found[0][-1]}]", pattern))
