"""Makes, checks and takes back the bearer tokens of clients."""

import hashlib
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agentcore.clock import Clock
from agentcore.domain.access import AccessToken, Right
from agentcore.domain.scope import Scope
from agentcore.domain.scope_pattern import ScopePattern
from agentcore.errors import InvalidContentError, InvalidOptionsError
from agentcore.hosting.checks import clean_member, clean_name
from agentcore.stores.storage import Storage, UnitOfWork

PREFIX: Final = "dream_"
"""How secrets begin, so that scanners of repositories know them."""

LOCAL: Final = "dream-serve"
"""The name of the token that `dream serve` makes for clients on its machine; nobody else's token is called so."""

_FRESH = timedelta(seconds=1)
_KNOWN = 1_024


@dataclass(slots=True)
class _Seen:
    """What a secret stood for when it was read, and when somebody asked for it last."""

    token: AccessToken | None
    read_at: datetime
    asked_at: datetime


class AccessTokens:
    """The bearer tokens of a host, for all its scopes; lives as long as the host.

    A secret is 256 random bits; only its SHA-256 is stored, so that who reads the database cannot use it.

    Args:
        storage: Where they are kept.
        clock: Tells when they expire.
    """

    def __init__(self, storage: Storage, *, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._seen: dict[str, _Seen] = {}

    async def create(
        self,
        name: str,
        *,
        scopes: Iterable[Scope | str],
        rights: Collection[Right | str],
        lifetime: timedelta | None = None,
        until: datetime | None = None,
    ) -> tuple[str, AccessToken]:
        """Make a token.

        Args:
            name: What people call it, at most 64 characters.
            scopes: The scopes it reaches: a `Scope` for that one alone, whatever its name; a text with or without
                wildcards (`acme/*/*`).
            rights: What it may do there.
            lifetime: How long it holds; None for ever.
            until: When it ends at the latest, as the token ends that makes it; None if nothing bounds it.

        Returns:
            The secret, which is told this once, and what is kept of it.

        Raises:
            InvalidInputError: one of these cannot be taken, or a token that holds has the name.
        """
        called = clean_name("name", name)
        if len(called) > 64 or not called.isprintable():
            raise InvalidContentError(field="name", problem="it must be at most 64 printable characters")
        if called == LOCAL:
            raise InvalidContentError(field="name", problem="`dream serve` calls its own token so; choose another")
        patterns = tuple(ScopePattern.of(one) if isinstance(one, Scope) else ScopePattern.parse(one) for one in scopes)
        given = frozenset(clean_member(Right, "right", right) for right in rights)
        if not patterns or not given:
            raise InvalidOptionsError(field="scopes and rights", value="none", allowed="give at least one of each")
        if lifetime is not None and lifetime <= timedelta():
            raise InvalidOptionsError(field="lifetime", value=lifetime, allowed="give more than nothing")
        now = self._clock.now()
        ends = [one for one in (until, None if lifetime is None else now + lifetime) if one is not None]
        token = AccessToken(
            name=called,
            scopes=patterns,
            rights=given,
            created_at=now,
            expires_at=min(ends, default=None),
        )
        secret = _new_secret()
        await self._storage.write(Scope.default(), lambda unit: unit.tokens.add(token, _digest(secret)))
        return secret, token

    async def renew_local(self) -> str:
        """Make the token for everything on this machine, and take back the one before; return its secret."""
        everything = (ScopePattern("*", "*", "*"),)
        now, secret = self._clock.now(), _new_secret()
        token = AccessToken(name=LOCAL, scopes=everything, rights=frozenset({Right.ADMIN}), created_at=now)

        def renew(unit: UnitOfWork) -> None:
            unit.tokens.revoke(LOCAL)
            unit.tokens.add(token, _digest(secret))

        self._seen.clear()
        await self._storage.write(Scope.default(), renew)
        return secret

    async def list(self) -> "list[AccessToken]":
        """Return all tokens, revoked and expired ones too, the newest last."""
        return await self._storage.read(Scope.default(), lambda view: view.tokens.every())

    async def revoke(self, name: str) -> bool:
        """Take a token back; every process refuses it within a second. Return whether one of this name held."""
        self._seen.clear()
        return await self._storage.write(Scope.default(), lambda unit: unit.tokens.revoke(name))

    async def resolve(self, secret: str) -> AccessToken | None:
        """Return what *secret* stands for; None if it is unknown, revoked or expired.

        The database is asked for the hash of the secret, so that the time of the answer tells nothing of other secrets.
        """
        digest, now = _digest(secret), self._clock.now()
        known = self._seen.get(digest)
        if known is None or not (known.read_at <= now < known.read_at + _FRESH and now < known.asked_at + _FRESH / 2):
            if known is not None:
                # One asks again before a second is over: ten thousand streams have one token.
                known.asked_at = now
            token = await self._storage.read(Scope.default(), lambda view: view.tokens.by_digest(digest))
            if len(self._seen) >= _KNOWN:
                self._seen.clear()
            self._seen[digest] = known = _Seen(token, now, now)
        return known.token if known.token is not None and known.token.holds(now) else None


def _new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()
