"""Sums what the calls of a model cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDay:
    """What the dreams of all scopes together cost today (UTC), and what they may.

    Args:
        calls: Calls of models.
        tokens: Their tokens, in both directions.
        most_calls: `host_calls_per_day`; None without that bound.
        most_tokens: `host_tokens_per_day`; None without that bound.
    """

    calls: int
    tokens: int
    most_calls: int | None
    most_tokens: int | None

    def to_json(self) -> dict[str, int | None]:
        """Return plain JSON values."""
        return {
            "calls": self.calls,
            "tokens": self.tokens,
            "most_calls": self.most_calls,
            "most_tokens": self.most_tokens,
        }


class UsageKey(StrEnum):
    """What usage is told apart by."""

    DAY = "day"
    """The day (UTC) of the answer or the failure."""
    PASS = "pass"  # noqa: S105 - a pass of a dream
    """The pass that asked."""
    MODEL = "model"
    """The model that was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """What calls cost; what they are not told apart by is None.

    Args:
        day: The day, in UTC.
        pass_name: The pass.
        model: The model, as its server names it; empty where no call of its request was answered.
        calls: Calls, failed ones included.
        failed: Calls that gave no answer.
        input_tokens: Tokens sent, those of failed calls included.
        output_tokens: Tokens received, likewise.
        unanswered: Those of the failed calls that are under way, or whose process ended before an answer came.
        unanswered_tokens: What these are charged, an estimate.
    """

    day: date | None = None
    pass_name: str | None = None
    model: str | None = None
    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unanswered: int = 0
    unanswered_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Tokens in both directions: what budgets count."""
        return self.input_tokens + self.output_tokens

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; what the row is not told apart by is left out, and calls without answer if none."""
        keys = {"day": self.day and self.day.isoformat(), "pass": self.pass_name, "model": self.model}
        return {
            **{name: value for name, value in keys.items() if value is not None},
            "calls": self.calls,
            "failed": self.failed,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            **({"unanswered": self.unanswered, "unanswered_tokens": self.unanswered_tokens} if self.unanswered else {}),
        }


EVERYTHING = frozenset(UsageKey)
"""Told apart as far as it can be."""


def summed(rows: Iterable[UsageRow], by: Collection[UsageKey] = ()) -> list[UsageRow]:
    """Return *rows* added up, one for each day, pass and model that *by* names, in that order.

    Example:
        >>> rows = [UsageRow(model="a", calls=2, input_tokens=70), UsageRow(model="b", calls=1, input_tokens=5)]
        >>> [(row.calls, row.tokens) for row in summed(rows)]
        [(3, 75)]
    """
    found: dict[tuple[date | None, str | None, str | None], UsageRow] = {}
    for row in rows:
        key = (
            row.day if UsageKey.DAY in by else None,
            row.pass_name if UsageKey.PASS in by else None,
            row.model if UsageKey.MODEL in by else None,
        )
        so_far = found.get(key, UsageRow())
        day, pass_name, model = key
        found[key] = UsageRow(
            day=day,
            pass_name=pass_name,
            model=model,
            calls=so_far.calls + row.calls,
            failed=so_far.failed + row.failed,
            input_tokens=so_far.input_tokens + row.input_tokens,
            output_tokens=so_far.output_tokens + row.output_tokens,
            unanswered=so_far.unanswered + row.unanswered,
            unanswered_tokens=so_far.unanswered_tokens + row.unanswered_tokens,
        )
    return sorted(found.values(), key=lambda row: (row.day or date.min, row.pass_name or "", row.model or ""))
