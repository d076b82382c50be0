"""Bounds what all workers of a fleet together ask of a model, with one pause for all after it refused a call."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from agentcore.llm.chat import TryFailure, estimate_tokens
from agentcore.llm.errors import ChatRateLimitedError
from agentcore.llm.openai_client import OpenAIChatClient
from dream.cycle.fleet.fleet_status import RATE_WINDOW
from dream.cycle.scheduling.due_times import ANYWHERE
from dream.stores import dream_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentcore.clock import Clock
    from agentcore.llm.call_failure import CallFailure
    from agentcore.llm.chat import ChatRequest, Completion, FailedTry
    from agentcore.llm.settings import ChatOptions
    from agentcore.stores.storage import Storage

_PAUSE: Final = timedelta(seconds=10)
"""How long a model is left alone that does not say."""
_MOST_PAUSES: Final = 30
_log = logging.getLogger(__name__)


class FleetRates:
    """What models may be asked by all workers together; lives as long as the worker.

    Args:
        storage: What all workers share.
        clock: What waits.
        per_minute: Tokens a minute, by model; under "*" those of any other.
    """

    def __init__(self, storage: Storage, clock: Clock, per_minute: Mapping[str, int]) -> None:
        self._storage = storage
        self._clock = clock
        self._per_minute = dict(per_minute)
        self._pauses: dict[str, datetime] = {}

    async def refresh(self) -> None:
        """Learn of pauses that other workers told of."""
        self._pauses = await self._storage.read(ANYWHERE, lambda view: dream_stores(view).rates.pauses())

    async def admit(self, model: str, tokens: int) -> None:
        """Return when a call of so many tokens may be made."""
        while True:
            until = self._pauses.get(model)
            if until is None or until <= self._clock.now():
                until = await self._taken(model, tokens)
            if until is None:
                return
            await self._clock.sleep(max(until - self._clock.now(), timedelta(milliseconds=50)))

    async def refused(self, model: str, retry_after: timedelta | None) -> None:
        """Have no worker ask a model for as long as its server wants."""
        until = self._clock.now() + (retry_after or _PAUSE)
        self._pauses[model] = max(until, self._pauses.get(model, until))
        _log.warning("model_paused", extra={"model": model, "seconds": (retry_after or _PAUSE).total_seconds()})
        await self._storage.write(ANYWHERE, lambda unit: dream_stores(unit).rates.pause(model, until=until))

    async def _taken(self, model: str, tokens: int) -> datetime | None:
        rate = self._per_minute.get(model, self._per_minute.get("*"))
        if rate is None:
            return None
        most = max(1, int(rate * (RATE_WINDOW / timedelta(minutes=1))))
        return await self._storage.write(
            ANYWHERE, lambda unit: dream_stores(unit).rates.take(model, tokens, most=most, window=RATE_WINDOW)
        )


class PacedModel(OpenAIChatClient):
    """A client that asks as fast as the whole fleet may; lives as long as the worker.

    A 429 is told to all workers, and none asks again before its server wants.

    Args:
        options: Which model to ask, and how.
        clock: What waits between tries.
    """

    rates: FleetRates | None = None
    """What models may be asked; None until the storage is open."""

    def __init__(self, options: ChatOptions, *, clock: Clock) -> None:
        super().__init__(options, clock=clock)

    async def complete(self, request: ChatRequest) -> Completion:
        """Return the answer, asked for when the fleet has room for it; see `ChatClient`."""
        if self.rates is None:
            return await super().complete(request)
        model = request.model or self.options.model_of(request.tier)
        tokens = sum(estimate_tokens(one.content) for one in request.messages) + request.max_output_tokens
        failed: list[FailedTry] = []
        for _ in range(_MOST_PAUSES):
            await self.rates.admit(model, tokens)
            try:
                answer = await super().complete(request)
            except ChatRateLimitedError as error:
                if error.is_used_up:
                    raise
                failed += error.failed_tries
                await self.rates.refused(model, error.retry_after)
            else:
                return replace(answer, failed_tries=(*failed, *answer.failed_tries))
        return await super().complete(request)

    def _wait_before(self, repeated: int, verdict: CallFailure) -> timedelta | None:
        """Return None for a refused rate: who waited here by itself would tell the other workers too late."""
        if self.rates is not None and verdict.failure is TryFailure.RATE_LIMITED:
            return None
        return super()._wait_before(repeated, verdict)
