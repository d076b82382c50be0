"""A pass that asks a model: what the next passes stand on."""

from dataclasses import replace

import orjson
import pytest
from dreaming import DAY, VerifyingChatClient, World
from interrupting import Killed, PausedStorage, bury, count_writes, dying
from wishing import Curious, Wishful, nothing

from agentcore.llm import Completion, FinishReason, Usage
from dream.domain import Outcome, PassOutcome, PassReport

QUESTIONS = ("who is Ana", "who is Ben", "who is Cem")
ANSWERS = ("a painter", "a baker", "a sailor")


def told(answer: object) -> object:
    return orjson.dumps({"text": answer}).decode() if isinstance(answer, str) else answer


def talking(world: World, *answers: object) -> World:
    """One call at a time, so that each question gets its answer."""
    options = world.options.replace(model=world.options.model.replace(calls_in_flight=1))
    return replace(world, chat=VerifyingChatClient([told(one) for one in answers or ANSWERS]), options=options)


async def stored_answers(world: World) -> tuple[int, int]:
    """How many answers are on record, and how many calls without one."""
    told = [call for run in await world.dreams.runs() for call in await world.dreams.calls(run.run_id)]
    lost = [call for call in told if call.failed]
    return len(told) - len(lost), len(lost)


async def asked(world: World, questions: tuple[str, ...] = QUESTIONS) -> PassReport:
    return (await world.run_passes(Curious(questions))).passes[0]


async def test_without_a_model_it_is_skipped_for_that_reason(world: World):
    report = await world.run_passes(Curious(QUESTIONS))
    assert (report.passes[0].outcome, report.passes[0].reason) == (PassOutcome.SKIPPED, "missing: llm")
    assert report.outcome is Outcome.UNCHANGED


async def test_a_pass_that_asks_without_requiring_a_model_fails_with_a_sentence_that_helps(world: World):
    class Undeclared(Curious):
        requires = frozenset()

    report = await world.run_passes(Undeclared(QUESTIONS), Wishful(nothing))
    assert report.passes[0].outcome is PassOutcome.FAILED
    assert "add .with_llm(...)" in str(report.passes[0].reason)
    assert report.outcome is Outcome.PARTIAL


async def test_its_answers_calls_and_tokens_are_in_the_report(world: World):
    done = await asked(talking(world))
    assert done.notes == {"answers": list(ANSWERS)}
    assert (done.calls, done.output_tokens) == (3, 15)
    assert done.input_tokens > 3 * 50


async def test_a_run_that_died_after_an_answer_does_not_pay_for_it_again(world: World):
    expected = await asked(talking(world.elsewhere()))
    writes = await count_writes(talking(world.elsewhere()), asked)
    for write in range(writes):
        one = talking(world.elsewhere(), *["an answer"] * 20)
        with pytest.raises(Killed):
            await dying(one, write, committed=True).run_passes(Curious(QUESTIONS))
        await bury(one)
        calls, (stored, lost) = len(one.chat.requests), await stored_answers(one)
        report = await one.run_passes(Curious(QUESTIONS))
        assert len(one.chat.requests) - calls == len(QUESTIONS) - stored, write
        if report.resumed:
            charged = expected.input_tokens // 3 * (3 + lost)
            assert (report.passes[0].calls, report.passes[0].input_tokens) == (3 + lost, charged), write


async def test_a_run_that_a_person_pauses_lets_calls_under_way_finish_and_pays_for_none_again(world: World):
    expected = await asked(talking(world.elsewhere()))
    stopped = 0
    for write in range(await count_writes(talking(world.elsewhere()), asked)):
        one = talking(world.elsewhere())
        report = await replace(one, storage=PausedStorage(one.storage, write)).run_passes(Curious(QUESTIONS))
        await one.dreams.resume()
        if report.outcome is Outcome.DEFERRED:
            stopped += 1
            was_begun = bool(report.run_id)
            report = await one.run_passes(Curious(QUESTIONS))
            assert report.resumed is was_begun, write
        assert len(one.chat.requests) <= len(QUESTIONS), write
        assert report.passes[0].notes == expected.notes, write
    assert stopped > 5


async def test_a_run_that_died_between_an_answer_and_its_step_takes_the_stored_answer(world: World):
    # The third question may be under way when the process dies: then it is asked again.
    one = talking(world, "the first", "the second", "the third", "the third")

    async def die(place: int) -> None:
        if place == 1:
            raise Killed

    with pytest.raises(Killed):
        await one.run_passes(Curious(QUESTIONS, die))
    await bury(one)
    done = await asked(one)
    assert done.notes == {"answers": ["the first", "the second", "the third"]}
    assert done.calls == 3
    asked_for = [request.messages[1].content for request in one.chat.requests]
    assert asked_for[:2] == list(QUESTIONS[:2])
    assert set(asked_for[2:]) == {QUESTIONS[2]}


async def test_the_same_question_in_another_step_is_asked_again_resumed_or_not(world: World):
    twice = ("who is Ana", "who is Ana")
    one = talking(world, "first", "second")
    with pytest.raises(Killed):
        await dying(one, 3, committed=True).run_passes(Curious(twice))
    await bury(one)
    assert (await asked(one, twice)).notes == {"answers": ["first", "second"]}


async def test_an_answer_belongs_to_one_run(world: World):
    one = talking(world, "yesterday", "today")
    assert (await asked(one, QUESTIONS[:1])).notes == {"answers": ["yesterday"]}
    one.clock.advance(DAY)
    fresh = Curious(QUESTIONS[:1])
    # Its cursor stands behind the only question: a person takes the run back to have it asked anew.
    await one.dreams.undo((await one.dreams.runs())[0].run_id)
    assert (await one.run_passes(fresh)).passes[0].notes == {"answers": ["today"]}


async def test_what_a_failing_pass_has_paid_is_in_the_report(world: World):
    async def stumble(place: int) -> None:
        if place == 1:
            raise RuntimeError("stumbled")

    report = await talking(world).run_passes(Curious(QUESTIONS, stumble), Wishful(nothing))
    failed = report.passes[0]
    assert failed.outcome is PassOutcome.FAILED
    assert failed.calls in {2, 3}  # the third may be under way when the second answer ends the pass
    assert failed.output_tokens == 5 * failed.calls


async def test_a_call_that_failed_counts_as_a_call(world: World):
    report = await talking(world, RuntimeError("no connection")).run_passes(Curious(QUESTIONS), Wishful(nothing))
    failed = report.passes[0]
    assert (failed.outcome, failed.reason) == (PassOutcome.FAILED, "RuntimeError: no connection")
    assert (failed.calls, failed.input_tokens) == (1, 0)


async def test_a_cut_off_answer_is_handed_to_the_pass_as_such_and_stored_as_such(world: World):
    cut = Completion(text="a pai", finish_reason=FinishReason.LENGTH, usage=Usage(input_tokens=7, output_tokens=2),
                     model="small")  # fmt: skip
    one = talking(world, cut)
    assert (await asked(one, QUESTIONS[:1])).output_tokens == 2


async def test_a_second_run_with_nothing_new_makes_no_call(world: World):
    one = talking(world)
    await one.dreams.run()
    assert one.chat.requests == []
