"""A conversation at rest gets one summary with a rating, whatever restarts, and people go first."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from dreaming import DAY, NOW, VerifyingChatClient, World

from agentcore import AgentHostBuilder, Host
from agentcore.domain import Feedback, FeedbackKind, Rating, Turn
from agentcore.hosting.lifecycle import BackgroundService
from agentcore.llm import ChatOptions, ChatUnreachableError
from agentcore.testing import ChatServer, ManualClock
from dream.cycle import SessionEvaluator
from dream.options import DreamOptions, ModelOptions
from dream.options.levels import OptionLevels

HALF_AN_HOUR = timedelta(minutes=30)
SUMMARY = "The user wanted the invoices and got them sorted wrongly."


def rated(rating: str = "fair", summary: str = SUMMARY) -> str:
    return orjson.dumps({"rating": rating, "summary": summary}).decode()


def in_background(host: Host) -> list[str]:
    """Return the names of what a host's dreams run beside it."""
    return [one.name for one in host.dreams.services if isinstance(one, BackgroundService)]


async def said(world: World, session: str = "s1", *texts: str, **fields: Any) -> None:
    now = world.clock.now()
    turns = [
        Turn(
            **{
                "id": world.ids.new(),
                "scope": world.scope,
                "session_id": session,
                "role": role,
                "content": text,
                "occurred_at": now,
                "recorded_at": now,
            }
            | fields
        )
        for role, text in zip(("user", "assistant") * 9, texts or ("Show me the invoices.", "Here."), strict=False)
    ]
    await world.write(lambda unit: unit.turns.add(turns))


async def summaries(world: World) -> list[Feedback]:
    rows = await world.storage.read(world.scope, lambda view: view.feedback.newest(limit=99))
    return [row for row in rows if row.kind is FeedbackKind.SESSION_SUMMARY]


def evaluator(world: World, *replies: Any, **options: Any) -> tuple[SessionEvaluator, VerifyingChatClient]:
    """A freshly started evaluator that sees this scope alone."""
    chat = VerifyingChatClient(replies)
    alone = replace(world, chat=chat, storage=_OneScope(world))
    return SessionEvaluator(alone.parts, OptionLevels(DreamOptions(**options))), chat


class _OneScope:
    """The store that all tests share, as if nobody else were in it."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.storage, name)

    async def scopes(self) -> list[Any]:
        return [self._world.scope]


async def test_a_session_idle_30_minutes_gets_one_summary_with_a_rating(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR - timedelta(seconds=1))
    service, chat = evaluator(world, rated())
    assert await service.evaluate() == 0
    world.clock.advance(timedelta(seconds=1))
    assert await service.evaluate() == 1
    (row,) = await summaries(world)
    assert (row.session_id, row.rating, row.summary) == ("s1", Rating.FAIR, SUMMARY)
    assert '"Show me the invoices."' in chat.requests[0].messages[-1].content
    assert await service.evaluate() == 0


async def test_once_also_across_restarts_and_when_it_goes_on_later(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    await evaluator(world, rated())[0].evaluate()
    assert await evaluator(world)[0].evaluate() == 0
    await said(world, "s1", "One more thing.")
    for later in (HALF_AN_HOUR, 6 * DAY, 3 * DAY):
        world.clock.advance(later)
        assert await evaluator(world)[0].evaluate() == 0
    await said(world, "s1", "And again.")
    world.clock.advance(HALF_AN_HOUR)
    assert await evaluator(world)[0].evaluate() == 0
    assert len(await summaries(world)) == 1


async def test_two_processes_store_one_summary(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    one, other = evaluator(world, rated())[0], evaluator(world, rated("good"))[0]
    assert sum(await asyncio.gather(one.evaluate(), other.evaluate())) == 1
    assert len(await summaries(world)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON",
        rated("fairly good"),
        rated("unfair"),
        rated(summary=""),
        rated(summary="x" * 1_001),
        rated(summary="The password is hunter2-Zebra!"),
        '{"rating": "good"}',
        '{"rating": ["good"], "summary": "Fine."}',
    ],
)
async def test_an_answer_that_cannot_be_used_is_no_summary_and_is_paid_once(world: World, answer: str):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    service, chat = evaluator(world, answer)
    for _ in range(3):
        assert await service.evaluate() == 0
    assert (len(chat.requests), await summaries(world)) == (1, [])
    assert await evaluator(world)[0].evaluate() == 0


async def test_a_model_out_of_reach_is_asked_again_later(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    gone = ChatUnreachableError(model="m", base_url="http://127.0.0.1:9", tries=1, was_connected=False)
    service, _ = evaluator(world, gone, rated())
    with pytest.raises(ChatUnreachableError):
        await service.evaluate()
    assert await service.evaluate() == 1


async def test_a_person_goes_first(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    service, chat = evaluator(world, rated())
    async with world.gate.foreground():
        waiting = asyncio.gather(service.evaluate())
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert (chat.requests, await summaries(world)) == ([], [])
    assert await waiting == [1]


async def test_the_tokens_of_the_day_hold_here_too(world: World):
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    service, chat = evaluator(world, model=ModelOptions(tokens_per_day=10))
    assert (await service.evaluate(), chat.requests) == (0, [])


async def test_what_was_imported_long_ago_generated_or_paused_is_left_alone(world: World):
    await said(world, "old", occurred_at=world.clock.now() - 8 * DAY)
    await said(world, "made", generated=True)
    await said(world)
    world.clock.advance(HALF_AN_HOUR)
    await world.dreams.pause()
    assert await evaluator(world)[0].evaluate() == 0
    await world.dreams.resume()
    assert await evaluator(world, rated())[0].evaluate() == 1
    assert [row.session_id for row in await summaries(world)] == ["s1"]


async def test_of_a_long_conversation_the_end_is_shown(world: World):
    await said(world, "s1", *(f"part {place} {'word ' * 300}" for place in range(9)))
    world.clock.advance(HALF_AN_HOUR)
    service, chat = evaluator(world, rated(), model=ModelOptions(prompt_tokens=1_000))
    await service.evaluate()
    prompt = chat.requests[0].messages[-1].content
    assert ("part 8" in prompt, "part 0" in prompt) == (True, False)


async def test_many_conversations_that_have_their_summary_hide_none_that_has_not(world: World):
    given = {"scope": world.scope, "occurred_at": NOW, "recorded_at": NOW, "kind": FeedbackKind.SESSION_SUMMARY}
    sessions = [f"s{number:02}" for number in range(60)]
    done = [Feedback(id=one, session_id=one, summary="Fine.", rating=Rating.GOOD, **given) for one in sessions]
    await world.write(lambda unit: unit.feedback.append(done))
    for one in sessions:
        await said(world, one, "Hello.")
    world.clock.advance(timedelta(minutes=1))
    await said(world, "last")
    world.clock.advance(timedelta(hours=1))
    assert await evaluator(world, rated())[0].evaluate() == 1


async def test_it_is_not_started_where_it_is_switched_off():
    made = AgentHostBuilder(None).with_memory().with_conversation_log().with_feedback()
    off = DreamOptions(modes={"session-evaluator": "off"})
    made.with_llm(ChatOptions(base_url="http://127.0.0.1:9", model="m"))
    host = made.with_dreaming(off).build()
    assert in_background(host) == ["dreams"]


async def test_a_host_whose_dreams_do_not_start_by_themselves_calls_no_model_unasked():
    async with ChatServer([rated("poor")] * 3) as server:
        clock = ManualClock(NOW)
        made = AgentHostBuilder(None, clock=clock).with_memory().with_conversation_log().with_feedback()
        made.with_llm(ChatOptions(base_url=server.base_url, model="scripted"))
        async with made.with_dreaming(in_background=False).build() as host:
            await host.conversation.append(session_id="s1", role="user", content="This is useless.")
            clock.advance(HALF_AN_HOUR + timedelta(minutes=5))
            for _ in range(20):
                await asyncio.sleep(0.01)
            assert (in_background(host), await host.feedback.count(), len(server.requests)) == ([], 0, 0)


async def test_the_host_starts_it_and_reaches_a_real_client():
    async with ChatServer([rated("poor")] * 3) as server:
        clock = ManualClock(NOW)
        made = AgentHostBuilder(None, clock=clock).with_memory().with_conversation_log().with_feedback()
        async with (
            made.with_llm(ChatOptions(base_url=server.base_url, model="scripted")).with_dreaming().build() as host
        ):
            await host.conversation.append(session_id="s1", role="user", content="This is useless.")
            clock.advance(HALF_AN_HOUR + timedelta(minutes=5))
            async with asyncio.timeout(10):
                while not await host.feedback.count():
                    await asyncio.sleep(0.01)
            (row,) = await host.feedback.newest()
    assert (row.kind, row.rating) == (FeedbackKind.SESSION_SUMMARY, Rating.POOR)
