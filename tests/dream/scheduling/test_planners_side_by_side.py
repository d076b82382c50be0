"""Planners and runs beside each other on one database lose neither what happened nor what another wrote."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from agentcore.domain import Scope
from agentcore.stores import UnitOfWork
from agentcore.stores.sql import SqlStorage
from agentcore.stores.values import Peer
from agentcore.testing import ManualClock, SequentialIds
from agentcore.testing.contracts.samples import START, an_entry
from dream import DreamOptions
from dream.cycle.scheduling.planner import Planner
from dream.options.levels import OptionLevels
from dream.stores.dream_stores import dream_stores

ANA = Scope("acme", "agent", "ana")
PLANNERS = 4
ROUNDS = 5

Opener = Callable[[], Awaitable[SqlStorage]]


@pytest.fixture(params=["file", "postgres"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path):
    place = tmp_path / "agentcore.db" if request.param == "file" else request.getfixturevalue("postgres_url")
    storages: list[SqlStorage] = []

    async def start() -> SqlStorage:
        storages.append(SqlStorage(place, clock=ManualClock(START)))
        await storages[-1].start()
        return storages[-1]

    yield start
    for storage in storages:
        await storage.stop()


def planner() -> Planner:
    return Planner(OptionLevels(DreamOptions()), SequentialIds())


async def test_what_happens_while_somebody_plans_is_planned_for_next(opened: Opener):
    storage, other = await opened(), await opened()
    await storage.write(ANA, lambda unit: unit.entries.add([an_entry("a", scope=ANA)]))
    looked, touched = Event(), Event()

    def plan_slowly(unit: UnitOfWork) -> None:
        fleet = dream_stores(unit).fleet
        changed = fleet.changed(limit=10)
        assert len(changed.peers) == 1
        looked.set()
        touched.wait(0.3)
        planner().plan(unit, changed.keys)
        fleet.settle(changed)

    async def act() -> None:
        await asyncio.to_thread(looked.wait)
        await other.write(None, lambda unit: unit.activity.touch({Peer.of(ANA): START}))
        touched.set()

    await asyncio.gather(storage.write(None, plan_slowly), act())
    waiting = await storage.write(None, lambda unit: dream_stores(unit).fleet.changed(limit=10).peers)
    assert len(waiting) == 1


async def test_two_planners_share_the_peers_among_them(opened: Opener):
    storages = [await opened() for _ in range(PLANNERS)]
    for number in range(20):
        scope = Scope("acme", "agent", f"ana-{number}")
        await storages[0].write(scope, lambda unit: unit.entries.add([an_entry("a", scope=unit.scope)]))

    async def plan(storage: SqlStorage) -> int:
        count = 0
        while some := await storage.write(None, lambda unit: planner().plan_changed(unit, limit=3)):
            count += some
        return count

    assert sum(await asyncio.gather(*map(plan, storages))) == 20


async def test_no_change_of_a_schedule_is_lost(opened: Opener):
    storages = [await opened() for _ in range(PLANNERS)]
    terms = planner().terms
    await storages[0].write(ANA, lambda unit: unit.entries.add([an_entry("a", scope=ANA)]))

    def fail_once_more(unit: UnitOfWork) -> None:
        schedules = dream_stores(unit).schedules
        found = schedules.mine(terms)
        schedules.save([replace(found, state=replace(found.state, failures=found.state.failures + 1))])

    def plan_by_key(unit: UnitOfWork) -> None:
        schedules = dream_stores(unit).schedules
        for found in schedules.of([schedule_key], lambda _scope: terms):
            schedules.save([replace(found, state=replace(found.state, failures=found.state.failures + 1))])

    schedule_key = await storages[0].write(ANA, lambda unit: dream_stores(unit).schedules.mine(terms).key)
    tries = [
        one.write(ANA, fail_once_more) if number % 2 else one.write(None, plan_by_key)
        for _ in range(ROUNDS)
        for number, one in enumerate(storages)
    ]
    await asyncio.gather(*tries)
    found = await storages[0].read(ANA, lambda view: dream_stores(view).schedules.mine(terms))
    assert found.state.failures == PLANNERS * ROUNDS
