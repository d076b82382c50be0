"""In the mode strict a person decides what words do not prove; nothing else of it is different."""

from dataclasses import replace
from typing import Any

import pytest
from dreaming import DAY, World, codes, of_pass
from interrupting import Killed, bury, count_writes, dying
from mining import a_fact, answer, contents, hearing, talk

from agentcore.domain import EvidenceVerdict
from dream.domain import PassOutcome
from dream.options import PassMode, ReviewOptions, VerificationMode
from dream.passes.fact_mining import FactMining
from dream.stores import dream_stores

SAID = ("I drink green tea.", "Lisbon is where I have lived since spring.", "That van is what I want.")
TEA, LISBON, VAN = "Ana drinks green tea.", "Ana moved to Lisbon.", "Ana wants that van."
FACTS = (
    a_fact(TEA, "t1", quote="drink green tea"),
    a_fact(LISBON, "t2", quote="Lisbon is where"),
    a_fact(VAN, "t3", quote="what I want"),
)
STRICT: dict[str, Any] = {"verification": VerificationMode.STRICT}


async def strict(world: World, *answers: Any, **options: Any) -> World:
    await talk(world, *SAID)
    return hearing(world, *(answers or [answer(*FACTS)] * 2), **(STRICT | options))


async def waiting(world: World) -> dict[str, str]:
    """The ids of what waits, by its text."""
    return {one.approved.changes[0].record.content: one.proposal_id for one in await world.dreams.proposals()}  # type: ignore[attr-defined]


async def test_what_is_proven_is_written_and_the_rest_waits_for_a_person(world: World):
    heard = await strict(world)
    report = (await heard.run_passes(FactMining())).passes[0]
    assert contents(await world.active()) == [TEA]
    assert set(await waiting(world)) == {LISBON, VAN}
    assert (report.accepted, report.proposed, report.refused, report.calls) == (1, 2, (), 1)
    assert of_pass(await heard.run_passes(FactMining()), "fact-mining").calls == 0


async def test_where_nothing_is_proven_the_pass_has_proposed(world: World):
    heard = await strict(world, answer(FACTS[1]))
    report = (await heard.run_passes(FactMining())).passes[0]
    assert (report.outcome, report.accepted, report.proposed) == (PassOutcome.PROPOSED, 0, 1)


async def test_what_a_person_approves_is_verified_by_that_person(world: World):
    heard = await strict(world)
    await heard.run_passes(FactMining())
    report = await world.dreams.approve([(await waiting(world))[LISBON]])
    assert contents(await world.active()) == [TEA, LISBON]
    (entry,) = [one for one in await world.active() if one.content == LISBON]
    assert entry.verdict is EvidenceVerdict.VERIFIED
    assert {(one.verdict, one.verified_by, one.round) for one in entry.evidence} == {
        (EvidenceVerdict.VERIFIED, "person", 0)
    }
    assert set(await waiting(world)) == {VAN}
    before = await world.export()
    await world.dreams.undo(report.run_id)
    assert contents(await world.active()) == [TEA]
    assert await world.export() != before


async def test_what_a_person_rejects_is_not_written_and_not_proposed_again(world: World):
    turns = await talk(world, *SAID)
    heard = hearing(world, answer(*FACTS), answer(*FACTS), **STRICT)
    await heard.run_passes(FactMining())
    await world.dreams.reject(list((await waiting(world)).values()))
    assert (contents(await world.active()), await waiting(world)) == ([TEA], {})
    await world.write(lambda unit: dream_stores(unit).cursors.reopen("fact-mining", [one.id for one in turns]))
    report = (await heard.run_passes(FactMining())).passes[0]
    assert (codes(report), report.calls, report.proposed) == (["undone_by_person"] * 2, 1, 0)
    assert (contents(await world.active()), await waiting(world)) == ([TEA], {})


async def test_what_nobody_decided_in_time_is_not_written(world: World):
    heard = await strict(world)
    await heard.run_passes(FactMining())
    ids = await waiting(world)
    world.clock.advance(31 * DAY)
    report = await world.dreams.approve(list(ids.values()))
    assert (codes(report.passes[0]), contents(await world.active())) == (["expired"] * 2, [TEA])


async def test_what_has_no_place_in_the_queue_waits_for_one_and_is_never_written_unseen(world: World):
    heard = await strict(world, review=ReviewOptions(max_waiting=1))
    report = (await heard.run_passes(FactMining())).passes[0]
    assert (codes(report), set(await waiting(world))) == (["queue_full"], {LISBON})
    assert (await heard.run_passes(FactMining())).passes[0].reason == "no_work"
    await world.dreams.reject([(await waiting(world))[LISBON]])
    again = (await heard.run_passes(FactMining())).passes[0]
    assert (again.calls, again.proposed, contents(await world.active())) == (0, 1, [TEA])
    assert set(await waiting(world)) == {VAN}


@pytest.mark.parametrize("mode", [PassMode.APPLY, PassMode.PROPOSE])
async def test_a_plan_carries_what_a_person_has_to_decide(world: World, mode: PassMode):
    heard = await strict(world, modes={"fact-mining": mode})
    plan = await heard.dreams.plan(passes=["fact-mining"])
    assert (await world.active(), await waiting(world)) == ([], {})
    assert of_pass(plan.report, "fact-mining").proposed == 2
    done = of_pass(await heard.dreams.run(plan=plan.plan_id), "fact-mining")
    assert (contents(await world.active()), set(await waiting(world))) == ([TEA], {LISBON, VAN})
    assert (done.accepted, done.proposed) == (1, 2)


async def test_where_all_changes_wait_for_a_person_those_do_as_well(world: World):
    heard = await strict(world, modes={"fact-mining": PassMode.PROPOSE})
    report = (await heard.run_passes(FactMining())).passes[0]
    assert (report.accepted, report.proposed, await world.active()) == (0, 3, [])
    await world.dreams.approve(list((await waiting(world)).values()))
    verdicts = {one.content: one.verdict for one in await world.active()}
    assert verdicts == {
        TEA: EvidenceVerdict.PROVEN,
        LISBON: EvidenceVerdict.VERIFIED,
        VAN: EvidenceVerdict.VERIFIED,
    }


async def test_a_process_that_dies_leaves_nothing_out_and_proposes_nothing_twice(world: World):
    async def mined(one: World) -> None:
        await one.run_passes(FactMining())

    async def afresh() -> World:
        return await strict(world.elsewhere())

    for write in range(await count_writes(await afresh(), mined)):
        for committed in (False, True):
            there = await afresh()
            with pytest.raises(Killed):
                await mined(dying(there, write, committed=committed))
            await bury(there)
            await mined(replace(there, holder="another"))
            assert (contents(await there.active()), set(await waiting(there))) == ([TEA], {LISBON, VAN})
