"""Facts that tell in other words what was said: since when, on which day, for how long, and with the turn beside."""

from datetime import UTC, datetime

import pytest
from dreaming import World
from mining import a_fact, contents, mine, talk

SAID_AT = datetime(2025, 6, 14, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "fact", "right", "wrong"),
    [
        ("My marathon best is 3:58", "Ana's marathon best is {}.", "3 hours 58 minutes", "3 hours 48 minutes"),
        ("Book club is the second Tuesday of August", "The book club meets on {}.", "12 August 2025", "5 August 2025"),
        ("I have 2 dogs", "Ana has {} dogs.", "②", "③"),
    ],
)
async def test_a_fact_is_mined_that_computes_what_was_said_and_one_that_computes_it_wrongly_is_not(
    world: World, said: str, fact: str, right: str, wrong: str
):
    await talk(world, said, occurred_at=SAID_AT)
    report = await mine(world, a_fact(fact.format(right), quote=said), a_fact(fact.format(wrong), quote=said))
    assert contents(await world.active()) == sorted([fact.format(right), f'Ana, 2025-06-14: "{said}"'])
    assert [refused.code for refused in report.refused] == ["invented_detail"]


async def test_the_begin_of_a_while_is_a_subject_time_that_agrees(world: World):
    await talk(world, "I've been vegan for three months now.", occurred_at=SAID_AT)
    quote = "vegan for three months now"
    await mine(world, a_fact("Ana is vegan.", quote=quote, subjectTime="2025-03..?"))
    (entry,) = await world.active()
    assert str(entry.subject_time) == "2025-03..?"


async def test_a_while_gives_a_fact_no_subject_time_of_its_own(world: World):
    await talk(world, "I've been vegan for three months now.", occurred_at=SAID_AT)
    await mine(world, a_fact("Ana is vegan.", quote="vegan for three months now"))
    (entry,) = await world.active()
    assert entry.subject_time is None
