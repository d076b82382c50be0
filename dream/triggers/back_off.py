"""Works out how long to wait after failures."""

from __future__ import annotations

from datetime import timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentcore.domain.scope import Scope
    from dream.options import SchedulingOptions

_JITTER: Final = 0.25
_DOUBLINGS: Final = 40


def back_off(scope: Scope, failures: int, options: SchedulingOptions) -> timedelta:
    """Return how long to wait after so many failures in a row: doubling, up to a quarter less by chance.

    The chance is a hash of scope and number, so that every process waits alike and no two scopes do.

    Example:
        >>> from agentcore.domain import Scope
        >>> from dream.options import SchedulingOptions
        >>> back_off(Scope.default(), 0, SchedulingOptions())
        datetime.timedelta(0)
    """
    if failures <= 0:
        return timedelta(0)
    wait = min(options.back_off * 2 ** min(failures - 1, _DOUBLINGS), options.max_back_off)
    digest = blake2b(f"{scope}#{failures}".encode(), digest_size=4).digest()
    return wait * (1 - _JITTER * int.from_bytes(digest, "big") / 2**32)
