"""Logs people in: a link that holds once, or a token; who is logged in has a cookie that stands for it."""

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from agentcore.clock import Clock
from agentcore.hosting.tokens import AccessTokens
from dream.interfaces.serving.caller import Caller

LINK_HOLDS: Final = timedelta(minutes=30)
LOGIN_HOLDS: Final = timedelta(hours=12)
_MOST: Final = 1_000
"""Logins at once; the oldest gives way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Somebody who is logged in.

    Args:
        secret: The token that the login stands for; it is looked up anew for each request.
        stamp: What forms carry, so that no other page can send them.
        until: When it ends.
    """

    secret: str = field(repr=False)
    stamp: str = field(repr=False)
    until: datetime

    def is_stamped(self, given: str) -> bool:
        """Tell whether a form was made for this login."""
        return hmac.compare_digest(self.stamp.encode(), given.encode("utf-8", "replace"))


@dataclass(slots=True)
class Logins:
    """Who is logged in; lives as long as the server, in memory alone.

    Args:
        tokens: Tell whom a secret stands for.
        clock: Tells what is over.
    """

    tokens: AccessTokens
    clock: Clock
    _links: dict[str, Login] = field(default_factory=dict[str, Login])
    _present: dict[str, Login] = field(default_factory=dict[str, Login])

    def link(self, secret: str) -> str:
        """Return a code that logs in once, as whom the token stands for."""
        code = secrets.token_urlsafe(24)
        self._keep(self._links, code, self._login(secret, LINK_HOLDS))
        return code

    async def enter_by_link(self, code: str) -> str | None:
        """Return the cookie for a code that was not used yet; None if it does not hold."""
        found = self._links.pop(code, None)
        return None if found is None or found.until <= self.clock.now() else await self.enter(found.secret)

    async def enter(self, secret: str) -> str | None:
        """Return the cookie for a token; None if it does not hold."""
        if await self.tokens.resolve(secret) is None:
            return None
        cookie = secrets.token_urlsafe(24)
        self._keep(self._present, cookie, self._login(secret, LOGIN_HOLDS))
        return cookie

    async def present(self, cookie: str) -> tuple[Login, Caller] | None:
        """Return who has a cookie, if the login and its token still hold."""
        login = self._present.get(cookie)
        token = None if login is None or login.until <= self.clock.now() else await self.tokens.resolve(login.secret)
        if login is None or token is None:
            self._present.pop(cookie, None)
            return None
        return login, Caller.of_token(token)

    def leave(self, cookie: str) -> None:
        """End a login."""
        self._present.pop(cookie, None)

    def _login(self, secret: str, holds: timedelta) -> Login:
        return Login(secret=secret, stamp=secrets.token_urlsafe(24), until=self.clock.now() + holds)

    @staticmethod
    def _keep(kept: dict[str, Login], key: str, login: Login) -> None:
        if len(kept) >= _MOST:
            del kept[next(iter(kept))]
        kept[key] = login
