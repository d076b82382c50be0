"""How recall ranks, and how much of it stays open."""

import math
from dataclasses import dataclass

from agentcore.errors import InvalidOptionsError


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallOptions:
    """Options of `Recall`; immutable, checked when made.

    Raises:
        InvalidOptionsError: a number is out of range.

    Example:
        >>> RecallOptions(importance_weight=0.0).importance_weight
        0.0
    """

    k1: float = 1.2
    """How soon repetitions of a word stop counting; 0 or more."""
    b: float = 0.25
    """How much long entries are held back, 0..1."""
    importance_weight: float = 0.5
    """Share w of a score that importance decides: score = bm25 * (1 - w + w * importance); from 0 to below 1, so
    that whatever matches can be found."""
    open_scopes: int = 32
    """Scopes whose index stays in memory; the one unused for longest makes room, and is built again when asked."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        if not 0.0 <= self.k1 < math.inf:
            raise InvalidOptionsError(field="k1", value=self.k1, allowed="give a finite number of 0 or more")
        if not 0.0 <= self.b <= 1.0:
            raise InvalidOptionsError(field="b", value=self.b, allowed="give a number from 0 to 1")
        if not 0.0 <= self.importance_weight < 1.0:
            allowed = "give a number from 0 to below 1"
            raise InvalidOptionsError(field="importance_weight", value=self.importance_weight, allowed=allowed)
        if self.open_scopes < 1:
            raise InvalidOptionsError(field="open_scopes", value=self.open_scopes, allowed="give 1 or more")
