"""The engine beneath passes that ask a model: what it asks, pays for, defers and takes up again."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from dreaming import DAY, VerifyingChatClient, World, codes, fresh_scope, of_pass
from interrupting import Killed, bury, count_writes, dying
from wishing import Curious

from agentcore.domain import MemoryEntry, Status
from agentcore.llm import (
    ChatAnswerUnreadableError,
    ChatContextTooLongError,
    ChatError,
    ChatRequest,
    ChatRequestRefusedError,
    ChatUnreachableError,
    Completion,
    FinishReason,
    Usage,
)
from dream.domain import Change, ChangeSet, Outcome, PassOutcome, PassReport, Proposal, Skip, fingerprint
from dream.options import ModelOptions
from dream.passes import ModelContext
from dream.stores import dream_stores

EIGHT = tuple(f"question {number}" for number in range(8))


def saying(text: str) -> str:
    return orjson.dumps({"text": text}).decode()


def with_model(world: World, answer: Any, **model: Any) -> World:
    """A world whose model gives *answer* (or what it returns for the question) to every question."""

    async def reply(request: ChatRequest) -> Any:
        given = answer(request) if callable(answer) else answer
        return await given if asyncio.iscoroutine(given) else given

    def forever() -> Any:
        while True:
            yield reply

    return replace(
        world, chat=VerifyingChatClient(forever()), options=world.options.replace(model=ModelOptions(**model))
    )


async def curious(world: World, *questions: str, **more: Any) -> PassReport:
    return (await world.run_passes(Curious(questions, **more))).passes[0]


async def test_as_many_calls_as_the_options_say_are_in_flight(world: World):
    flying: list[int] = []
    now = 0

    async def slow(_: ChatRequest) -> str:
        nonlocal now
        now += 1
        flying.append(now)
        await asyncio.sleep(0.01)
        now -= 1
        return saying("yes")

    done = await curious(with_model(world, slow, calls_in_flight=3), *EIGHT)
    assert (max(flying), done.calls) == (3, 8)


async def test_batches_are_committed_in_the_order_they_were_packed_whoever_answers_first(world: World):
    async def late_first(request: ChatRequest) -> str:
        number = int(request.messages[1].content[-1])
        await asyncio.sleep(0.002 * (8 - number))
        return saying(str(number))

    done = await curious(with_model(world, late_first), *EIGHT)
    assert done.notes["answers"] == [str(number) for number in range(8)]


def cut_off(text: str = '{"text": "an ans') -> Completion:
    usage = Usage(input_tokens=5, output_tokens=5)
    return Completion(text=text, finish_reason=FinishReason.LENGTH, usage=usage, model="small")


async def test_a_cut_off_answer_is_asked_for_in_halves(world: World):
    def only_one(request: ChatRequest) -> Any:
        return saying(request.messages[1].content) if " and " not in request.messages[1].content else cut_off()

    done = await curious(with_model(world, only_one), *EIGHT[:4], per_batch=4)
    assert done.notes["answers"] == list(EIGHT[:4])
    assert (done.calls, done.refused, done.backlog) == (7, (), 0)


async def test_a_prompt_too_long_for_the_model_is_cut_in_halves(world: World):
    def only_one(request: ChatRequest) -> Any:
        if " and " in request.messages[1].content:
            return ChatContextTooLongError(model="small", input_tokens=10, output_tokens=10)
        return saying("short")

    done = await curious(with_model(world, only_one), *EIGHT[:2], per_batch=2)
    assert done.notes["answers"] == ["short", "short"]


async def test_what_is_too_long_in_the_smallest_part_is_refused_and_not_asked_again(world: World):
    one = with_model(world, cut_off())
    done = await curious(one, *EIGHT[:2], per_batch=2)
    assert (codes(done), done.backlog) == (["answer_cut_off", "answer_cut_off"], 0)
    again = await curious(one, *EIGHT[:2], per_batch=2)
    assert (again.reason, again.calls) == (Skip.NO_WORK, 0)


UNREADABLE = {
    "empty": "",
    "prose": "I would rather not.",
    "several": '{"text": "a"} {"text": "b"}',
    "no_object": "[1, 2]",
    "invalid_json": '{"text": }',
}


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_without_one_clear_object_changes_nothing_and_the_next_run_asks_again(
    world: World, answer: str
):
    before = await world.add("Ana likes tea")
    answers = [answer, saying("clear")]
    one = with_model(world, lambda _: answers.pop(0))
    done = await curious(one, "who")
    assert (codes(done), done.outcome, done.backlog) == (["answer_unreadable"], PassOutcome.UNCHANGED, 1)
    assert await world.entries(*Status) == before
    assert (await curious(one, "who")).notes["answers"] == ["clear"]


@pytest.mark.parametrize(
    ("reason", "code"),
    [(FinishReason.CONTENT_FILTER, "answer_filtered"), (FinishReason.TOOL_CALLS, "answer_tool_call")],
)
async def test_an_answer_that_ended_otherwise_is_refused_though_it_reads_well(
    world: World, reason: FinishReason, code: str
):
    answer = replace(cut_off(saying("fine")), finish_reason=reason)
    assert codes(await curious(with_model(world, answer), "who")) == [code]


async def test_a_repair_takes_the_place_of_the_first_answer(world: World):
    answers = [saying("again"), saying("better")]
    done = await curious(with_model(world, lambda _: answers.pop(0)), "who")
    assert (done.notes["answers"], done.calls) == (["better"], 2)


async def test_a_repair_that_cannot_be_read_leaves_the_first_answer_and_is_told(world: World):
    answers = [saying("again"), "what?"]
    done = await curious(with_model(world, lambda _: answers.pop(0)), "who")
    assert (done.notes["answers"], codes(done)) == (["again"], ["answer_unreadable"])


async def test_a_server_that_is_gone_fails_the_pass_keeps_what_was_answered_and_leaves_the_rest(world: World):
    def sometimes(request: ChatRequest) -> Any:
        if request.messages[1].content in EIGHT[:2]:
            return saying(request.messages[1].content)
        return ChatUnreachableError(model="small", base_url="http://localhost", tries=1, was_connected=False)

    one = with_model(world, sometimes, calls_in_flight=1)
    done = await curious(one, *EIGHT)
    assert (done.outcome, done.calls) == (PassOutcome.FAILED, 2)
    assert "cannot be reached" in str(done.reason)
    assert done.notes["answers"] == list(EIGHT[:2])
    then = await curious(with_model(world, saying("back")), *EIGHT)
    assert len(then.notes["answers"]) == 6


async def test_a_budget_of_zero_ends_the_run_cleanly_and_asks_nothing(world: World):
    one = with_model(world, saying("yes"), tokens_per_run=0)
    report = await one.run_passes(Curious(EIGHT))
    assert (report.outcome, report.passes[0].calls) == (Outcome.PARTIAL, 0)
    told = r"a call needs about [\d,]+ tokens, and model.tokens_per_run allows 0: raise it"
    assert re.fullmatch(f"budget_too_small: {told}", str(report.reason))
    (warning,) = (await one.dreams.explain()).warnings
    assert re.fullmatch(f"curious could not ask: {told}[.]", warning)
    assert report.passes[0].backlog == 8
    assert len((await curious(with_model(world, saying("yes")), *EIGHT)).notes["answers"]) == 8


async def test_a_run_stays_within_its_budget_and_the_next_goes_on(world: World):
    one = with_model(world, saying("yes"), tokens_per_run=600, answer_tokens=100)
    answered = 0
    for _ in range(8):
        report = await one.run_passes(Curious(EIGHT))
        done = report.passes[0]
        assert done.input_tokens + done.output_tokens <= 600
        answered += len(done.notes["answers"])
        if report.outcome is Outcome.COMPLETED:
            break
    assert answered == 8


async def test_no_pass_is_left_without_a_call_for_more_than_two_runs(world: World):
    class Second(Curious):
        name = "second"

    one = with_model(
        world, saying("yes"), tokens_per_run=2_000, answer_tokens=400, prompt_tokens=500, calls_in_flight=1
    )
    many = tuple(f"{'long ' * 600} {number}" for number in range(40))
    calls = [of_pass(await one.run_passes(Curious(many), Second(many)), "second").calls for _ in range(3)]
    assert calls[:2] == [0, 0]
    assert calls[2] > 0


async def test_calls_in_flight_together_stay_within_the_budget_even_if_each_answer_is_the_longest(world: World):
    async def long_winded(_: ChatRequest) -> Completion:
        await asyncio.sleep(0.01)  # so that the others would begin meanwhile
        usage = Usage(input_tokens=100, output_tokens=200)
        return Completion(text=saying("yes"), finish_reason=FinishReason.STOP, usage=usage, model="small")

    one = with_model(world, long_winded, calls_in_flight=8, tokens_per_run=900, answer_tokens=200)
    done = (await one.run_passes(Curious(EIGHT))).passes[0]
    assert done.reason == "run_budget"
    assert 0 < done.input_tokens + done.output_tokens <= 900


async def test_the_budget_of_a_day_counts_every_run_and_begins_anew_at_midnight(world: World):
    one = with_model(world, saying("yes"), tokens_per_day=300, answer_tokens=100)
    first = await one.run_passes(Curious(EIGHT))
    second = await one.run_passes(Curious(EIGHT))
    assert (first.passes[0].reason, second.passes[0].reason) == ("day_budget", "day_budget")
    assert second.passes[0].calls == 0
    one.clock.advance(DAY)
    assert (await one.run_passes(Curious(EIGHT))).passes[0].calls > 0


async def test_no_call_starts_while_a_person_is_served(world: World):
    one = with_model(world, saying("yes"))
    async with world.gate.foreground():
        dream = asyncio.ensure_future(curious(one, *EIGHT))
        await asyncio.sleep(0.05)
        assert one.chat.requests == []
    assert (await dream).calls == 8


def shared(world: World) -> World:
    return replace(world, shares_endpoint=True)


async def test_a_call_gives_way_to_a_person_where_both_need_the_same_server(world: World):
    gave_up: list[str] = []

    async def slow(_: ChatRequest) -> str:
        try:
            await asyncio.sleep(0.02 if gave_up else 30)
        except asyncio.CancelledError:
            gave_up.append("call")
            raise
        return saying("at last")

    one = shared(with_model(world, slow, calls_in_flight=1, answer_tokens=100))
    dream = asyncio.ensure_future(curious(one, "who"))
    while not one.chat.requests:
        await asyncio.sleep(0.001)
    async with world.gate.foreground():
        await asyncio.sleep(0.01)
        assert gave_up == ["call"]
    done = await dream
    assert (done.notes["answers"], done.calls) == (["at last"], 2)
    assert done.output_tokens == 100 + 5  # the one given up is charged what it might have cost


async def test_after_two_interruptions_a_call_is_let_finish(world: World):
    started = asyncio.Event()

    async def slow(_: ChatRequest) -> str:
        started.set()
        await asyncio.sleep(0.05)
        return saying("at last")

    one = shared(with_model(world, slow, calls_in_flight=1))
    dream = asyncio.ensure_future(curious(one, "who"))
    for _ in range(3):
        await started.wait()
        started.clear()
        async with world.gate.foreground():
            await asyncio.sleep(0.01)
    assert ((await dream).notes["answers"], len(one.chat.requests)) == (["at last"], 3)


async def test_a_call_in_flight_finishes_where_the_model_is_not_shared(world: World):
    async def slow(_: ChatRequest) -> str:
        await asyncio.sleep(0.03)
        return saying("done")

    one = with_model(world, slow)
    dream = asyncio.ensure_future(curious(one, "who"))
    while not one.chat.requests:
        await asyncio.sleep(0.001)
    async with world.gate.foreground():
        await asyncio.sleep(0.05)
    assert ((await dream).calls, len(one.chat.requests)) == (1, 1)


def drop(entry: MemoryEntry, world: World) -> ChangeSet:
    gone = replace(entry, status=Status.ARCHIVED, status_reason="noise", status_at=world.clock.now())
    return ChangeSet(
        operation="drop",
        changes=(Change[MemoryEntry](before=entry, after=gone, reason="noise"),),
        fingerprints={entry.id: fingerprint("drop", entry)},
    )


def dropping(world: World, entries: list[MemoryEntry]) -> Any:
    async def propose(_: ModelContext, __: str) -> Proposal:
        return Proposal(change_sets=tuple(drop(entry, world) for entry in entries))

    return propose


async def test_more_than_a_days_share_waits_and_is_done_the_next_day_without_asking_again(world: World):
    entries = await world.add(*(f"note {number}" for number in range(30)))
    one = with_model(world, saying("drop them"))
    done = await curious(one, "which", propose=dropping(world, entries))
    assert (done.accepted, codes(done), done.backlog) == (10, ["share_cap"] * 20, 20)
    same_day = await curious(one, "which")
    assert (same_day.accepted, same_day.calls) == (0, 0)
    for _ in range(3):
        world.clock.advance(DAY)
        await curious(one, "which")
    assert await world.active() == []
    assert len(one.chat.requests) == 1


async def test_what_waits_is_taken_up_once_however_it_is_killed_and_without_what_was_edited_meanwhile(
    world: World,
):
    async def waiting() -> tuple[World, MemoryEntry]:
        one = with_model(replace(world, scope=fresh_scope()), saying("drop them"))
        entries = await one.add(*(f"note {number}" for number in range(20)))
        await curious(one, "which", propose=dropping(one, entries))
        world.clock.advance(DAY)
        return one, await one.change((await one.active())[-1], content="a note that somebody wrote anew")

    async def taken_up(one: World) -> PassReport:
        return await curious(one, "which")

    whole, edited = await waiting()
    for write in range(await count_writes(whole, taken_up)):
        one, edited = await waiting()
        with pytest.raises((Killed, BaseExceptionGroup)):
            await taken_up(dying(one, write, committed=True))
        await bury(one)
        await taken_up(one)
        assert [entry.content for entry in await one.active()] == [edited.content]
        assert len(one.chat.requests) == 1


async def test_what_waits_is_dropped_when_its_run_is_taken_back(world: World):
    entries = await world.add(*(f"note {number}" for number in range(30)))
    before = await world.export()
    one = with_model(world, saying("drop them"))
    report = await one.run_passes(Curious(("which",), propose=dropping(world, entries)))
    await one.dreams.undo(report.run_id)
    assert await world.export() == before
    world.clock.advance(DAY)
    again = await curious(one, "which", propose=dropping(world, entries))
    assert set(codes(again)) == {"undone_by_person", "share_cap"}


async def test_a_record_that_moved_while_the_model_thought_is_left_alone(world: World):
    (entry,) = await world.add("Ana likes tea")

    async def write(_: ChatRequest) -> str:
        await world.change(entry, content="Ana likes coffee")
        return saying("drop it")

    done = await curious(with_model(world, write), "which", propose=dropping(world, [entry]))
    assert (codes(done), [one.content for one in await world.active()]) == (["stale_source"], ["Ana likes coffee"])


async def test_what_an_interrupted_run_left_is_looked_at_by_the_next_however_late(world: World):
    one = with_model(world, saying("yes"), calls_in_flight=1)
    with pytest.raises(Killed):
        await dying(one, 13, committed=True).run_passes(Curious(EIGHT))
    await bury(one)
    world.clock.advance(3 * DAY)
    report = await one.run_passes(Curious(EIGHT))
    abandoned = (await one.dreams.runs())[1]
    answered = next(item for item in abandoned.passes if item.name == "curious").looked_at
    assert not report.resumed
    assert len(report.passes[0].notes["answers"]) == 8 - answered
    assert 0 < answered < 8


async def test_undo_makes_the_pass_look_again_at_everything_it_looked_at(world: World):
    one = with_model(world, saying("yes"))
    before = await world.export()
    report = await one.run_passes(Curious(EIGHT))
    await one.dreams.undo(report.run_id)
    assert await world.export() == before
    assert len((await curious(one, *EIGHT)).notes["answers"]) == 8


async def test_the_calls_of_a_plan_are_paid_for_though_nothing_changes(world: World):
    one = with_model(world, saying("yes"), tokens_per_day=0)
    await world.add("Ana likes tea")
    await one.dreams.plan()
    spent = await world.storage.read(world.scope, lambda view: dream_stores(view).calls.spent())
    assert spent.calls == len(one.chat.requests)


async def test_an_own_directive_is_sent_from_the_next_run_on(world: World, tmp_path: Path):
    class Told(Curious):
        async def interpret(self, context: ModelContext, batch: Any, rounds: Any) -> Proposal:
            told = context.directives["memory-rules"]
            return replace(await super().interpret(context, batch, rounds), notes={"answer": told})

    one = replace(with_model(world, saying("yes")), data_dir=tmp_path)
    first = await one.run_passes(Told(("who",)))
    own = tmp_path / "directives" / "memory-rules.md"
    own.parent.mkdir()
    own.write_text("Keep everything.\n")
    second = await one.run_passes(Told(("who", "what")))
    assert second.passes[0].notes["answers"] == ["Keep everything."] * 2  # what was asked under other words, too
    assert first.directives["memory-rules"] != second.directives["memory-rules"]


async def test_a_directive_that_cannot_be_used_fails_its_pass_alone(world: World, tmp_path: Path):
    own = tmp_path / "directives" / "memory-rules.md"
    own.parent.mkdir()
    own.write_bytes(b"\xff\xfe")
    one = replace(with_model(world, saying("yes")), data_dir=tmp_path)
    done = await curious(one, "who")
    assert done.outcome is PassOutcome.FAILED
    assert "memory-rules.md" in str(done.reason)
    assert one.chat.requests == []


NO_MODEL = [
    ChatAnswerUnreadableError(model="m", base_url="http://here/v1", problem="not JSON"),
    ChatRequestRefusedError(model="m", status=302, code=""),
]


@pytest.mark.parametrize("error", NO_MODEL, ids=["a page", "a redirect"])
@pytest.mark.parametrize("questions", [1, 8])
async def test_a_pass_whose_every_call_brings_something_else_than_an_answer_of_a_model_has_failed(
    world: World, error: ChatError, questions: int
):
    asked = with_model(world, lambda _: error, calls_in_flight=1)
    for _ in range(7):  # and is not given up, however often
        calls = len(asked.chat.requests)
        report = await asked.run_passes(Curious(EIGHT[:questions]))
        (told,) = report.passes
        assert (report.outcome, told.outcome) == (Outcome.FAILED, PassOutcome.FAILED)
        assert told.reason == f"{type(error).__name__}: {error}"
        assert (told.refused, told.backlog) == ((), questions)
        assert len(asked.chat.requests) - calls <= 3
    report = await with_model(world, saying("an answer")).run_passes(Curious(EIGHT[:questions]))
    assert report.outcome is Outcome.COMPLETED


async def test_one_call_that_brings_no_answer_of_a_model_is_its_own_fault_alone_once_another_was_answered(world: World):
    error = NO_MODEL[0]
    given = iter([saying("one"), error, saying("three")])
    told = await curious(with_model(world, lambda _: next(given), calls_in_flight=1), *EIGHT[:3])
    assert told.outcome is not PassOutcome.FAILED
    assert (codes(told), told.notes) == (["call_failed"], {"answers": ["one", "three"]})
