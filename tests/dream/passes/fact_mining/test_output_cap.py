"""How much one run may write: the rest waits, and is not paid for again."""

from dreaming import World, codes
from mining import a_fact, contents, hearing, mine, talk

from dream.domain import Refused
from dream.passes.fact_mining import FactMining

FACTS = (
    a_fact("Ana moved to Lisbon on 13 June 2025.", "t1", quote="moved to Lisbon", category="people/ana"),
    a_fact("Ana's brother Rui is 34.", "t2", quote="My brother Rui is 34", category="people/ana"),
    a_fact("Ana doesn't eat meat.", "t3", quote="I don't eat meat", category="people/ana"),
)


async def test_what_one_run_may_not_write_is_written_by_the_next_and_asked_but_once(world: World):
    await talk(world, "I moved to Lisbon yesterday!", "My brother Rui is 34.", "I don't eat meat.")
    report = await mine(world, *FACTS, max_outputs=2)
    assert (report.accepted, codes(report)) == (2, [Refused.OUTPUT_CAP])
    assert len(await world.active()) == 2
    silent = hearing(world, max_outputs=1)
    again = (await silent.run_passes(FactMining())).passes[0]
    assert (again.accepted, again.refused, silent.chat.requests) == (1, (), [])
    assert contents(await world.active()) == sorted(fact["content"] for fact in FACTS)
