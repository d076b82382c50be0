"""Figures, their targets, and the table they are printed in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Args:
        what: What was measured.
        value: How much of it, in *unit*.
        unit: Such as `s` or `ms`; empty for a ratio.
        most: The target, if it is an upper bound.
        least: The target, if it is a lower bound.
        spread: What the repetitions gave, for the reader to judge the noise by.
    """

    what: str
    value: float
    unit: str = ""
    most: float | None = None
    least: float | None = None
    spread: tuple[float, ...] = ()

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.most is not None:
            return self.value <= self.most
        return None if self.least is None else self.value >= self.least

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """The cells of its line in the table."""
        target = "" if self.most is None else f"<= {self._told(self.most)}"
        if self.least is not None:
            target = f">= {self._told(self.least)}"
        verdict = {None: "", True: "met", False: "**missed**"}[self.is_met]
        spread = " ".join(_short(value) for value in sorted(self.spread)) if len(self.spread) > 1 else ""
        return self.what, self._told(self.value), spread, target, verdict

    def _told(self, value: float) -> str:
        return f"{_short(value)} {self.unit}".strip()


def middle(what: str, values: Sequence[float], unit: str = "", *, most: float | None = None) -> Figure:
    """Return the median of repetitions as a figure, with all of them as its spread."""
    return Figure(what, median(values), unit, most=most, spread=tuple(values))


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest of *values* that a *share* of them (0..1) does not exceed.

    Example:
        >>> quantile([5, 1, 4, 2, 3], 0.5), quantile([5, 1, 4, 2, 3], 1.0)
        (3, 5)
    """
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)]


def table(figures: Iterable[Figure]) -> str:
    """Return the figures as a Markdown table."""
    head = ("figure", "value", "repetitions", "target", "")
    lines = [head, tuple("---" for _ in head), *(figure.row for figure in figures)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _short(value: float) -> str:
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
