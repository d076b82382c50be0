"""Servers that cut a prompt without saying so: what they answer is not used, and later prompts are shorter."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import repeat

import orjson
from dreaming import VerifyingChatClient, World, codes
from wishing import Curious

from agentcore.llm import ChatRequest, Completion, FinishReason, Usage
from agentcore.llm.errors import ChatContextTooLongError
from dream.cycle.running.prompt_limits import LEAST_SHARE, estimated_prompt
from dream.domain import PassOutcome, PassReport
from dream.options import ModelOptions

QUESTIONS = tuple(f"question {number} " + "and a long story " * 120 for number in range(8))


@dataclass
class Cutting:
    """Reads no more than so many tokens of a prompt, and counts what it read; without a context it reads all."""

    context: int | None
    counts: bool = True
    tokenizer: float = 1.0
    """Its tokens for one of our estimate."""
    sent: list[int] = field(default_factory=list)

    def reply(self, request: ChatRequest) -> Completion:
        whole = int(self.tokenizer * estimated_prompt(request))
        self.sent.append(whole)
        read = whole if self.context is None else min(whole, self.context)
        return Completion(
            text=orjson.dumps({"text": str(whole)}).decode(),
            finish_reason=FinishReason.STOP,
            usage=Usage(input_tokens=read, output_tokens=5, is_estimated=not self.counts),
            model="small",
        )


def asked_of(world: World, model: Cutting) -> World:
    options = world.options.replace(model=ModelOptions(calls_in_flight=1))
    return replace(world, chat=VerifyingChatClient(repeat(model.reply)), options=options)


async def curious(world: World, *questions: str, per_batch: int = 1) -> PassReport:
    return (await world.run_passes(Curious(questions, per_batch=per_batch))).passes[0]


async def test_what_is_answered_to_a_cut_prompt_is_not_used_and_asked_for_in_halves(world: World):
    model = Cutting(context=2_400)
    done = await curious(asked_of(world, model), *QUESTIONS, per_batch=8)
    assert model.sent[0] > 2_400 / LEAST_SHARE
    assert all(int(told) <= 2_400 for told in done.notes["answers"])
    assert (done.refused, done.backlog, len(done.notes["answers"]) >= 4) == ((), 0, True)


async def test_after_the_first_cut_prompt_no_other_of_the_run_is_cut_nor_of_the_next(world: World):
    model = Cutting(context=2_400)
    await curious(asked_of(world, model), *QUESTIONS, per_batch=8)
    await curious(asked_of(world, model), *QUESTIONS, *QUESTIONS, per_batch=8)
    assert [sent > 2_400 for sent in model.sent] == [True] + [False] * (len(model.sent) - 1)


async def test_after_a_week_the_server_may_show_that_it_reads_more_now(world: World):
    await curious(asked_of(world, Cutting(context=2_400)), *QUESTIONS, per_batch=8)
    world.clock.advance(timedelta(days=8))
    model = Cutting(context=None)
    await curious(asked_of(world, model), *QUESTIONS, *QUESTIONS, per_batch=8)
    assert max(model.sent) > 2_400


async def test_a_model_that_no_question_fits_costs_a_few_calls_and_nobody_any_record(world: World):
    model = Cutting(context=100)
    done = await curious(asked_of(world, model), *QUESTIONS, per_batch=8)
    assert (len(model.sent), done.backlog, done.outcome) == (1, 8, PassOutcome.FAILED)
    assert "give the model a larger context" in str(done.reason)


async def test_a_server_that_refuses_every_question_as_too_long_costs_a_few_calls_and_nobody_any_record(world: World):
    asked: list[ChatRequest] = []

    def refuse(request: ChatRequest) -> Completion:
        asked.append(request)
        raise ChatContextTooLongError(model="small", input_tokens=900, output_tokens=100)

    small = replace(asked_of(world, Cutting(None)), chat=VerifyingChatClient(repeat(refuse)))
    done = await curious(small, *QUESTIONS, *QUESTIONS, per_batch=8)
    assert (len(asked) < 10, done.backlog, done.outcome) == (True, 16, PassOutcome.FAILED)


async def test_a_question_about_one_record_that_is_cut_is_refused_and_not_asked_again(world: World):
    model = Cutting(context=800)
    one = asked_of(world, model)
    done = await curious(one, QUESTIONS[0] * 4)
    assert (codes(done), done.backlog) == (["prompt_truncated"], 0)
    assert "did not say so" in done.refused[0].detail
    await curious(one, QUESTIONS[0] * 4)
    assert len(model.sent) == 1


async def test_a_server_that_counts_nothing_is_believed(world: World):
    done = await curious(asked_of(world, Cutting(context=800, counts=False)), *QUESTIONS[:2], per_batch=2)
    assert (len(done.notes["answers"]), done.refused) == (1, ())


async def test_no_later_prompt_is_cut_by_a_tokenizer_that_takes_more_than_our_estimate(world: World):
    model = Cutting(context=2_400, tokenizer=1.6)
    done = await curious(asked_of(world, model), *QUESTIONS, *QUESTIONS, per_batch=15)
    assert [sent > 2_400 for sent in model.sent] == [True] + [False] * (len(model.sent) - 1)
    assert done.refused == ()
