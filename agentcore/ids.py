"""Identity as an argument."""

import secrets
from typing import Protocol


class IdFactory(Protocol):
    """Where new record ids come from; lives as long as the host.

    Doubles: `agentcore.testing.SequentialIds`.
    """

    def new(self) -> str:
        """Return an id never returned before: 1 to 64 characters of `[a-z0-9-]`."""
        ...


class RandomIds:
    """Sixteen hexadecimal characters: 64 random bits, short enough to quote by a prefix.

    Example:
        >>> len(RandomIds().new())
        16
    """

    def new(self) -> str:
        """Return a fresh id from the operating system's randomness."""
        return secrets.token_hex(8)
