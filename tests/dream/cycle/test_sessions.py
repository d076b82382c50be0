"""Dreams as sessions: keys, calls, writes; and never one of them among the conversations."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from dreaming import DAY, NOW, VerifyingChatClient, World
from interrupting import Killed, bury, dying
from wishing import Curious

from agentcore import AgentHostBuilder
from agentcore.errors import InvalidOptionsError
from agentcore.llm import Completion, FailedTry, FinishReason, TryFailure, Usage
from agentcore.testing import ManualClock
from dream.cycle import Runner
from dream.domain import Outcome, RunKind
from dream.errors import UnknownRunError, UnknownSessionError
from dream.passes import PassSlot


def said(text: str, *, model: str = "small", failed: int = 0, **fields: Any) -> Completion:
    lost = FailedTry(failure=TryFailure.TIMED_OUT, usage=Usage(input_tokens=10, output_tokens=90))
    usual: dict[str, Any] = {"finish_reason": FinishReason.STOP, "usage": Usage(input_tokens=100, output_tokens=5)}
    return Completion(text=f'{{"text": "{text}"}}', model=model, failed_tries=(lost,) * failed, **(usual | fields))


async def asked(world: World, *replies: Completion) -> str:
    """Run a pass that asks two questions; return the run."""
    options = world.options.replace(model=world.options.model.replace(calls_in_flight=1))
    one = replace(world, chat=VerifyingChatClient(replies), options=options)
    runner = Runner(one.parts, options, (PassSlot(Curious(("who", "what")), "a test asked for it"),))
    return (await runner.run(world.scope)).run_id


async def test_every_call_of_a_dream_is_told_with_pass_batch_model_tokens_and_ending(world: World):
    estimated = Usage(input_tokens=7, output_tokens=1, is_estimated=True)
    run_id = await asked(
        world,
        said("again", failed=1),
        said("", finish_reason=FinishReason.CONTENT_FILTER, usage=estimated, model="large"),
        said("a painter"),
    )
    calls = await world.dreams.calls(run_id)
    assert [(call.batch, call.attempt, call.model, call.ended, call.failed, call.is_estimated) for call in calls] == [
        ("1", None, "small", "timed_out", True, True),
        ("1", 1, "small", "stop", False, False),
        ("2", 1, "large", "content_filter", False, True),
        ("1", 2, "small", "stop", False, False),
    ]
    assert [call.kind for call in calls] == [None, "question", "question", "repair"]
    assert {(call.pass_name, call.at) for call in calls} == {("curious", NOW)}
    (one,) = await world.dreams.sessions()
    assert (one.run_id, one.session) == (run_id, f"dream:{world.scope}:2025-06-14T09:00:00Z")
    assert (one.models, one.calls, one.failed) == (("large", "small"), 4, 1)
    assert one.input_tokens == sum(call.input_tokens for call in calls) == 217
    assert one.output_tokens == sum(call.output_tokens for call in calls) == 101
    assert (one.wrote, one.outcome, one.finished_at, one.is_running) == (False, Outcome.COMPLETED, NOW, False)


async def test_the_newest_dream_comes_first_and_undos_restores_and_reviews_are_none(world: World):
    await world.add("Ana likes tea.", "Ana likes  tea")
    made = await world.dreams.plan()
    world.clock.advance(DAY)
    applied = await world.dreams.run(plan=made.plan_id)
    world.clock.advance(DAY)
    undone = await world.dreams.undo(applied.run_id)
    world.clock.advance(DAY)
    idle = await world.dreams.run()
    found = await world.dreams.sessions()
    assert [(one.run_id, one.kind, one.wrote, one.changes) for one in found] == [
        (idle.run_id, RunKind.DREAM, False, 0),
        (applied.run_id, RunKind.PLAN, True, applied.changes),
    ]
    assert applied.changes == len(await world.dreams.diff(found[1].session))
    assert await world.dreams.session(undone.run_id) is None
    assert await world.dreams.sessions(limit=1) == found[:1]
    assert await world.dreams.sessions(prefix=f"dream:{world.scope}:2025-06-15") == found[1:]
    with pytest.raises(InvalidOptionsError, match="limit"):
        await world.dreams.sessions(limit=0)


async def test_a_session_is_found_by_its_key_or_the_beginning_of_it_in_its_own_scope(world: World):
    first, second = await world.dreams.run(), await world.dreams.run()
    world.clock.advance(timedelta(microseconds=1))
    third = await world.dreams.run()
    newest, *same = await world.dreams.sessions()
    assert newest.session == f"dream:{world.scope}:2025-06-14T09:00:00.000001Z"
    assert (await world.dreams.report(newest.session)).run_id == third.run_id
    assert await world.dreams.session(newest.session[:-2]) == newest
    assert await world.dreams.session(third.run_id) == newest
    assert [one.run_id for one in same] == [second.run_id, first.run_id]
    with pytest.raises(UnknownSessionError, match="several: give more characters, or the run's id"):
        await world.dreams.report(same[0].session)
    for unknown in ("dream:", f"dream:{world.scope}:2025-06-15", newest.session.upper().replace("DREAM:", "dream:")):
        with pytest.raises(UnknownSessionError, match=r"fits .*\.$"):
            await world.dreams.calls(unknown)
    with pytest.raises(UnknownSessionError, match="none in this scope"):
        await world.elsewhere().dreams.session(newest.session)
    with pytest.raises(UnknownRunError):
        await world.dreams.session(newest.session.removeprefix("dream:"))


async def test_an_interrupted_dream_keeps_its_key_and_what_it_did_when_it_goes_on(world: World):
    world.options = world.options.replace(step_size=2)
    await world.add(*(f"Ana likes tea{'.' * place}" for place in range(4)))
    with pytest.raises(Killed):
        await dying(world, 4, committed=True).dreams.run(passes=["exact-fold"])
    (running,) = await world.dreams.sessions()
    await bury(world)
    (broken,) = await world.dreams.sessions()
    assert (running.is_running, broken.is_running) == (True, False)
    assert (broken.outcome, broken.finished_at, broken.trigger) == (None, None, None)
    assert broken.changes == len(await world.journal()) > 0
    world.clock.advance(DAY / 2)
    report = await world.dreams.run(passes=["exact-fold"])
    (whole,) = await world.dreams.sessions()
    assert (whole.session, whole.outcome, whole.finished_at) == (broken.session, Outcome.COMPLETED, NOW + DAY / 2)
    assert whole.changes == report.changes > broken.changes


async def test_dreams_stand_in_no_conversation_and_conversations_are_no_dreams():
    """A person's session counts for what it is, also one that is called as the dream itself will be."""
    names = ("notadream:1", "dream:of the sea", "dream:default/agent/agent:2025-06-14T09:00:00Z")
    texts = [f"I keep bees number {place}." for place in range(len(names))]
    chat = VerifyingChatClient(['{"facts": []}'])
    builder = AgentHostBuilder(None, clock=ManualClock(NOW)).with_memory().with_conversation_log().with_llm(chat)
    async with builder.with_dreaming(in_background=False).build() as host:
        for name, text in zip(names, texts, strict=True):
            await host.conversation.append(session_id=name, role="user", content=text)
        before = await host.conversation.sessions()
        await host.dreams.run(passes=["fact-mining", "log-consumption"])
        (dream,) = await host.dreams.sessions()
        assert (dream.session, dream.calls) == (names[2], 1)
        # Each of them was learnt from, and what the model was told is nowhere in the log.
        prompt = "".join(message.content for message in chat.requests[0].messages)
        assert all(text in prompt for text in texts)
        assert await host.conversation.sessions() == before
        assert [one.session_id for one in before] == sorted(names)
        assert await host.conversation.count() == len(names)
        assert [turn.content for turn in await host.conversation.session(dream.session)] == texts[2:]
        found = await host.conversation.recall("facts bees conversation learn memory", k=50)
        assert {hit.turn.content for hit in found} == set(texts)
        dreamlike = await host.conversation.sessions(prefix="dream:")
        assert {one.session_id for one in dreamlike} == set(names[1:])
        assert [one.run_id for one in await host.dreams.sessions(prefix=names[2])] == [dream.run_id]
        with pytest.raises(InvalidOptionsError, match="limit"):
            await host.conversation.sessions(limit=0)


async def test_dreams_begun_within_a_second_have_keys_of_their_own(world: World):
    await world.add("Ana likes tea")
    for _ in range(3):
        await world.dreams.run()
        world.clock.advance(timedelta(milliseconds=250))
    found = await world.dreams.sessions()
    assert len({one.session for one in found}) == 3
    told = [await world.dreams.session(one.session) for one in found]
    assert [one and one.run_id for one in told] == [one.run_id for one in found]
