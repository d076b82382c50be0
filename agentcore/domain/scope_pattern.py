"""Names several scopes at once, as in `acme/*/*`."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from agentcore.domain.scope import Scope
from agentcore.errors import InvalidScopeError

_ANY = "*"
_SPECIAL = frozenset("*?")


@dataclass(frozen=True, slots=True)
class ScopePattern:
    """Some scopes, by their three parts; in each, `*` stands for any characters and `?` for one.

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
    """

    workspace: str
    observer: str
    observed: str
    _parts: tuple[str, str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what no scope could match."""
        Scope(self.workspace, self.observer, self.observed)
        object.__setattr__(self, "_parts", (self.workspace, self.observer, self.observed))

    @classmethod
    def parse(cls, text: str) -> "ScopePattern":
        """Read `WORKSPACE/OBSERVER/OBSERVED`, each part with or without `*` and `?`."""
        parts = text.split("/")
        if len(parts) != 3:
            raise InvalidScopeError(part="scope pattern", value=text)
        return cls(*parts)

    @property
    def is_scope(self) -> bool:
        """Whether it names one scope and no others."""
        return not any(_SPECIAL & set(part) for part in self._parts)

    @property
    def narrowness(self) -> tuple[int, int]:
        """How narrow it is: of two patterns that match a scope, the options of the greater one win.

        A part without `*` and `?` counts for more than one with other characters beside them, and that for more than
        `*` alone. Of two that are equal in this the narrower one is that whose wider parts stand further right.
        """
        ranks = [2 if not _SPECIAL & set(part) else 1 if part.strip(_ANY) else 0 for part in self._parts]
        return sum(ranks), int("".join(map(str, ranks)))

    def matches(self, scope: Scope) -> bool:
        """Tell whether it names *scope*."""
        given = (scope.workspace, scope.observer, scope.observed)
        return all(map(_matches, given, self._parts))

    def __str__(self) -> str:
        return "/".join(self._parts)


def _matches(part: str, pattern: str) -> bool:
    # Brackets are characters like others here: fnmatch would read a set of characters.
    return pattern == _ANY or fnmatchcase(part, pattern.replace("[", "[[]"))
