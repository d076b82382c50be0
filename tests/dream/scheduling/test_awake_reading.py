"""New turns are read apart from dreams: soon, by gate and budget, and what they say counts toward the next dream."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import repeat
from pathlib import Path

import pytest
from plain_reader import plain_answer, purpose_of
from watching_over import HOUR, MINUTE, WatchedClock

from agentcore import AgentHostBuilder, Host, Scope, SessionPeer
from agentcore.llm import ChatOptions
from agentcore.testing import ChatServer, ServedRequest, ServerReply, chat_replies
from dream import DreamOptions, RunReport
from dream.domain import Outcome
from dream.options import AwakeReading, ModelOptions

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ANA = Scope("acme", "ana", "ana")


@dataclass
class Day:
    """A host in the preset `peer`, with the real client, and what its model was asked."""

    host: Host
    clock: WatchedClock
    asked: list[ServedRequest] = field(default_factory=list[ServedRequest])
    reports: list[RunReport] = field(default_factory=list[RunReport])
    said: int = 0

    async def say(self, count: int, *, words: str = "") -> None:
        for _ in range(count):
            self.said += 1
            text = f"Ana has put crate number {self.said} into shed {self.said * 7}.{words}"
            await self.host.for_scope(ANA).conversation.append(
                session_id="s1", role="user", content=text, speaker="Ana"
            )

    @property
    def ran(self) -> list[tuple[str | None, int]]:
        """What started each run that did something, and how many minutes after noon."""
        return [(one.trigger, int((one.started_at - NOON) / MINUTE)) for one in self.reports]

    async def facts(self, scope: Scope = ANA) -> int:
        return await self.host.for_scope(scope).memory.count()

    async def new(self, scope: Scope = ANA) -> int:
        """How many facts count toward the next dream."""
        asked = await self.host.for_scope(scope).dreams.explain()
        return next(int(str(gate.value)) for gate in asked.decision.gates if gate.name.value == "new_entries")


@asynccontextmanager
async def a_day(
    reply: Callable[[ServedRequest], str | ServerReply] = plain_answer, folder: Path | None = None, **options: object
) -> AsyncIterator[Day]:
    clock = WatchedClock(NOON)
    asked: list[ServedRequest] = []

    def answer(request: ServedRequest) -> str | ServerReply:
        asked.append(request)
        return reply(request)

    async with ChatServer(repeat(answer)) as server:
        builder = AgentHostBuilder(folder, clock=clock).with_memory().with_conversation_log()
        chat = ChatOptions(model="plain", base_url=server.base_url, api_key="none")
        told = DreamOptions.preset("peer").replace(**options)
        async with builder.with_llm(chat).with_dreaming(told).build() as host:
            day = Day(host, clock, asked)
            host.dreams.on_report(day.reports.append)
            yield day


async def test_sixty_facts_that_are_said_and_nothing_else_bring_exactly_one_dream():
    async with a_day() as day:
        for _ in range(60):
            await day.say(1)
            await day.clock.go_on(MINUTE)
        assert await day.facts() == 60
        for _ in range(48):
            await day.clock.go_on(HOUR)
    dreams = [ran for ran in day.ran if ran[0] == "threshold"]
    assert [trigger for trigger, _ in day.ran if trigger != "threshold"] == ["reading"] * (len(day.ran) - 1)
    assert len(dreams) == 1
    assert dreams[0][1] >= 120


@pytest.mark.parametrize(
    ("turns", "words", "wait"),
    [
        pytest.param(20, "", 1, id="twenty turns"),
        pytest.param(2, " And so on." * 200, 1, id="a thousand tokens"),
        pytest.param(1, "", 5, id="five minutes of silence"),
    ],
)
async def test_turns_are_read_when_there_are_enough_or_it_is_quiet(turns: int, words: str, wait: int):
    async with a_day() as day:
        await day.say(turns, words=words)
        for _ in range(wait):
            assert day.ran == []
            await day.clock.go_on(MINUTE)
        assert [trigger for trigger, _ in day.ran] == ["reading"]
        assert {purpose_of(one) for one in day.asked} <= {"reading", "facts"}


async def test_few_turns_wait_for_silence():
    async with a_day() as day:
        for _ in range(8):
            await day.say(1)
            await day.clock.go_on(2 * MINUTE)
        assert day.ran == []


async def test_what_is_read_awake_counts_and_what_a_dream_reads_does_not():
    async with a_day() as day:
        await day.say(20)
        await day.clock.go_on(MINUTE)
        assert (await day.facts(), await day.new()) == (20, 20)
        await day.say(5)
        await day.host.for_scope(ANA).dreams.run()
        assert (await day.facts(), await day.new()) == (25, 0)


async def test_a_reading_that_fails_backs_off_and_moves_no_dream():
    def failing(request: ServedRequest) -> ServerReply:
        return chat_replies.key_refused()

    async with a_day(failing) as day:
        await day.say(20)
        for _ in range(60):
            await day.clock.go_on(MINUTE)
        asked = await day.host.for_scope(ANA).dreams.explain()
    assert {one.outcome for one in day.reports} == {Outcome.PARTIAL}
    assert len(day.reports) < 12
    assert asked.failures == 0


async def test_a_reading_waits_for_the_budget_of_the_next_day():
    async with a_day(model=ModelOptions(tokens_per_day=1)) as day:
        await day.say(20)
        for _ in range(30):
            await day.clock.go_on(MINUTE)
        assert day.asked == []


async def test_a_reading_waits_while_a_person_is_served():
    async with a_day() as day:
        async with day.host.gate.foreground(ANA):
            await day.say(20)
            for _ in range(10):
                await day.clock.go_on(MINUTE)
            assert day.ran == []
        await day.clock.go_on(MINUTE)
        assert [trigger for trigger, _ in day.ran] == ["reading"]


async def test_turns_of_a_session_that_is_off_are_neither_counted_nor_read():
    async with a_day() as day:
        await day.host.for_scope(ANA).session("s1", learning=False)
        await day.say(40)
        for _ in range(10):
            await day.clock.go_on(MINUTE)
        assert (day.ran, day.asked) == ([], [])


async def test_without_that_option_turns_are_read_in_dreams_alone():
    schedule = DreamOptions.preset("peer").schedule.replace(awake=None)
    async with a_day(schedule=schedule) as day:
        await day.say(40)
        for _ in range(10):
            await day.clock.go_on(MINUTE)
        assert day.asked == []


def test_the_preset_reads_awake_and_no_other_does():
    awake = {name: DreamOptions.preset(name).schedule.awake for name in ("timed", "peer", "reviewed", "idle")}
    assert awake == {"timed": None, "peer": AwakeReading(), "reviewed": None, "idle": None}
    assert AwakeReading() == AwakeReading(turns=20, tokens=1_000, silence=timedelta(minutes=5))


BEN, CLEO = (Scope("acme", name, "ana") for name in ("ben", "cleo"))


async def heard_by_two(day: Day, count: int) -> None:
    observers = [SessionPeer(name=name, observe_others=True) for name in ("ben", "cleo")]
    talk = await day.host.session("s1", workspace="acme", peers=["ana", *observers])
    for number in range(day.said, day.said + count):
        await talk.append("ana", f"Ana has put crate number {number} into shed {number * 7}.")
    day.said += count


async def test_what_is_said_is_read_once_and_counts_for_each_who_heard_it():
    async with a_day() as day:
        await heard_by_two(day, 20)
        await day.clock.go_on(MINUTE)
        assert [await day.facts(scope) for scope in (ANA, BEN, CLEO)] == [20, 20, 20]
        assert [await day.new(scope) for scope in (ANA, BEN, CLEO)] == [20, 20, 20]
        assert [purpose_of(one) for one in day.asked] == ["facts"]


async def test_what_a_dream_reads_counts_for_nobody():
    async with a_day() as day:
        await heard_by_two(day, 5)
        await day.host.for_scope(ANA).dreams.run()
        assert [await day.facts(scope) for scope in (ANA, BEN)] == [5, 5]
        assert [await day.new(scope) for scope in (ANA, BEN)] == [0, 0]


async def test_each_observer_dreams_by_itself_and_a_peer_who_speaks_puts_all_of_them_off():
    async with a_day() as day:
        await heard_by_two(day, 60)
        for _ in range(50):
            await day.clock.go_on(MINUTE)
        assert {one.trigger for one in day.reports} == {"reading"}
        await heard_by_two(day, 1)
        for _ in range(50):
            await day.clock.go_on(MINUTE)
        assert {one.trigger for one in day.reports} == {"reading"}
        for _ in range(30):
            await day.clock.go_on(MINUTE)
        dreams = [one.scope for one in day.reports if one.trigger == "threshold"]
        assert sorted(dreams) == sorted([ANA, BEN, CLEO])


async def test_a_reading_that_was_broken_off_goes_on_and_its_facts_count(tmp_path: Path):
    def hanging(_: ServedRequest) -> ServerReply:
        return chat_replies.slow(chat_replies.server_error(), timedelta(hours=1))

    async with a_day(hanging, tmp_path) as day:
        await day.say(20)
        day.clock.advance(MINUTE)
        async with asyncio.timeout(30):
            while not day.asked:
                await asyncio.sleep(0.01)
    async with a_day(folder=tmp_path) as day:
        for _ in range(3):
            await day.clock.go_on(MINUTE)
        (report,) = day.reports
        assert (report.trigger, report.resumed) == ("reading", True)
        assert (await day.facts(), await day.new()) == (20, 20)


async def test_an_undone_reading_is_undone_for_those_who_heard_it_and_comes_back_with_its_redo():
    async with a_day() as day:
        await heard_by_two(day, 20)
        await day.clock.go_on(MINUTE)
        dreams = day.host.for_scope(ANA).dreams
        undone = await dreams.undo(day.reports[0].run_id)
        assert [await day.facts(scope) for scope in (ANA, BEN, CLEO)] == [0, 0, 0]
        await dreams.undo(undone.run_id)
        assert [await day.facts(scope) for scope in (ANA, BEN, CLEO)] == [20, 20, 20]
        await day.host.for_scope(BEN).dreams.run()
        assert await day.facts(BEN) == 20
