"""Estimates what a run would ask a model, and what that costs at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, kw_only=True)
class PassForecast:
    """What one pass would ask, counted by the host (a token per four bytes).

    Args:
        name: The pass.
        reason: Why it would ask nothing; None if it would.
        calls: Calls at least: its questions, and the next ones about what waits.
        most_calls: Calls at most, if each exchange has all rounds that it may have: a repair, and before and after it
            a second reading of each 15 statements that are expected of the answer, where texts are read a second time.
            Halves of what proves too long, and calls whose checks of the reader fail, come on top.
        directive_tokens: Tokens of its prompts that are the same in each: directives and the rule about data.
        data_tokens: The rest of its prompts.
        most_output_tokens: Tokens of the answers to these, if each is as long as it may be.
        most_further_tokens: Tokens in both directions of all further rounds: lookups, repairs, second readings.
        backlog: Items that it would leave for later runs.
    """

    name: str
    reason: str | None = None
    calls: int = 0
    most_calls: int = 0
    directive_tokens: int = 0
    data_tokens: int = 0
    most_output_tokens: int = 0
    most_further_tokens: int = 0
    backlog: int = 0

    @property
    def least_tokens(self) -> int:
        """Tokens at least: the prompts of the questions."""
        return self.directive_tokens + self.data_tokens

    @property
    def most_tokens(self) -> int:
        """Tokens in both directions at most, all rounds counted: what budgets set aside."""
        return self.least_tokens + self.most_output_tokens + self.most_further_tokens

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "reason": self.reason,
            "calls": self.calls,
            "most_calls": self.most_calls,
            "directive_tokens": self.directive_tokens,
            "data_tokens": self.data_tokens,
            "most_output_tokens": self.most_output_tokens,
            "most_further_tokens": self.most_further_tokens,
            "least_tokens": self.least_tokens,
            "most_tokens": self.most_tokens,
            "backlog": self.backlog,
        }


def total(passes: Iterable[PassForecast]) -> PassForecast:
    """Return the sum of all passes.

    Example:
        >>> total([PassForecast(name="a", calls=1, data_tokens=5), PassForecast(name="b", calls=2)]).calls
        3
    """
    given = list(passes)
    return PassForecast(
        name="total",
        calls=sum(one.calls for one in given),
        most_calls=sum(one.most_calls for one in given),
        directive_tokens=sum(one.directive_tokens for one in given),
        data_tokens=sum(one.data_tokens for one in given),
        most_output_tokens=sum(one.most_output_tokens for one in given),
        most_further_tokens=sum(one.most_further_tokens for one in given),
        backlog=sum(one.backlog for one in given),
    )
