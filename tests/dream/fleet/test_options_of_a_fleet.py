"""Hosts that share a database plan each scope once after a change of options, whoever they are."""

from datetime import timedelta
from typing import Any

import pytest
from dreaming import NOW
from sqlalchemy import func, select

from agentcore import AgentHostBuilder
from agentcore.domain.scope import Scope
from agentcore.errors import InvalidOptionsError
from agentcore.stores.sql import SqlStorage
from agentcore.stores.sql.forget_key import KEY_VARIABLE
from agentcore.stores.sql.schema import schedules
from agentcore.testing import ManualClock
from agentcore.testing.ids import SequentialIds
from dream.cycle import Planner
from dream.cycle.fleet.facade import HostFleet
from dream.options import DreamOptions, Interval, SchedulingOptions
from dream.options.levels import OptionLevels
from dream.stores import dream_stores


def a_planner(hours: int) -> Planner:
    every = SchedulingOptions(trigger=Interval(every=timedelta(hours=hours)))
    return Planner(OptionLevels(DreamOptions(schedule=every)), SequentialIds())


async def planned(storage: SqlStorage, planner: Planner) -> int:
    """Plan what is outdated to the end; return how many scopes that were."""
    total = 0
    while count := await storage.write(None, lambda unit: planner.plan_outdated(unit, limit=3)):
        total += count
    return total


async def claim(storage: SqlStorage, planner: Planner) -> None:
    await storage.write(Scope.default(), lambda unit: dream_stores(unit).fleet.claim_terms(planner.terms))


async def hashes(storage: SqlStorage) -> int:
    def look(view: Any) -> int:
        return view.transaction.connection.execute(
            select(func.count(func.distinct(schedules.c.options_hash)))
        ).scalar_one()

    return await storage.read(Scope.default(), look)


async def test_a_worker_is_refused_where_no_other_would_recognise_what_it_forgets(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    async with (
        AgentHostBuilder(None, database=postgres_url).with_memory().with_dreaming(in_background=False).build() as host
    ):
        with pytest.raises(InvalidOptionsError, match=f"{KEY_VARIABLE}.*the same for all workers"):
            HostFleet.of(host.dreams).worker(postgres_url, at_once=1)


async def test_scopes_are_planned_once_for_all_hosts_with_the_same_options_and_by_the_last_that_differs():
    storage = SqlStorage(None, clock=ManualClock(NOW))
    await storage.start()
    try:
        former, later, twin = a_planner(4), a_planner(8), a_planner(8)
        keys = [
            await storage.write(Scope("acme", "agent", f"p{n}"), lambda unit: unit.transaction.scope_id)
            for n in range(10)
        ]
        await storage.write(None, lambda unit: former.plan(unit, keys))
        await claim(storage, former)
        await claim(storage, later)
        assert await storage.write(None, lambda unit: later.plan_outdated(unit, limit=3)) == 3
        await claim(storage, twin)
        assert await planned(storage, twin) == 7  # it goes on where the other one was
        assert await planned(storage, later) == 0
        assert await planned(storage, former) == 0  # others came after it
        assert await hashes(storage) == 1
    finally:
        await storage.stop()
