"""SequentialIds: identity a test can foresee."""

import re
from threading import Lock

from agentcore.errors import InvalidOptionsError

_PREFIX = re.compile(r"[a-z0-9-]{1,48}")


class SequentialIds:
    """An `IdFactory` that counts; lives as long as the test and may be called from any thread.

    Args:
        prefix: 1 to 48 characters of `[a-z0-9-]`.

    Raises:
        InvalidOptionsError: another prefix.

    Example:
        >>> ids = SequentialIds("turn")
        >>> ids.new(), ids.new()
        ('turn-000001', 'turn-000002')
    """

    def __init__(self, prefix: str = "id") -> None:
        if not _PREFIX.fullmatch(prefix):
            raise InvalidOptionsError(field="prefix", value=prefix, allowed="use 1 to 48 characters of [a-z0-9-]")
        self._prefix = prefix
        self._count = 0
        self._lock = Lock()

    def new(self) -> str:
        """Return the next id."""
        with self._lock:
            self._count += 1
            return f"{self._prefix}-{self._count:06d}"
