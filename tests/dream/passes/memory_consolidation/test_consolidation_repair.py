"""Texts that lose or make up something are repaired once, or not taken."""

from dataclasses import replace

import pytest
from consolidating import contents, dream, merge, save, scripted
from dreaming import World, codes, fresh_scope
from interrupting import Killed, bury, count_writes, dying

from agentcore.domain import SubjectTime
from dream.domain import Refused
from dream.passes.memory_consolidation import MemoryConsolidation

FLAT, RENT = "Ana rents a flat in Porto from her aunt.", "Ana pays little for her flat."
WHOLE = "Ana rents a flat in Porto from her aunt and pays little for it."
LOSSY = "Ana rents a flat in Porto and pays little for it."
MADE_UP = "Ana rents a flat in Porto from her aunt, whom she visits, and pays little for it."
BOTH_FAULTY = (LOSSY, MADE_UP)


# What RockBot's tests of its merge repair ask.


async def test_a_denied_merge_is_repaired_and_then_made(world: World):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(LOSSY, FLAT, RENT), merge(WHOLE, FLAT, RENT), denies=BOTH_FAULTY)
    assert len(requests) == 2
    assert contents(await world.active()) == {WHOLE}
    assert report.refused == ()


async def test_the_repair_shows_what_was_denied_and_the_records_that_it_cites_and_no_others(world: World):
    await world.add(FLAT, RENT, "Ana rents a garage in Porto.")
    _, requests = await dream(world, merge(LOSSY, FLAT, RENT), merge(WHOLE, FLAT, RENT), denies=BOTH_FAULTY)
    told = requests[1].messages[-1].content
    assert {FLAT, RENT} <= {text for text in (FLAT, RENT, LOSSY, "garage") if text in told}
    assert "garage" not in told
    assert "denied" in told
    assert LOSSY in told


@pytest.mark.parametrize("text", BOTH_FAULTY)
async def test_a_merge_that_stays_denied_keeps_its_sources(world: World, text: str):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(text, FLAT, RENT), merge(text, FLAT, RENT), denies=BOTH_FAULTY)
    assert (len(requests), codes(report)) == (2, [Refused.DENIED])
    assert contents(await world.active()) == {FLAT, RENT}


async def test_repairs_can_be_switched_off(world: World):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(LOSSY, FLAT, RENT), denies=BOTH_FAULTY, repairs=0)
    assert (len(requests), codes(report)) == (1, [Refused.DENIED])


async def test_repairs_are_counted_over_the_run(world: World):
    pairs = [(f"Topic{place} costs some euros.", f"Topic{place} is in Town{place}.") for place in range(1, 4)]
    await world.add(*[text for pair in pairs for text in pair])

    def lossy(shown: dict[str, str]) -> dict[str, object]:
        return {"toSave": [save(shown, "It costs euros.", *pair) for pair in pairs if pair[0] in shown]}

    _, requests = await dream(world, *[lossy] * 4, denies=["costs euros"], repairs=1, batch_entries=2)
    assert len(requests) == 4


async def test_repairs_are_counted_over_the_run_whichever_process_asks_them(world: World):
    pairs = [(f"Topic{place} costs some euros.", f"Topic{place} is in Town{place}.") for place in range(1, 4)]

    def lossy(shown: dict[str, str]) -> dict[str, object]:
        return {"toSave": [save(shown, "It costs euros.", *pair) for pair in pairs if pair[0] in shown]}

    async def begun() -> World:
        one = scripted(replace(world, scope=fresh_scope()), [lossy] * 99, ["costs euros"], repairs=1, batch_entries=2)
        await one.add(*[text for pair in pairs for text in pair])
        return one

    async def repairs(one: World) -> int:
        runs = await one.dreams.runs()
        return [call.kind for run in runs for call in await one.dreams.calls(run.run_id)].count("repair")

    for write in range(await count_writes(await begun(), lambda one: one.run_passes(MemoryConsolidation()))):
        one = await begun()
        with pytest.raises((Killed, BaseExceptionGroup)):
            await dying(one, write, committed=True).run_passes(MemoryConsolidation())
        await bury(one)
        await one.run_passes(MemoryConsolidation())
        assert await repairs(one) == 1, write


async def test_a_repair_in_another_shape_leaves_the_first_answer_standing(world: World):
    await world.add(FLAT, RENT, "Ben bakes bread.", "Ben bakes bread daily.")

    def first(shown: dict[str, str]) -> dict[str, object]:
        bread = ("Ben bakes bread.", "Ben bakes bread daily.")
        return {"toSave": [save(shown, LOSSY, FLAT, RENT), save(shown, "Ben bakes bread daily.", *bread)]}

    report, _ = await dream(world, first, {"toSave": "sorry"}, denies=BOTH_FAULTY)
    assert contents(await world.active()) == {FLAT, RENT, "Ben bakes bread daily."}
    assert codes(report) == [Refused.DENIED]


async def test_rejected_sources_are_out_of_reach_of_to_delete(world: World):
    await world.add(FLAT, RENT)

    def answer(shown: dict[str, str]) -> dict[str, object]:
        return {"toDelete": [shown[FLAT], {"id": shown[RENT]}], "toSave": [save(shown, LOSSY, FLAT, RENT)]}

    await dream(world, answer, denies=BOTH_FAULTY, repairs=0)
    assert contents(await world.active()) == {FLAT, RENT}


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        ("Ana pays 640 euros.", "Ana has a flat.", "Ana has a flat for 460 euros."),
        ("Call `sync_all()` daily.", "Syncing is slow.", "Call `sync_some()` daily, it is slow."),
    ],
)
async def test_a_value_that_no_source_gives_refutes_a_merge_without_a_second_reading(
    world: World, one: str, other: str, text: str
):
    await world.add(one, other)
    report, _ = await dream(world, merge(text, one, other), repairs=0)
    assert len(codes(report)) == 1
    assert codes(report)[0] in {Refused.LOST_DETAIL, Refused.INVENTED_DETAIL}
    assert contents(await world.active()) == {one, other}


async def test_a_number_missing_from_a_rewrite_of_one_entry_is_a_loss_too(world: World):
    await world.add("Ana pays 640 euros for her flat.")
    report, _ = await dream(world, merge("Ana pays euros for her flat.", "Ana pays 640 euros for her flat."), repairs=0)
    assert codes(report) == [Refused.LOST_DETAIL]


async def test_a_second_reader_sees_what_time_an_entry_tells_of_and_when_it_was_said(world: World):
    moved, works = await world.add("Ana moved to Lisbon.", "Ana works in a bakery.")
    await world.change(moved, subject_time=SubjectTime.parse("2023-04"))
    await world.change(works, subject_time=SubjectTime.parse("2023-04..2024-01"))
    text = "Ana moved to Lisbon (April 2023) and works in a bakery."
    one = scripted(world, [merge(text, moved.content, works.content)])
    await one.run_passes(MemoryConsolidation())
    (reading,) = one.chat.readings
    asked = reading.messages[1].content
    assert 'entry about=2023-04: "Ana moved to Lisbon."' in asked
    assert 'entry about=2023-04..2024-01: "Ana works in a bakery."' in asked
    assert f"{works.last_seen_at:%A %Y-%m-%d}" in asked
    assert contents(await world.active()) == {text}


async def test_a_time_that_no_entry_tells_of_refutes_a_merge_without_a_second_reading(world: World):
    moved, works = await world.add("Ana moved to Lisbon.", "Ana works in a bakery.")
    await world.change(moved, subject_time=SubjectTime.parse("2023-04"))
    text = "Ana moved to Lisbon (May 2023) and works in a bakery."
    report, _ = await dream(world, merge(text, moved.content, works.content), repairs=0)
    assert codes(report) == [Refused.INVENTED_DETAIL]
