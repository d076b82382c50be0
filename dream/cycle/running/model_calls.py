"""Makes the calls of a model pass: within the budget, several at once, each answer stored when it arrives."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta

from agentcore.domain.scope import Scope
from agentcore.errors import StorageUnreachableError
from agentcore.hosting.busy import BusyWatch
from agentcore.hosting.services import HostServices
from agentcore.llm import Unreadable, UnreadableReason, extract_object
from agentcore.llm.chat import ChatClient, ChatRequest, Completion, FinishReason, ModelTier, Usage
from agentcore.llm.errors import (
    ChatAnswerTooLargeError,
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatModelMissingError,
    ChatPromptCutError,
    ChatRequestRefusedError,
)
from agentcore.stores.storage import UnitOfWork
from dream.cycle.running.budget import Budget, estimated
from dream.cycle.running.prompt_limits import PromptLimits, estimated_prompt
from dream.cycle.running.run_envelope import is_paused
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.domain.rounds import Answer, NextRound, Round, RoundKind
from dream.domain.step import Batch
from dream.errors import NoModelError, PausedDreamError
from dream.passes import ModelContext, ModelPass
from dream.stores import dream_stores
from dream.stores.calls import CANCELLED, CallKey, Forgets, StoredAnswer

_MOST_CANCELLATIONS = 2
"""How often one call gives way to a person; then it is let finish, else a busy host would pay for nothing."""

_MOST_DOUBTS = 3
"""How many calls may bring no answer of a model, or not fit with a single record, before no further one is made."""

_KEPT_FOR = timedelta(minutes=2)
"""How long an answer is kept for a database that is away: for longer than others wait to take the run over."""
_TRIED_EVERY = timedelta(milliseconds=500)
_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class ModelCalls:
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
        forgets: What was forgotten before the first question was worded; what is forgotten later may stand in answers.
        limits: How much of a prompt the models read.
    """

    parts: HostServices
    people: BusyWatch
    scope: Scope
    budget: Budget
    in_flight: int
    forgets: Forgets
    limits: PromptLimits
    stopped: str | Exception | None = None
    _doubts: list[ChatError] = field(default_factory=list[ChatError], init=False)
    _was_answered: bool = field(default=False, init=False)
    _fits: bool = field(default=False, init=False)
    _unfit: int = field(default=0, init=False)
    _asked: dict[RoundKind, set[str]] = field(default_factory=dict[RoundKind, set[str]], init=False)
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

    @property
    def lost_storage(self) -> StorageUnreachableError | None:
        """The error of a database that went away for long; None if it did not."""
        return self.stopped if isinstance(self.stopped, StorageUnreachableError) else None

    @contextmanager
    def ending_with_storage(self) -> Generator[None]:
        """Ask nothing more where the database goes away in the block; calls under way are paid for, so they end."""
        try:
            yield
        except StorageUnreachableError as away:
            self.stopped = away

    async def ask(self, key: CallKey, asked: NextRound, record_ids: Sequence[str]) -> StoredAnswer | ChatError | None:
        """Return the answer, the stored one if this run paid for it before.

        Args:
            key: What the answer is stored under.
            asked: The question; an optional one is left out where the budget has no room for it.
            record_ids: The records of the batch.

        Returns:
            The answer; or the error that befell this call alone; or None if the asking has stopped, or may have to,
            or the call was left out: for want of tokens, or as one more of its kind than the pass may ask in a run.
        """
        with self.ending_with_storage():
            return await self._found_or_asked(key, asked, record_ids)
        return None

    async def _found_or_asked(
        self, key: CallKey, asked: NextRound, record_ids: Sequence[str]
    ) -> StoredAnswer | ChatError | None:
        stored = await self.parts.storage.read(self.scope, lambda view: dream_stores(view).calls.find(key))
        if stored is not None:
            self._was_answered = True
            return self._whole(asked, stored)
        if asked.at_most is not None and not await self._is_within(key, asked, asked.at_most):
            return None
        if not self.limits.allow(asked.request):
            return _known_too_long(asked.request)
        answer = await self._asked_now(key, asked, record_ids)
        return self._whole(asked, answer) if isinstance(answer, StoredAnswer) else answer

    async def _asked_now(
        self, key: CallKey, asked: NextRound, record_ids: Sequence[str]
    ) -> StoredAnswer | ChatError | None:
        chat = self.parts.chat
        if chat is None:
            self.stopped = self.stopped or NoModelError(pass_name=asked.request.purpose)
            return None
        async with self._slots:
            for cancellations in range(_MOST_CANCELLATIONS + 1):
                async with self._slot():
                    if self.stopped is None and await is_paused(self.parts, self.scope):
                        self.stopped = PausedDreamError()
                    if self.stopped is not None:
                        return None
                    most = await self.budget.set_aside(key, asked.request)
                    if isinstance(most, str):
                        self.stopped = self.stopped if asked.is_optional else most
                        return None
                    yields = self.parts.shares_endpoint and cancellations < _MOST_CANCELLATIONS
                    outcome = await self._call(chat, asked.request, yields=yields)
                    # While it is not stored it holds its slot, so that they bound what a process keeps, and waits for.
                    await self._record(key, asked, outcome, most, record_ids)
                if outcome is not None:
                    judged = self._judged(outcome)
                    is_answer = isinstance(judged, Completion)
                    return StoredAnswer(judged, asked.asked) if is_answer else judged
        return None

    def _whole(self, asked: NextRound, answer: StoredAnswer) -> StoredAnswer | ChatError:
        """Return an answer to the whole question; the error if the server read a part of it alone."""
        completion = answer.completion
        if not self.limits.was_cut(asked.request, completion.usage):
            self._fits = True
            return answer
        read, sent = completion.usage.input_tokens, estimated_prompt(asked.request)
        return ChatPromptCutError(model=completion.model, read=read, sent=sent)

    def stop_if_none_fits(self, error: ChatContextTooLongError) -> bool:
        """Tell whether the asking ends: a question about a single record did not fit, and no other did before."""
        self._unfit += 1
        self.stopped = self.stopped or (error if not self._fits and self._unfit >= _MOST_DOUBTS else None)
        return self.stopped is error

    async def _is_within(self, key: CallKey, asked: NextRound, at_most: int) -> bool:
        """Tell whether the pass may still ask such a round in this run, which other processes may have begun."""
        if asked.kind not in self._asked:
            found = await self.parts.storage.read(
                self.scope, lambda view: dream_stores(view).calls.asked(key.run_id, key.pass_name, asked.kind)
            )
            self._asked.setdefault(asked.kind, set()).update(found)
        batches = self._asked[asked.kind]
        if key.batch_key not in batches and len(batches) >= at_most:
            return False
        batches.add(key.batch_key)
        return True

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

    async def _call(self, chat: ChatClient, request: ChatRequest, *, yields: bool) -> Completion | Exception | None:
        """Return the answer or the failure; None if it was given up for a person's turn."""
        if not yields:
            return await _attempted(chat, request)
        async with asyncio.TaskGroup() as group:
            call = group.create_task(_attempted(chat, request))
            busy = group.create_task(self.people.wait_until_busy())
            await asyncio.wait({call, busy}, return_when=asyncio.FIRST_COMPLETED)
            busy.cancel()
            if not call.done():
                call.cancel()
        return None if call.cancelled() else call.result()

    async def _record(
        self,
        key: CallKey,
        asked: NextRound,
        outcome: Completion | Exception | None,
        most: Usage,
        record_ids: Sequence[str],
    ) -> None:
        model = asked.request.model or ""

        def write(unit: UnitOfWork) -> None:
            calls = dream_stores(unit).calls
            calls.settle(key)
            if isinstance(outcome, Completion):
                if self.limits.was_cut(asked.request, outcome.usage):
                    self.limits.learn(asked.request, outcome.usage, unit.now)
                    self.limits.save(unit)
                calls.save(key, asked=asked, completion=outcome, record_ids=record_ids, since=self.forgets)
            elif isinstance(outcome, ChatError):
                calls.fail(key, outcome.failed_tries, model=model)
            elif outcome is None:
                calls.lose(key, CANCELLED, most, model=model)
            else:
                calls.lose(key, type(outcome).__name__, Usage(input_tokens=0, output_tokens=0), model=model)

        try:
            await self._written(write, is_paid=isinstance(outcome, Completion))
        finally:
            await self.budget.settle(most, outcome)

    async def _written(self, write: Callable[[UnitOfWork], None], *, is_paid: bool) -> None:
        """Write; what is paid for is kept while the database is away."""
        until = self.parts.clock.now() + _KEPT_FOR
        while True:
            try:
                await self.parts.storage.write(self.scope, write)
            except StorageUnreachableError:
                if not is_paid or self.parts.clock.now() >= until:
                    raise
                _log.warning("answer_kept", extra={"scope": str(self.scope)})
                await self.parts.clock.sleep(_TRIED_EVERY)
            else:
                return

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


def _known_too_long(request: ChatRequest) -> ChatContextTooLongError:
    """Return the error of a prompt that would be cut, as one before was."""
    sent, answer = (most := estimated(request)).input_tokens, most.output_tokens
    return ChatContextTooLongError(model=request.model or "asked", input_tokens=sent, output_tokens=answer)


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


@dataclass(frozen=True, slots=True)
class AnsweredBatch:
    """What became of the question about a batch, or about a part of one.

    Args:
        batch: The batch, or the part.
        rounds: The answered rounds, in order; none if it was refused.
        refusal: Why no answer can be used.
        is_hopeless: Whether asking again would end the same way, so that its members are not looked at again.
        note: What was refused beside the answers, such as a repair that cannot be read.
        waits: Why the exchange waits with the rounds there are, a code; None if it ended.
    """

    batch: Batch
    rounds: tuple[Round, ...] = ()
    refusal: Refusal | None = None
    is_hopeless: bool = False
    note: Refusal | None = None
    waits: Refused | None = None


@dataclass(frozen=True, slots=True)
class _TooLong:
    """The prompt or the answer did not fit; the error says that it was the prompt."""

    refusal: Refusal
    error: ChatContextTooLongError | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """The exchanges of one model pass of one run with the model, one for each batch; lives as long as the pass runs.

    Args:
        calls: Makes the calls.
        dream_pass: Words the questions.
        context: As the pass was packed.
    """

    calls: ModelCalls
    dream_pass: ModelPass
    context: ModelContext

    async def about(self, batch: Batch, answered: Sequence[Round] = ()) -> list[AnsweredBatch] | None:
        """Ask about *batch* round by round, in halves where it is too long.

        Args:
            batch: What to ask about.
            answered: The rounds that earlier runs have the answers of, where the exchange waited.

        Returns:
            What became of it and of its parts; None if the calls stopped before anything was answered, or the database
            went away.
        """
        with self.calls.ending_with_storage():
            return await self._about(batch, answered)
        return None

    async def _about(self, batch: Batch, answered: Sequence[Round]) -> list[AnsweredBatch] | None:
        rounds: list[Round] = [*answered]
        while (asked := await self.dream_pass.ask(self.context, batch, tuple(rounds))) is not None:
            most = self.context.options.model.max_rounds + batch.sections - 1
            if _bounded(rounds) - _bounded(answered) == most:
                note = Refusal(Refused.TOO_MANY_ROUNDS, f"batch {batch.number}: a {asked.kind}")
                return [AnsweredBatch(batch, tuple(rounds), note=note)]
            answer = await self._ask(batch, len(rounds) + 1, asked)
            if isinstance(self.calls.stopped, PausedDreamError) and answer is None:
                return None  # what was answered is stored, and found by whoever goes on with the run
            if not isinstance(answer, Round):
                return await self._ended(batch, rounds, asked, answer)
            rounds.append(answer)
        if rounds:
            return [AnsweredBatch(batch, tuple(rounds))]
        return [AnsweredBatch(batch, refusal=Refusal.of(Refused.STALE_SOURCE, batch.member_ids))]

    async def _ended(
        self, batch: Batch, rounds: Sequence[Round], asked: NextRound, problem: _TooLong | Refusal | None
    ) -> list[AnsweredBatch] | None:
        """Return what becomes of an exchange whose next round could not be had."""
        if self.calls.lost_storage is not None:
            return None  # what was answered stands in it, for whoever goes on
        if isinstance(problem, _TooLong) and not asked.is_optional:
            return await self._halved(batch, problem)
        note = problem.refusal if isinstance(problem, _TooLong) else problem
        if asked.is_optional:
            return [AnsweredBatch(batch, tuple(rounds), note=note)]
        if rounds:  # which are paid for
            waits = Refused.UNVERIFIED if asked.kind is RoundKind.VERIFICATION else Refused.UNANSWERED
            return [AnsweredBatch(batch, tuple(rounds), note=note, waits=waits)]
        return None if note is None else [AnsweredBatch(batch, refusal=note)]

    async def _halved(self, batch: Batch, problem: _TooLong) -> list[AnsweredBatch] | None:
        halves = batch.halves()
        if halves is None:
            ends = problem.error is not None and self.calls.stop_if_none_fits(problem.error)
            return None if ends else [AnsweredBatch(batch, refusal=problem.refusal, is_hopeless=True)]
        answered: list[AnsweredBatch] = []
        for half in halves:  # one after the other: where nothing fits, that is seen after few questions
            if (part := await self.about(half)) is None:
                return None
            answered += part
        return answered

    async def _ask(self, batch: Batch, number: int, asked: NextRound) -> Round | _TooLong | Refusal | None:
        key = CallKey(run_id=self.context.run_id, pass_name=self.dream_pass.name, batch_key=batch.number, round=number)
        outcome = await self.calls.ask(key, asked, batch.record_ids)
        if outcome is None:
            return None
        where = f"batch {batch.number}"
        if isinstance(outcome, ChatPromptCutError | ChatContextTooLongError):
            code = Refused.PROMPT_TRUNCATED if isinstance(outcome, ChatPromptCutError) else Refused.PROMPT_TOO_LONG
            is_reading = asked.kind is RoundKind.VERIFICATION
            return Round({}, asked.asked) if is_reading else _TooLong(Refusal(code, f"{where}: {outcome}"), outcome)
        if isinstance(outcome, ChatError):
            return Refusal(Refused.CALL_FAILED, f"{where}: {outcome}")
        return _round_of(outcome, where)


def _round_of(stored: StoredAnswer, where: str) -> Round | _TooLong | Refusal:
    """Return an answered round, or why it cannot be used; a second reading that cannot be read decides nothing."""
    read = _read(stored.completion, where)
    if not isinstance(read, (_TooLong, Refusal)):
        return Round(read, stored.asked, stored.completion.model)
    return read if stored.asked.kind is not RoundKind.VERIFICATION else Round({}, stored.asked, stored.completion.model)


def _bounded(rounds: Sequence[Round]) -> int:
    """Count the rounds that the options bound: as many second readings follow as there are statements to read."""
    return sum(one.kind is not RoundKind.VERIFICATION for one in rounds)


def _read(completion: Completion, where: str) -> Answer | _TooLong | Refusal:
    """Return the answer's one object; what is cut off may be asked for in halves."""
    if completion.finish_reason is FinishReason.LENGTH:
        return _TooLong(Refusal(Refused.ANSWER_CUT_OFF, where))
    if completion.finish_reason is FinishReason.CONTENT_FILTER:
        return Refusal(Refused.ANSWER_FILTERED, where)
    if completion.finish_reason is FinishReason.TOOL_CALLS:
        return Refusal(Refused.ANSWER_TOOL_CALL, where)
    read = extract_object(completion.text)
    if not isinstance(read, Unreadable):
        return read
    if read.reason is UnreadableReason.CUT_OFF:
        return _TooLong(Refusal(Refused.ANSWER_CUT_OFF, where))
    return Refusal(Refused.ANSWER_UNREADABLE, f"{where}: {read.reason}")
