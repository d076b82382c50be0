"""The budget of tokens: what a run and a day may cost, failed calls included."""

import asyncio
from dataclasses import dataclass, field

from agentcore.llm.chat import ChatRequest, Usage
from agentcore.llm.tokens import estimate_tokens
from dream.domain.reasons import Stop
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
    """

    options: ModelOptions
    run: int
    day: int
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
            if bound is not None and spent + self._aside + cost > bound:
                return stop
        return None


def estimated(request: ChatRequest) -> Usage:
    """Return the most a call can cost: its prompt by our own count, and the longest answer it allows.

    Example:
        >>> from agentcore.llm.chat import ChatMessage, ChatRole
        >>> prompt = (ChatMessage(ChatRole.USER, "twelve bytes"),)
        >>> estimated(ChatRequest(messages=prompt, max_output_tokens=100, purpose="")).input_tokens
        3
    """
    prompt = sum(estimate_tokens(message.content) for message in request.messages)
    return Usage(input_tokens=prompt, output_tokens=request.max_output_tokens, is_estimated=True)
