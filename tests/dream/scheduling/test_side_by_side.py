"""Several scopes dream side by side: in real time, with a model that is slow, counted at its server."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from dreaming import NOW
from watching_over import ANA, HOUR, MINUTE, Stage

from agentcore import AgentHostBuilder, Host, Scope
from agentcore.errors import StorageUnavailableError
from agentcore.llm import ChatOptions
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ChatServer, ManualClock, ServedRequest
from dream import DreamOptions, RunReport
from dream.domain import Outcome, Proposal, Work
from dream.interfaces.cli.render.status import next_rows
from dream.options import CatchUp, DailyAt, Interval, ModelOptions, SchedulingOptions
from dream.passes import PassSlot
from dream.triggers import GateName

NOTHING = '{"toDelete": [], "toSave": []}'
AT_ONCE = SchedulingOptions(trigger=Interval(initial_delay=timedelta(0)))
ON_REQUEST = SchedulingOptions(enabled=False)


@dataclass
class Model:
    """A slow model that knows by the names in its prompts which scope asks it."""

    seconds: Callable[[str], float]
    names: list[str]
    asked: list[str] = field(default_factory=list[str])
    answered: dict[str, float] = field(default_factory=dict[str, float])
    in_flight: Counter[str] = field(default_factory=Counter[str])
    most_calls: int = 0
    most_scopes: int = 0

    async def answer(self, request: ServedRequest) -> str:
        name = next(name for name in self.names if f"{name} likes" in request.prompt)
        with self._counted(name):
            await asyncio.sleep(self.seconds(name))
        self.answered[name] = time.monotonic()
        return NOTHING

    @contextmanager
    def _counted(self, name: str) -> Iterator[None]:
        self.asked.append(name)
        self.in_flight[name] += 1
        self.most_calls = max(self.most_calls, self.in_flight.total())
        self.most_scopes = max(self.most_scopes, sum(count > 0 for count in self.in_flight.values()))
        try:
            yield
        finally:
            self.in_flight[name] -= 1


def scope_of(name: str, workspace: str = "acme") -> Scope:
    return Scope(workspace, "agent", name)


@dataclass
class Night:
    """A host with a slow model, and what came of its dreams."""

    host: Host
    model: Model
    reports: list[RunReport] = field(default_factory=list[RunReport])
    ended: dict[str, float] = field(default_factory=dict[str, float])

    async def learn(self, scope: Scope, *, texts: int = 2) -> None:
        for number in range(texts):
            await self.host.for_scope(scope).memory.remember(
                f"{scope.observed} likes {'very ' * (60 if texts > 2 else 1)}green tea number {number} from Porto"
            )

    def told(self, report: RunReport) -> None:
        self.reports.append(report)
        self.ended[report.scope.observed] = time.monotonic()

    async def until(self, is_so: Callable[[], bool], *, seconds: float = 40) -> None:
        async with asyncio.timeout(seconds):
            while not is_so():
                await asyncio.sleep(0.01)


@asynccontextmanager
async def a_night(folder: Path, asked: Model, schedule: SchedulingOptions, **options: Any) -> AsyncIterator[Night]:
    modes = {"*": "off", "memory-consolidation": "apply"}
    told = DreamOptions(modes=modes, schedule=schedule, **options)
    async with ChatServer(repeat(asked.answer)) as server:
        builder = AgentHostBuilder(folder).with_memory().with_dreaming(told)
        chat = ChatOptions(model="slow", base_url=server.base_url, api_key="none")
        async with builder.with_llm(chat).build() as host:
            night = Night(host, asked)
            host.dreams.on_report(night.told)
            yield night


@pytest.mark.parametrize("is_asked_for", [True, False])
async def test_a_scope_that_is_due_a_second_after_anothers_dream_began_begins_at_once_and_ends_first(
    is_asked_for: bool, tmp_path: Path
):
    model = Model(lambda name: 4.0 if name == "ana" else 0.2, ["ana", "ben"])
    async with a_night(tmp_path, model, ON_REQUEST if is_asked_for else AT_ONCE) as night:
        ana, ben = scope_of("ana"), scope_of("ben")
        await night.learn(ana)
        await night.host.dreams.schedule(ana)
        await night.until(lambda: model.asked == ["ana"])
        began = time.monotonic()
        await asyncio.sleep(1)
        await night.learn(ben)
        if is_asked_for:
            await night.host.dreams.schedule(ben)
        else:
            assert night.host.dreams.service is not None
            night.host.dreams.service.wake()  # as a minute later at the latest
        await night.until(lambda: len(night.reports) == 2)
    assert [report.scope for report in night.reports] == [ben, ana]
    assert [report.outcome for report in night.reports] == [Outcome.COMPLETED] * 2
    assert night.ended["ben"] - began < 3
    assert night.ended["ana"] - began >= 3.9


async def test_never_more_dreams_are_under_way_than_there_are_places_and_all_come_to_theirs(tmp_path: Path):
    names = [f"p{number}" for number in range(10)]
    model = Model(lambda _: 0.5, names)
    async with a_night(tmp_path, model, ON_REQUEST) as night:
        for name in names:
            await night.learn(scope_of(name))
            await night.host.dreams.schedule(scope_of(name))
        await night.until(lambda: len(night.reports) == len(names))
    assert model.most_scopes == 4
    assert sorted(model.asked) == names
    assert all(report.outcome is Outcome.COMPLETED for report in night.reports)


async def test_calls_in_flight_are_bounded_over_all_dreams_of_a_host(tmp_path: Path):
    names = ["ana", "ben", "eva", "leo"]
    model = Model(lambda _: 0.2, names)
    narrow = ModelOptions(calls_in_flight=5, prompt_tokens=500)
    async with a_night(tmp_path, model, ON_REQUEST, model=narrow) as night:
        for name in names:
            await night.learn(scope_of(name), texts=24)
        for name in names:
            await night.host.dreams.schedule(scope_of(name))
        await night.until(lambda: len(night.reports) == len(names))
    assert min(Counter(model.asked).values()) >= 3
    assert model.most_calls == 5
    assert model.most_scopes == 4


async def test_a_model_that_hangs_on_all_calls_of_one_scope_costs_another_nothing(tmp_path: Path):
    model = Model(lambda name: 3600 if name == "ana" else 0.2, ["ana", "ben"])
    narrow = ModelOptions(calls_in_flight=4, prompt_tokens=500)
    async with a_night(tmp_path, model, ON_REQUEST, model=narrow) as night:
        ana, ben = scope_of("ana"), scope_of("ben")
        await night.learn(ana, texts=40)
        await night.learn(ben)
        await night.host.dreams.schedule(ana)
        await night.until(lambda: model.in_flight["ana"] >= 2)
        await asyncio.sleep(0.3)  # it takes what it gets
        began = time.monotonic()
        await night.host.dreams.schedule(ben)
        await night.until(lambda: len(night.reports) == 1)
        assert [report.scope for report in night.reports] == [ben]
        assert night.ended["ben"] - began < 2


async def test_a_tenant_with_much_that_is_due_does_not_take_every_place_while_another_waits(tmp_path: Path):
    many = [f"m{number}" for number in range(12)]
    few = ["f0", "f1"]
    model = Model(lambda _: 0.4, [*many, *few])
    async with a_night(tmp_path, model, ON_REQUEST) as night:
        for name in many:
            await night.learn(scope_of(name))
        for name in few:
            await night.learn(scope_of(name, "small"))
        for name in many:
            await night.host.dreams.schedule(scope_of(name))
        await night.until(lambda: len(model.asked) == 4)
        for name in few:
            await night.host.dreams.schedule(scope_of(name, "small"))
        await night.until(lambda: len(night.reports) == 14)
    # Four were under way when the small tenant asked; whatever ends first, its places go to those who have none.
    assert set(few) <= set(model.asked[4:8])


async def test_a_host_stops_within_its_budget_while_four_dream_and_each_goes_on_later(tmp_path: Path):
    names = ["ana", "ben", "eva", "leo"]
    hanging = Model(lambda _: 3600, names)
    async with a_night(tmp_path, hanging, ON_REQUEST) as night:
        for name in names:
            await night.learn(scope_of(name))
            await night.host.dreams.schedule(scope_of(name))
        await night.until(lambda: len(hanging.asked) == 4)
        stops = time.monotonic()
    assert time.monotonic() - stops < 5
    assert not [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("dream")]
    model = Model(lambda _: 0.05, names)
    async with a_night(tmp_path, model, ON_REQUEST) as night:
        await night.until(lambda: len(night.reports) == 4)
    assert {report.scope.observed for report in night.reports} == set(names)
    assert all(report.resumed for report in night.reports)


class Holding:
    """A pass that lasts as long as a test likes, on the scopes that the test names."""

    name = "holding"
    requires: frozenset[Any] = frozenset()

    def __init__(self, *held: Scope) -> None:
        self.held = set(held)
        self.begun: list[Scope] = []
        self.let = asyncio.Event()

    async def has_work(self, _context: Any) -> Work:
        return Work(1)

    async def propose(self, context: Any) -> Proposal:
        self.begun.append(context.scope)
        if context.scope in self.held:
            await self.let.wait()
        return Proposal(looked_at=("x",))

    def conclude(self, _notes: Any) -> dict[str, Any]:
        return {}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.005)


async def test_a_scope_that_waits_for_a_place_says_so(stage: Stage):
    ben = scope_of("ben")
    holding = Holding(ANA)
    stage.order = (PassSlot(holding, "a test asked for it"),)
    await stage.learn("Ana likes tea.")
    stage.clock.advance(timedelta(seconds=1))
    await replace(stage.world, scope=ben).memory.remember("Ben bakes rye")
    async with stage.watched(max_concurrent_dreams=1) as watched:
        free = await watched.dreams.explain(ben)
        assert GateName.FREE_PLACE not in {gate.name for gate in free.waits_for}
        stage.clock.set(NOW + HOUR)
        await until(lambda: holding.begun == [ANA])
        await asyncio.sleep(0.05)
        told = await watched.dreams.explain(ben)
        (gate,) = told.waits_for
        assert (gate.name, gate.value, gate.threshold) == (GateName.FREE_PLACE, 1, 1)
        assert ("waits for", "a free place: 1 of 1 dreams under way") in next_rows(told)
        # Whoever dreams waits for no place, nor who is not due.
        for other in (ANA, scope_of("new")):
            told = await watched.dreams.explain(other)
            assert GateName.FREE_PLACE not in {gate.name for gate in told.waits_for}
        holding.let.set()
        await until(lambda: len(stage.reports) == 2)
    assert [report.scope for report in stage.reports] == [ANA, ben]


async def test_a_window_that_comes_while_no_place_is_free_is_not_missed(stage: Stage):
    ben = scope_of("ben")
    holding = Holding(ANA)
    stage.order = (PassSlot(holding, "a test asked for it"),)
    nightly = {"trigger": DailyAt(at="10:00"), "zone": "UTC", "catch_up": CatchUp.SKIP, "max_concurrent_dreams": 1}
    await stage.learn("Ana likes tea.")
    async with stage.watched(**nightly) as watched:
        assert (await watched.dreams.schedule(ANA)).is_taken
        watched.service.wake()
        await until(lambda: holding.begun == [ANA])
        await replace(stage.world, scope=ben).memory.remember("Ben bakes rye")
        for _ in range(3 * 6):  # two hours past the window
            stage.clock.advance(10 * MINUTE)
            watched.service.wake()
            await until(lambda: watched.service.looks[-1] == stage.clock.now())
        holding.let.set()
        await until(lambda: len(stage.reports) == 2)
    assert [(report.scope, report.trigger) for report in stage.reports] == [(ANA, "manual"), (ben, "daily")]
    assert stage.ran() == ["manual 0", "daily 180"]


async def test_scopes_of_one_workspace_and_of_others_take_turns_in_the_only_place(stage: Stage):
    stage.order = (PassSlot(Holding(), "a test asked for it"),)
    big = [scope_of(f"b{number}", "big") for number in range(4)]
    small = [scope_of(f"s{number}", "small") for number in range(2)]
    for scope in (*big, *small):
        await replace(stage.world, scope=scope).memory.remember("Ana likes tea.")
        stage.clock.advance(timedelta(seconds=1))
    async with stage.watched(max_concurrent_dreams=1) as watched:
        await watched.to(NOW + HOUR)
    assert [report.scope for report in stage.reports] == [big[0], small[0], big[1], small[1], big[2], big[3]]


async def test_a_call_that_waits_for_a_slot_while_its_person_is_served_lets_another_scope_go_first(tmp_path: Path):
    model = Model(lambda name: 0.8 if name == "ana" else 0.1, ["ana", "ben", "eva"])
    async with a_night(tmp_path, model, ON_REQUEST, model=ModelOptions(calls_in_flight=1)) as night:
        ana, ben, eva = (scope_of(name) for name in model.names)
        for scope in (ana, ben, eva):
            await night.learn(scope)
        await night.host.dreams.schedule(ana)
        await night.until(lambda: model.asked == ["ana"])
        await night.host.dreams.schedule(ben)
        await asyncio.sleep(0.3)  # it waits for the only slot
        async with night.host.gate.foreground(ben):
            await night.host.dreams.schedule(eva)
            await night.until(lambda: len(night.reports) == 2)
            assert model.asked == ["ana", "eva"]
        await night.until(lambda: len(night.reports) == 3)
    assert model.asked == ["ana", "eva", "ben"]
    assert model.most_calls == 1


class RefusingStorage(SqlStorage):
    """A storage that refuses to write while it is told to."""

    refuses = False
    refused = 0

    async def write(self, scope: Any, work: Any, **told: Any) -> Any:
        if self.refuses:
            self.refused += 1
            raise StorageUnavailableError(path="here", problem="is full", remedy="make room")
        return await super().write(scope, work, **told)


async def test_a_database_that_refuses_to_write_ends_no_service_and_is_tried_again_a_minute_later():
    clock = ManualClock(NOW)
    storage = RefusingStorage(None, clock=clock)
    builder = AgentHostBuilder(None, clock=clock).with_storage(storage).with_memory()
    reports: list[RunReport] = []
    scopes = [scope_of(f"p{number}") for number in range(6)]
    async with builder.with_dreaming(DreamOptions(schedule=AT_ONCE)).build() as host:
        host.dreams.on_report(reports.append)
        assert host.dreams.service is not None
        for scope in scopes:
            await host.for_scope(scope).memory.remember("Ana likes tea")
        storage.refuses = True
        for _ in range(10):
            clock.advance(MINUTE)
            await asyncio.sleep(0.02)
        assert host.dreams.service.failure is None
        assert storage.refused < 10 * 20
        storage.refuses = False
        for _ in range(3):
            clock.advance(MINUTE)
            await asyncio.sleep(0.05)
        await until(lambda: len(reports) == len(scopes))
    assert {report.scope for report in reports} == set(scopes)
