"""Texts that lose or make up something are repaired once, or not taken."""

from dataclasses import replace

import pytest
from consolidating import contents, dream, merge, save, scripted
from dreaming import World, codes, fresh_scope
from interrupting import Killed, bury, count_writes, dying

from dream.domain import Refused
from dream.passes.memory_consolidation import MemoryConsolidation

FLAT, RENT = "Ana rents a flat in Porto since 2019.", "Ana pays 640 euros for her flat."
WHOLE = "Ana rents a flat in Porto since 2019 and pays 640 euros for it."
LOSSY = "Ana rents a flat in Porto and pays 640 euros for it."
MADE_UP = "Ana rents a flat in Porto since 2019 from Rui and pays 640 euros for it."


# What RockBot's tests of its merge repair ask.


async def test_a_lossy_merge_is_repaired_and_then_made(world: World):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(LOSSY, FLAT, RENT), merge(WHOLE, FLAT, RENT))
    assert len(requests) == 2
    assert contents(await world.active()) == {WHOLE}
    assert report.refused == ()


async def test_the_repair_is_told_what_was_lost_and_made_up_as_data(world: World):
    await world.add(FLAT, RENT)
    script = merge("Ana rents a flat in Porto from Rui and pays 640 euros for it.", FLAT, RENT)
    _, requests = await dream(world, script, merge(WHOLE, FLAT, RENT))
    *_, said, told = requests[1].messages
    assert '"sourceIds":["e1","e2"]' in said.content
    record = next(line for line in told.content.splitlines() if line.startswith("[0]"))
    assert "2019" in record.partition("made-up=")[0]
    assert "Rui" in record.partition("made-up=")[2]


@pytest.mark.parametrize(("text", "code"), [(LOSSY, Refused.LOST_DETAIL), (MADE_UP, Refused.INVENTED_DETAIL)])
async def test_a_merge_that_stays_unfaithful_keeps_its_sources(world: World, text: str, code: Refused):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(text, FLAT, RENT), merge(text, FLAT, RENT))
    assert (len(requests), codes(report)) == (2, [code])
    assert contents(await world.active()) == {FLAT, RENT}


async def test_repairs_can_be_switched_off(world: World):
    await world.add(FLAT, RENT)
    report, requests = await dream(world, merge(LOSSY, FLAT, RENT), repairs=0)
    assert (len(requests), codes(report)) == (1, [Refused.LOST_DETAIL])


async def test_repairs_are_counted_over_the_run(world: World):
    pairs = [(f"Topic{place} costs {place}11 euros.", f"Topic{place} is in Town{place}.") for place in range(1, 4)]
    await world.add(*[text for pair in pairs for text in pair])

    def lossy(shown: dict[str, str]) -> dict[str, object]:
        return {"toSave": [save(shown, "It costs euros.", *pair) for pair in pairs if pair[0] in shown]}

    _, requests = await dream(world, *[lossy] * 4, repairs=1, batch_entries=2)
    assert len(requests) == 4


async def test_repairs_are_counted_over_the_run_whichever_process_asks_them(world: World):
    pairs = [(f"Topic{place} costs {place}11 euros.", f"Topic{place} is in Town{place}.") for place in range(1, 4)]

    def lossy(shown: dict[str, str]) -> dict[str, object]:
        return {"toSave": [save(shown, "It costs euros.", *pair) for pair in pairs if pair[0] in shown]}

    async def begun() -> World:
        one = scripted(replace(world, scope=fresh_scope()), [lossy] * 99, repairs=1, batch_entries=2)
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

    report, _ = await dream(world, first, {"toSave": "sorry"})
    assert contents(await world.active()) == {FLAT, RENT, "Ben bakes bread daily."}
    assert codes(report) == [Refused.LOST_DETAIL]


async def test_rejected_sources_are_out_of_reach_of_to_delete(world: World):
    await world.add(FLAT, RENT)

    def answer(shown: dict[str, str]) -> dict[str, object]:
        return {"toDelete": [shown[FLAT], {"id": shown[RENT]}], "toSave": [save(shown, LOSSY, FLAT, RENT)]}

    await dream(world, answer, repairs=0)
    assert contents(await world.active()) == {FLAT, RENT}


async def test_a_report_of_what_was_lost_does_not_repeat_it(world: World):
    await world.add(FLAT, RENT)
    report, _ = await dream(world, merge(LOSSY, FLAT, RENT), repairs=0)
    assert "2019" not in report.refused[0].detail
    assert "1 x" in report.refused[0].detail


@pytest.mark.parametrize(
    ("one", "other", "text", "code"),
    [
        ("Rui is allergic to nuts.", "Rui eats no fish.", "Rui is allergic to nuts.", Refused.LOST_DETAIL),
        ("Ana may not drive.", "Ana has a car.", "Ana may drive and has a car.", Refused.LOST_DETAIL),
        ("会議は火曜日です。", "会議は佐藤さんの部屋です。", "会議は火曜日です。", Refused.LOST_DETAIL),
        ("Call `sync_all()` daily.", "Syncing is slow.", "Call `sync_some()` daily, it is slow.", Refused.LOST_DETAIL),
        ("Ana has a son.", "Ana has a dog.", "Ana has a son Rui and a dog.", Refused.INVENTED_DETAIL),
    ],
)
async def test_names_negations_numbers_and_code_are_conserved(
    world: World, one: str, other: str, text: str, code: Refused
):
    await world.add(one, other)
    report, _ = await dream(world, merge(text, one, other), repairs=0)
    assert codes(report) == [code]
    assert contents(await world.active()) == {one, other}


async def test_a_number_missing_from_a_rewrite_of_one_entry_is_a_loss_too(world: World):
    await world.add(RENT)
    report, _ = await dream(world, merge("Ana pays euros for her flat.", RENT), repairs=0)
    assert codes(report) == [Refused.LOST_DETAIL]
    assert contents(await world.active()) == {RENT}
