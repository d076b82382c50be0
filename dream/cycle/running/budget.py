"""What calls may cost: the budgets of a run and of a day, and what later passes are left of them."""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from agentcore.domain.scope import Scope
from agentcore.llm.chat import ChatRequest, Completion, Usage
from agentcore.llm.errors import ChatError
from agentcore.stores.storage import Storage, UnitOfWork
from dream.cycle.running.prompt_limits import estimated_prompt
from dream.domain.reasons import Stop
from dream.domain.report import RunReport
from dream.options import ModelOptions
from dream.stores import dream_stores
from dream.stores.calls import CallKey, Spent


@dataclass(slots=True)
class Budget:
    """What may still be spent; lives as long as one pass of one run.

    Before a call it sets aside the prompt and the longest answer, so that the bound holds whatever comes back. A call
    that does not fit waits for those under way, which mostly cost less than was set aside for them.

    What is set aside is on record before the call is sent: it stays charged when the process ends in the call, and
    what all scopes cost, which is read with it, has what is in flight elsewhere.

    Args:
        storage: Where calls are on record.
        scope: Whose memory.
        options: The bounds.
        since: When the day began.
        run: Tokens the run has cost so far.
        day: What the day has cost so far, this run's calls among it.
        kept: Tokens that are left to later passes of the run (`kept_for`).
    """

    storage: Storage
    scope: Scope
    options: ModelOptions
    since: datetime
    run: int
    day: Spent
    kept: int = 0
    _aside: int = 0
    _calls: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def set_aside(self, key: CallKey, request: ChatRequest) -> Usage | str:
        """Return what the call may cost, once that is on record; the reason with a code of `Stop`, if it may not."""
        most = estimated(request)
        cost = most.input_tokens + most.output_tokens
        is_of_all = self.options.host_tokens_per_day is not None or self.options.host_calls_per_day is not None

        def begin(unit: UnitOfWork) -> str | None:
            calls = dream_stores(unit).calls
            stop = self._exceeded(cost, calls.spent_by_all(self.since) if is_of_all else Spent())
            if stop is None:
                calls.begin(key, most, model=request.model or "")
            return stop

        async with self._changed:
            while True:
                stop = await self.storage.write(self.scope, begin)
                if stop is None:
                    self._aside += cost
                    self._calls += 1
                    return most
                if not self._aside:
                    return stop
                await self._changed.wait()

    async def settle(self, most: Usage, outcome: Completion | Exception | None) -> None:
        """Count what came of a call in the place of what was set aside for it; None if it was given up."""
        spent = _cost(outcome, most)
        async with self._changed:
            self._aside -= most.input_tokens + most.output_tokens
            self._calls -= 1
            self.run += spent
            self.day += Spent(1, spent)
            self._changed.notify_all()

    def _exceeded(self, cost: int, of_all: Spent) -> str | None:
        """Return why a call may not be made; *of_all* has what was set aside, the rest counts it on top."""
        options, more = self.options, self._aside + self.kept + cost
        tokens = {
            "tokens_per_run": options.tokens_per_run,
            "tokens_per_day": options.tokens_per_day,
            "host_tokens_per_day": options.host_tokens_per_day,
        }
        for name, bound in tokens.items():
            if bound is not None and bound < cost:
                needs = f"a call needs about {cost:,} tokens, and model.{name} allows {bound:,}: raise it"
                return f"{Stop.BUDGET_TOO_SMALL}: {needs}"
        bounds = (
            (Stop.RUN_BUDGET, options.tokens_per_run, self.run + more),
            (Stop.DAY_BUDGET, options.tokens_per_day, self.day.tokens + more),
            (Stop.DAY_CALLS, options.calls_per_day, self.day.calls + self._calls + 1),
            (Stop.HOST_TOKENS, options.host_tokens_per_day, of_all.tokens + self.kept + cost),
            (Stop.HOST_CALLS, options.host_calls_per_day, of_all.calls + 1),
        )
        return next((stop.value for stop, bound, spent in bounds if bound is not None and spent > bound), None)


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
    first, second = ({one.name for one in run.passes if Stop.of(one.reason) and not one.calls} for run in newest)
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


def _cost(outcome: Completion | Exception | None, most: Usage) -> int:
    if outcome is None:
        return most.input_tokens + most.output_tokens
    tries = outcome.failed_tries if isinstance(outcome, (Completion, ChatError)) else ()
    usages = [one.usage for one in (*tries, outcome) if not isinstance(one, Exception)]
    return sum(usage.input_tokens + usage.output_tokens for usage in usages)
