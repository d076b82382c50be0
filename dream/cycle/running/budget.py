"""What calls may cost: the budgets of a run and of a day, and what later passes are left of them."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from agentcore.llm.chat import ChatRequest, Usage
from dream.cycle.running.prompt_limits import estimated_prompt
from dream.domain.reasons import Stop
from dream.domain.report import RunReport
from dream.options import ModelOptions


@dataclass(slots=True)
class Budget:
    """What may still be spent; lives as long as one pass of one run.

    Before a call it sets aside the prompt and the longest answer, so that the bound holds whatever comes back. A call
    that does not fit waits for those under way, which mostly cost less than was set aside for them.

    Args:
        options: The bounds.
        run: Tokens the run has cost so far.
        day: Tokens the day has cost so far, this run's among them.
        kept: Tokens that are left to later passes of the run (`kept_for`).
    """

    options: ModelOptions
    run: int
    day: int
    kept: int = 0
    _aside: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def set_aside(self, request: ChatRequest) -> Usage | Stop:
        """Return what the call may cost, once that is set aside; the bound that it could exceed, if it could."""
        most = estimated(request)
        cost = most.input_tokens + most.output_tokens
        async with self._changed:
            while True:
                stop = self._exceeded(cost)
                if stop is None:
                    self._aside += cost
                    return most
                if not self._aside:
                    return stop
                await self._changed.wait()

    async def settle(self, most: Usage, spent: int) -> None:
        """Count what a call cost in the place of what was set aside for it."""
        async with self._changed:
            self._aside -= most.input_tokens + most.output_tokens
            self.run += spent
            self.day += spent
            self._changed.notify_all()

    def _exceeded(self, cost: int) -> Stop | None:
        bounds = ((Stop.RUN_BUDGET, self.options.tokens_per_run, self.run),)
        bounds += ((Stop.DAY_BUDGET, self.options.tokens_per_day, self.day),)
        for stop, bound, spent in bounds:
            if bound is not None and spent + self._aside + self.kept + cost > bound:
                return stop
        return None


def kept_for(later: Collection[str], earlier_runs: Iterable[RunReport], options: ModelOptions) -> int:
    """Return the tokens that a pass leaves to later ones: to each that was left without a call for two runs its share.

    Args:
        later: The passes that come after it in the run and ask a model.
        earlier_runs: The dreams before this one, newest first.
        options: The bounds.
    """
    bounds = [bound for bound in (options.tokens_per_run, options.tokens_per_day) if bound is not None]
    newest = list(islice(earlier_runs, 2))
    if not bounds or len(newest) < 2:
        return 0
    first, second = ({one.name for one in run.passes if one.reason in set(Stop) and not one.calls} for run in newest)
    # A call at least: its prompt with the directives, and its answer.
    call = 2 * options.prompt_tokens + options.answer_tokens
    share = max(min(bounds) // (len(later) + 1), call)
    return share * len(first & second & set(later))


def estimated(request: ChatRequest) -> Usage:
    """Return the most a call can cost: its prompt by our own count, and the longest answer it allows.

    Example:
        >>> from agentcore.llm.chat import ChatMessage, ChatRole
        >>> prompt = (ChatMessage(ChatRole.USER, "twelve bytes"),)
        >>> estimated(ChatRequest(messages=prompt, max_output_tokens=100, purpose="")).input_tokens
        3
    """
    return Usage(input_tokens=estimated_prompt(request), output_tokens=request.max_output_tokens, is_estimated=True)
