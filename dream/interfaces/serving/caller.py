"""Says who calls, and what they may do."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentcore.domain.access import AccessToken, Right, with_included
from agentcore.domain.actor import AGENT, Actor, ActorKind
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidInputError
from dream.errors import DreamError

SCOPE_KEY: Final = "dream.caller"
"""Where the gatekeeper leaves the caller in the scope of an ASGI request."""


class NotAllowedError(DreamError, InvalidInputError):
    """The token does not give the right that this takes, or does not reach the scope."""

    def __init__(self, *, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}: {remedy}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls, for the length of a request or of a connection.

    Args:
        actor: What the writes carry.
        scopes: The scopes it reaches.
        rights: What it may do there, with what they include.
        until: When it ends; None if never.
    """

    actor: Actor
    scopes: tuple[ScopePattern, ...]
    rights: frozenset[Right]
    until: datetime | None = None

    @classmethod
    def of_token(cls, token: AccessToken) -> "Caller":
        """Return who a bearer token stands for."""
        actor = Actor(ActorKind.TOKEN, token.name)
        return cls(actor=actor, scopes=token.scopes, rights=with_included(token.rights), until=token.expires_at)

    @classmethod
    def local_agent(cls, scope: Scope, *, is_read_only: bool) -> "Caller":
        """Return the agent that started this process, which it could as well do without it."""
        rights = frozenset({Right.READ}) if is_read_only else frozenset(Right)
        return cls(actor=AGENT, scopes=(ScopePattern.of(scope),), rights=rights)

    def may(self, right: Right) -> bool:
        """Tell whether it has *right*."""
        return right in self.rights

    def require(self, right: Right) -> None:
        """Refuse what it may not do.

        Raises:
            NotAllowedError: it lacks *right*.
        """
        if not self.may(right):
            remedy = f"`dream token create NAME --right {right.value}` makes one that does"
            raise NotAllowedError(problem=f"The token does not give the right to {right.value}", remedy=remedy)

    def reaches(self, scope: Scope) -> bool:
        """Tell whether it reaches *scope*."""
        return any(pattern.matches(scope) for pattern in self.scopes)

    def covers(self, patterns: Iterable[ScopePattern]) -> bool:
        """Tell whether it reaches all that these patterns reach."""
        return all(any(mine.covers(one) for mine in self.scopes) for one in patterns)

    def reaches_all(self, workspace: str, observed: str) -> bool:
        """Tell whether it reaches all scopes of a workspace that are about a peer, whoever remembers."""
        anyone = [pattern for pattern in self.scopes if pattern.is_any_observer]
        return any(pattern.matches(Scope(workspace, "any", observed)) for pattern in anyone)

    def reaches_workspace(self, workspace: str) -> bool:
        """Tell whether it reaches all scopes there are and will be in a workspace."""
        whole = [pattern for pattern in self.scopes if (pattern.observer, pattern.observed) == ("*", "*")]
        return any(pattern.matches(Scope(workspace, "any", "any")) for pattern in whole)

    @property
    def reaches_everything(self) -> bool:
        """Whether it reaches all scopes there are and will be."""
        return ScopePattern.parse("*/*/*") in self.scopes

    def scope(self, named: str | None) -> Scope:
        """Return the scope that is meant: the named one, else the only one of the token, else the default one.

        Raises:
            InvalidScopeError: the name is no scope.
            NotAllowedError: it does not reach the scope, whether there is one of that name or not.
        """
        if named is not None:
            scope = Scope.parse(named)
        else:
            scope = (self.scopes[0].scope if len(self.scopes) == 1 else None) or Scope.default()
        if not self.reaches(scope):
            raise NotAllowedError(problem="The token does not reach this scope", remedy="name one that it reaches")
        return scope
