"""Defines what a client of the server may do."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.domain.temporal import to_text


class Right(StrEnum):
    """What a client may do in the scopes that it reaches."""

    READ = "read"
    """See records and runs."""
    WRITE = "write"
    """Remember, log turns, dream, undo; whoever writes may read."""
    REVIEW = "review"
    """Decide what waits for a person; whoever reviews may read."""
    ADMIN = "admin"
    """Forget for good, import, and switch dreams and learning; includes all other rights."""


_INCLUDED = {
    Right.READ: {Right.READ},
    Right.WRITE: {Right.READ, Right.WRITE},
    Right.REVIEW: {Right.READ, Right.REVIEW},
    Right.ADMIN: set(Right),
}


def with_included(rights: "frozenset[Right]") -> "frozenset[Right]":
    """Return *rights* with those that they include.

    Example:
        >>> sorted(with_included(frozenset({Right.WRITE})))
        [<Right.READ: 'read'>, <Right.WRITE: 'write'>]
    """
    return frozenset(one for right in rights for one in _INCLUDED[right])


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """What a bearer token stands for; the secret itself is kept nowhere.

    Args:
        name: What people call it, and what `why` shows.
        scopes: Which scopes it reaches.
        rights: What it may do there.
        created_at: When it was made.
        expires_at: From when on it is refused; None for never.
        revoked_at: When somebody took it back; None while it holds.
    """

    name: str
    scopes: tuple[ScopePattern, ...]
    rights: frozenset[Right]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def holds(self, now: datetime) -> bool:
        """Tell whether it is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def reaches(self, scope: Scope) -> bool:
        """Tell whether it is about *scope*."""
        return any(pattern.matches(scope) for pattern in self.scopes)

    def may(self, right: Right) -> bool:
        """Tell whether it gives *right*."""
        return right in with_included(self.rights)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "scopes": list(map(str, self.scopes)),
            "rights": sorted(right.value for right in self.rights),
            "created_at": to_text(self.created_at),
            "expires_at": None if self.expires_at is None else to_text(self.expires_at),
            "revoked_at": None if self.revoked_at is None else to_text(self.revoked_at),
        }
