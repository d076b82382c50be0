"""Asking the model: several calls at once, each answer stored the moment it is there, a person's turn first."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from agentcore.domain.scope import Scope
from agentcore.hosting.parts import HostParts
from agentcore.hosting.watching import BusyWatch
from agentcore.llm.chat import ChatClient, ChatRequest, Completion, ModelTier, Usage
from agentcore.llm.errors import (
    ChatAnswerTooLargeError,
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatModelMissingError,
    ChatRequestRefusedError,
)
from agentcore.stores.protocols import UnitOfWork
from dream.cycle.budget import Budget
from dream.domain.reasons import Stop
from dream.errors import NoModelError
from dream.stores import bookkeeping
from dream.stores.calls import CANCELLED, CallKey

_MOST_CANCELLATIONS = 2
"""How often one call gives way to a person; then it is let finish, else a busy host would pay for nothing."""

_MOST_DOUBTS = 3
"""How many calls may bring what is no answer of a model before no further one is made."""

_UNKNOWN_MODEL = ""
_NOTHING = Usage(input_tokens=0, output_tokens=0)


@dataclass(slots=True, kw_only=True)
class Asking:
    """The calls of one pass of one run; lives as long as it.

    A failure that would befall the other calls as well (no server, no key, no budget) ends the asking: `stopped` says
    why, and what is not under way is not asked. What is no answer of a model at all, such as a page or a redirect, is
    the fault of the address as long as no call was answered: then nothing counts as asked, and `failure` says why.

    Args:
        parts: What the host offers.
        people: Tells who is served first.
        scope: Whose memory.
        budget: What it may cost.
        in_flight: Calls of this pass at once; the host's slots bound those of all passes and scopes together.
    """

    parts: HostParts
    people: BusyWatch
    scope: Scope
    budget: Budget
    in_flight: int
    stopped: Stop | Exception | None = None
    _doubts: list[ChatError] = field(default_factory=list[ChatError], init=False)
    _was_answered: bool = field(default=False, init=False)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        """Begin with all slots free."""
        self._slots = asyncio.Semaphore(self.in_flight)

    @property
    def failure(self) -> Exception | None:
        """Why nothing came of the asking; None if something did, or it stopped without a fault."""
        if isinstance(self.stopped, Exception):
            return self.stopped
        return self._doubts[-1] if self._doubts and not self._was_answered else None

    async def ask(
        self, key: CallKey, request: ChatRequest, record_ids: Sequence[str], *, is_optional: bool = False
    ) -> Completion | ChatError | None:
        """Return the answer, the stored one if this run paid for it before.

        Args:
            key: What the answer is stored under.
            request: The question.
            record_ids: What it shows.
            is_optional: Whether the call is left out where the budget has no room for it, and the asking goes on.

        Returns:
            The answer; or the error that befell this call alone; or None if the asking has stopped, or may have to,
            or the call was left out.
        """
        stored = await self.parts.storage.read(self.scope, lambda view: bookkeeping(view).calls.find(key))
        if stored is not None:
            self._was_answered = True
            return stored
        async with self._slots:
            for cancellations in range(_MOST_CANCELLATIONS + 1):
                async with self._slot():
                    if self.stopped is not None:
                        return None
                    most = await self.budget.set_aside(request)
                    if isinstance(most, Stop):
                        self.stopped = self.stopped if is_optional else most
                        return None
                    yields = self.parts.shares_endpoint and cancellations < _MOST_CANCELLATIONS
                    outcome = await self._call(request, yields=yields)
                await self._record(key, request, outcome, most, record_ids)
                if outcome is not None:
                    return self._judged(outcome)
        return None

    @asynccontextmanager
    async def _slot(self) -> AsyncGenerator[None]:
        """Hold one of the host's slots, taken while nobody is served."""
        while True:
            await self.people.wait_until_idle()
            async with self.parts.slots.one(self.scope):
                # A turn may have begun while it was waited for: then the slot goes to a scope whose people are quiet.
                if not self.people.is_busy:
                    yield
                    return

    async def _call(self, request: ChatRequest, *, yields: bool) -> Completion | Exception | None:
        """Return the answer or the failure; None if it was given up for a person's turn."""
        if self.parts.chat is None:
            return NoModelError(pass_name=request.purpose)
        if not yields:
            return await _attempted(self.parts.chat, request)
        async with asyncio.TaskGroup() as group:
            call = group.create_task(_attempted(self.parts.chat, request))
            busy = group.create_task(self.people.wait_until_busy())
            await asyncio.wait({call, busy}, return_when=asyncio.FIRST_COMPLETED)
            busy.cancel()
            if not call.done():
                call.cancel()
        return None if call.cancelled() else call.result()

    async def _record(
        self,
        key: CallKey,
        request: ChatRequest,
        outcome: Completion | Exception | None,
        most: Usage,
        record_ids: Sequence[str],
    ) -> None:
        spent = _cost(outcome, most)
        await self.budget.settle(most, spent)
        model = request.model or _UNKNOWN_MODEL

        def write(unit: UnitOfWork) -> None:
            calls = bookkeeping(unit).calls
            if isinstance(outcome, Completion):
                calls.save(key, request=request, completion=outcome, record_ids=record_ids)
            elif isinstance(outcome, ChatError):
                calls.fail(key, outcome.failed_tries, model=model)
            elif outcome is None:
                calls.lose(key, CANCELLED, most, model=model)
            elif not isinstance(outcome, NoModelError):
                calls.lose(key, type(outcome).__name__, _NOTHING, model=model)

        await self.parts.storage.write(self.scope, write)

    def _judged(self, outcome: Completion | Exception) -> Completion | ChatError | None:
        if isinstance(outcome, Completion):
            self._was_answered = True
            return outcome
        if isinstance(outcome, ChatError) and not self._was_answered and _is_no_answer_of_a_model(outcome):
            self._doubts.append(outcome)
            if len(self._doubts) < _MOST_DOUBTS:
                return None
        elif isinstance(outcome, ChatError) and _is_of_this_call(outcome):
            return outcome
        self.stopped = self.stopped or outcome
        return None


async def _attempted(chat: ChatClient, request: ChatRequest) -> Completion | Exception:
    try:
        return await chat.complete(replace(request, tier=ModelTier.DREAMING))
    except Exception as error:  # noqa: BLE001 - what a client raises is judged and reported by the pass that asked
        return error


def _is_of_this_call(error: ChatError) -> bool:
    """Tell whether another question may well be answered."""
    if isinstance(error, ChatModelMissingError):
        return False
    return isinstance(error, (ChatRequestRefusedError, ChatContextTooLongError, ChatAnswerUnreadableError))


def _is_no_answer_of_a_model(error: ChatError) -> bool:
    """Tell whether what answered may be something else than a model's server."""
    if isinstance(error, ChatRequestRefusedError):
        return 300 <= error.status < 400
    return isinstance(error, ChatAnswerUnreadableError) and not isinstance(error, ChatAnswerTooLargeError)


def _cost(outcome: Completion | Exception | None, most: Usage) -> int:
    if outcome is None:
        return most.input_tokens + most.output_tokens
    tries = outcome.failed_tries if isinstance(outcome, (Completion, ChatError)) else ()
    usages = [one.usage for one in tries] + ([outcome.usage] if isinstance(outcome, Completion) else [])
    return sum(usage.input_tokens + usage.output_tokens for usage in usages)
