"""Computes importance from calendar time since the last reinforcement, and from nothing else."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from agentcore.errors import InvalidOptionsError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MICROSECOND = timedelta(microseconds=1)
_NOTHING = timedelta()
_NEVER_US = -(2**62)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecayTally:
    """What decay has done to a column of entries as of one instant; tallies of blocks add up.

    Args:
        entries: How many were looked at.
        faded: How many read below their base.
        at_floor: How many of the faded read exactly the floor.

    Example:
        >>> DecayTally(entries=3, faded=2, at_floor=1) + DecayTally(entries=1, faded=1, at_floor=0)
        DecayTally(entries=4, faded=3, at_floor=1)
    """

    entries: int = 0
    faded: int = 0
    at_floor: int = 0

    def __add__(self, other: "DecayTally") -> "DecayTally":
        """Return the tally of both blocks."""
        return DecayTally(
            entries=self.entries + other.entries,
            faded=self.faded + other.faded,
            at_floor=self.at_floor + other.at_floor,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How importance fades; options, immutable, shared by store, recall, passes and CLI.

    The stored `base` never changes by itself. What a reader sees at *now* is

        base                                                              if base <= floor
        max(floor, base * 2 ** (-max(0, now - last_seen_at - grace) / half_life))   otherwise

    Source: the project's explanation "Importance is a function of calendar time" (`docs/explanation/`). As
    nothing is written along the way, changing the half-life or another option re-values history: every entry
    reads at once as if the new values had always held.

    Raises:
        InvalidOptionsError: the floor is not within 0..1, or the grace is negative.

    Example:
        >>> from datetime import UTC
        >>> seen = datetime(2025, 1, 1, tzinfo=UTC)
        >>> Decay().value(0.8, seen, seen + timedelta(days=75))
        0.4
    """

    grace: timedelta = timedelta(days=30)
    """How long an entry keeps its base after a reinforcement; >= 0."""
    half_life: timedelta = timedelta(days=45)
    """Time after the grace in which importance halves; zero or less switches decay off."""
    floor: float = 0.10
    """Importance at which fading ends, 0..1; entries whose base is not above it do not fade."""

    def __post_init__(self) -> None:
        """Refuse values that have no meaning."""
        if not 0.0 <= self.floor <= 1.0:
            raise InvalidOptionsError(field="floor", value=self.floor, allowed="give a number from 0 to 1")
        if self.grace < timedelta(0):
            raise InvalidOptionsError(field="grace", value=self.grace, allowed="give a duration of 0 or more")

    @property
    def enabled(self) -> bool:
        """Whether anything fades at all."""
        return self.half_life > _NOTHING

    def value(self, base: float, last_seen_at: datetime, now: datetime) -> float:
        """Return the importance, 0..1, of one entry as of *now*.

        Args:
            base: Stored importance, 0..1.
            last_seen_at: Last reinforcement, aware; one in the future has not faded.
            now: The instant of reading, aware.
        """
        elapsed = now - last_seen_at
        if elapsed <= self.grace or base <= self.floor or self.half_life <= _NOTHING:
            return base
        return max(self.floor, base * math.exp2(-((elapsed - self.grace) / self.half_life)))

    def values(
        self,
        base: "NDArray[np.float64]",
        last_seen_us: "NDArray[np.int64]",
        now_us: int,
    ) -> "NDArray[np.float64]":
        """Return `value` for whole columns as a new array; equal to it within 1e-12.

        Args:
            base: Stored importance, shape (n,), 0..1.
            last_seen_us: Last reinforcements, shape (n,), microseconds since the epoch in UTC.
            now_us: The instant of reading, microseconds since the epoch in UTC.
        """
        import numpy as np  # noqa: PLC0415 - opening a host and remembering must not pay for NumPy

        if not self.enabled:
            return base.copy()
        # The bound keeps a grace of centuries within int64; nothing was seen before it, so nothing fades.
        onset_us = max(now_us - self.grace // _MICROSECOND, _NEVER_US)
        exponent = np.minimum(last_seen_us - onset_us, 0) / (self.half_life / _MICROSECOND)
        result = np.exp2(exponent, out=exponent)
        result *= base
        np.maximum(result, self.floor, out=result)
        np.copyto(result, base, where=base <= self.floor)
        return result

    def tally(self, base: "NDArray[np.float64]", last_seen_us: "NDArray[np.int64]", now_us: int) -> DecayTally:
        """Count what has faded as of *now_us*; arguments as for `values`."""
        import numpy as np  # noqa: PLC0415 - as above

        values = self.values(base, last_seen_us, now_us)
        faded = values < base
        at_floor = faded & (values == self.floor)
        return DecayTally(
            entries=len(base),
            faded=int(np.count_nonzero(faded)),
            at_floor=int(np.count_nonzero(at_floor)),
        )
