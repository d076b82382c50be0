from datetime import timedelta

import pytest
from dreaming import DAY, NOW, World, of_pass

from agentcore.domain import Decay, Status
from agentcore.recall import Recall
from agentcore.stores.sql import SqlStorage
from agentcore.testing import ManualClock
from dream.domain import Outcome, PassReport

DECAY = "importance-decay"


async def tally(world: World) -> PassReport:
    return of_pass(await world.dreams.run(passes=[DECAY]), DECAY)


async def test_it_counts_how_many_faded_and_how_many_reached_the_floor(world: World):
    await world.add("fresh", created_at=NOW - 29 * DAY)
    await world.add("fading", created_at=NOW - 60 * DAY)
    await world.add("faded away", created_at=NOW - 500 * DAY)
    await world.add("never above the floor", created_at=NOW - 500 * DAY, base=0.1)
    assert (await tally(world)).notes == {"entries": 4, "faded": 2, "at_floor": 1}


async def test_the_last_instant_of_the_grace_is_not_faded(world: World):
    await world.add("edge", created_at=NOW - 30 * DAY)
    assert (await tally(world)).notes["faded"] == 0
    world.clock.advance(timedelta(seconds=1))
    assert (await tally(world)).notes["faded"] == 1


async def test_retired_entries_do_not_count(world: World):
    await world.add("old", created_at=NOW - 99 * DAY, status=Status.ARCHIVED, status_reason="set aside", status_at=NOW)
    assert (await tally(world)).notes == {"entries": 0, "faded": 0, "at_floor": 0}


async def test_it_counts_over_every_entry_and_not_the_newest_thousand(world: World):
    await world.add(*(f"Fact {number}" for number in range(1_500)), created_at=NOW - 60 * DAY)
    assert (await tally(world)).notes["faded"] == 1_500


async def test_nothing_is_rewritten_and_no_journal_row_written(world: World):
    await world.add("fading", "faded", created_at=NOW - 90 * DAY)
    before, revision = await world.export(), await world.revision()
    report = await world.dreams.run(passes=[DECAY])
    assert (report.outcome, report.changes) == (Outcome.UNCHANGED, 0)
    assert await world.journal() == []
    assert (await world.export(), await world.revision()) == (before, revision)


async def test_a_simulated_later_day_is_counted_as_that_day(world: World):
    await world.add("Ana likes tea")
    report = await world.dreams.run(passes=[DECAY], now=NOW + 60 * DAY)
    assert of_pass(report, DECAY).notes["faded"] == 1


async def test_an_empty_scope_has_nothing_to_count(world: World):
    assert (await tally(world)).notes == {"entries": 0, "faded": 0, "at_floor": 0}


@pytest.mark.parametrize("half_life", [timedelta(0), -DAY])
async def test_a_half_life_of_zero_or_less_switches_decay_off(half_life: timedelta):
    storage = SqlStorage(None, clock=ManualClock(NOW), decay=Decay(half_life=half_life))
    await storage.start()
    world = World(storage, Recall(storage), ManualClock(NOW))
    await world.recall.start()
    (entry,) = await world.add("old", created_at=NOW - 900 * DAY)
    assert (await tally(world)).notes == {"entries": 1, "faded": 0, "at_floor": 0, "disabled": True}
    assert (await world.get(entry)).importance == 0.5
    await world.recall.stop()
    await storage.stop()
