"""Questions: from a batch to answers that can be read, or to the reason why there are none."""

import asyncio
from dataclasses import dataclass

from agentcore.llm import Unreadable, UnreadableReason, extract_object
from agentcore.llm.chat import ChatRequest, Completion, FinishReason
from agentcore.llm.errors import ChatContextTooLongError, ChatError
from dream.cycle.asking import Asking
from dream.domain.batch import Answer, Batch
from dream.domain.proposal import Refusal
from dream.domain.reasons import Refused
from dream.passes import ModelContext, ModelPass
from dream.stores.calls import CallKey

_QUESTION, _REPAIR = 1, 2


@dataclass(frozen=True, slots=True)
class Answered:
    """What became of the question about a batch, or about a part of one.

    Args:
        batch: The batch, or the part.
        answers: The model's answers, the repaired one last; none if it was refused.
        refusal: Why no answer can be used.
        is_hopeless: Whether asking again would end the same way, so that its members are not looked at again.
        note: What was refused beside the answers, such as a repair that cannot be read.
    """

    batch: Batch
    answers: tuple[Answer, ...] = ()
    refusal: Refusal | None = None
    is_hopeless: bool = False
    note: Refusal | None = None


@dataclass(frozen=True, slots=True)
class _TooLong:
    """The prompt or the answer did not fit."""

    refusal: Refusal


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions of one model pass of one run; lives as long as it.

    Args:
        asking: Makes the calls.
        dream_pass: Words the questions.
        context: As the pass was packed.
    """

    asking: Asking
    dream_pass: ModelPass
    context: ModelContext

    async def about(self, batch: Batch) -> list[Answered] | None:
        """Ask about *batch*, in halves where it is too long; None if the asking stopped before all was answered."""
        request = await self.dream_pass.request(self.context, batch)
        if request is None:
            stale = Refusal.of(Refused.STALE_SOURCE, batch.member_ids)
            return [Answered(batch, refusal=stale)]
        answer = await self._ask(batch, _QUESTION, request)
        if answer is None:
            return None
        if isinstance(answer, _TooLong):
            return await self._halved(batch, answer)
        if isinstance(answer, Refusal):
            return [Answered(batch, refusal=answer)]
        return await self._reviewed(batch, answer)

    async def _halved(self, batch: Batch, problem: _TooLong) -> list[Answered] | None:
        halves = batch.halves()
        if halves is None:
            return [Answered(batch, refusal=problem.refusal, is_hopeless=True)]
        answered = await asyncio.gather(*(self.about(half) for half in halves))
        if any(part is None for part in answered):
            return None
        return [one for part in answered if part is not None for one in part]

    async def _reviewed(self, batch: Batch, answer: Answer) -> list[Answered]:
        """Have the answer repaired where the pass wants that and the budget has room; else the first one stands."""
        request = await self.dream_pass.review(self.context, batch, answer)
        if request is None:
            return [Answered(batch, (answer,))]
        repaired = await self._ask(batch, _REPAIR, request)
        if repaired is None:
            return [Answered(batch, (answer,))]
        if isinstance(repaired, (Refusal, _TooLong)):
            note = repaired if isinstance(repaired, Refusal) else repaired.refusal
            return [Answered(batch, (answer,), note=note)]
        return [Answered(batch, (answer, repaired))]

    async def _ask(self, batch: Batch, attempt: int, request: ChatRequest) -> Answer | _TooLong | Refusal | None:
        key = CallKey(
            run_id=self.context.run_id, pass_name=self.dream_pass.name, batch_key=batch.number, attempt=attempt
        )
        outcome = await self.asking.ask(key, request, batch.record_ids, is_optional=attempt == _REPAIR)
        if outcome is None:
            return None
        where = f"batch {batch.number}"
        if isinstance(outcome, ChatContextTooLongError):
            return _TooLong(Refusal(Refused.PROMPT_TOO_LONG, f"{where}: {outcome}"))
        if isinstance(outcome, ChatError):
            return Refusal(Refused.CALL_FAILED, f"{where}: {outcome}")
        return _read(outcome, where)


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
